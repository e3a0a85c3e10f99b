import { effect, signal } from '@preact/signals';
import { createContext } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import type { Answer as Sent } from '../endpoint.ts';

/** A row as JSON carries it: moments are texts. */
export type Wire<Row> = {
  readonly [Name in keyof Row]: Row[Name] extends Date
    ? string
    : Row[Name] extends Date | null
      ? string | null
      : Row[Name];
};

export interface Answer<Row> {
  readonly rows: readonly Wire<Row>[];
  /** The query, for psql; `null` if it is more than one. */
  readonly sql: string | null;
  /** What was asked, as {@link addressOf} writes it: while the next answer is awaited, the last one answers another question. */
  readonly url: string;
}

export type Parameters = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

/** The address of an answer. @param form the ending: of CSV or SQL */
export function addressOf(path: string, parameters: Parameters, form: '' | '.csv' | '.sql' = ''): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const one of value === null || value === undefined ? [] : [value].flat())
      query.append(name, String(one));
  return `api/${path}${form}${query.size > 0 ? `?${query}` : ''}`;
}

/** What went wrong, and what to do about it. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string | undefined,
  ) {
    super(message);
  }
}

/** Set while the server wants a token that it was not given. */
export const wantsToken = signal(false);

/** Asks the API. @throws Refusal, also if the server does not answer */
export async function ask<Row>(url: string, stop?: AbortSignal): Promise<Answer<Row>> {
  const response = await fetch(url, { signal: stop ?? null }).catch((error: Error) => {
    if (stop?.aborted) throw error;
    throw new Refusal(0, 'The server does not answer.', 'Is gmsi serve still running?');
  });
  const body = await response
    .json()
    .catch(() => ({ error: `The server answers with status ${response.status}.` }));
  if (!response.ok) {
    if (response.status === 401) wantsToken.value = true;
    throw new Refusal(response.status, body.error, body.hint);
  }
  return { ...asAnswer<Row>(body), url };
}

export function asAnswer<Row>({ columns, rows, sql }: Sent): Omit<Answer<Row>, 'url'> {
  const asObject = (cells: readonly unknown[]) =>
    Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
  return { rows: rows.map(asObject) as Wire<Row>[], sql };
}

/** Shows the token. @returns why it is not taken, if it is not */
export async function showToken(token: string): Promise<string | undefined> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch('api/session', { method: 'POST', headers, body: JSON.stringify({ token }) });
  if (!response.ok) return (await response.json()).error;
  wantsToken.value = false;
  return undefined;
}

/** The state of the warehouse as the server names it: a new text whenever something has changed. */
export const warehouseState = signal('');
/** Whether changes are seen as they happen. */
export const isLive = signal(false);

/** Listens for changes from now on. */
export function followChanges(): void {
  effect(() => {
    if (wantsToken.value) return;
    const source = new EventSource('api/live');
    source.addEventListener('state', ({ data }) => {
      warehouseState.value = data;
      isLive.value = true;
    });
    for (const trouble of ['lost', 'error']) source.addEventListener(trouble, () => (isLive.value = false));
    return () => source.close();
  });
}

/**
 * The answers of a report, by their address: it asks nobody, and nothing in it can be pressed. `undefined` in the page of a
 * server.
 */
export const Report = createContext<ReadonlyMap<string, Answer<unknown>> | undefined>(undefined);

export function useIsReport(): boolean {
  return useContext(Report) !== undefined;
}

export interface Asked<Row> {
  /** The last answer; the one before while the next is awaited. */
  readonly answer: Answer<Row> | undefined;
  readonly error: Refusal | undefined;
  readonly isAsking: boolean;
}

/**
 * Asks whenever the question changes, and again when the warehouse does, at most every few seconds. An unchanged answer
 * is not computed again.
 * @param parameters `undefined` if there is nothing to ask yet
 * @param secondsAtMost asks again after so long even if nothing has changed, for answers that change with time
 */
export function useAnswer<Row>(
  path: string,
  parameters: Parameters | undefined,
  secondsBetween = 5,
  secondsAtMost?: number,
): Asked<Row> {
  const url = parameters && addressOf(path, parameters);
  const report = useContext(Report);
  const [asked, setAsked] = useState<Asked<Row>>(() => {
    const answer = url === undefined ? undefined : (report?.get(url) as Answer<Row> | undefined);
    return { answer, error: undefined, isAsking: answer === undefined };
  });
  const [again, setAgain] = useState(0);
  const question = useRef({ stop: new AbortController(), at: 0 });
  const state = warehouseState.value;
  const isOpen = !wantsToken.value;
  // Only another question stops a request: if news did, a slow answer would never arrive while a load runs.
  useEffect(() => {
    const stop = new AbortController();
    question.current = { stop, at: 0 };
    return () => stop.abort();
  }, [url, isOpen]);
  useEffect(() => {
    if (url === undefined || !isOpen) return;
    const { stop, at } = question.current;
    const wait = Math.max(0, at + secondsBetween * 1000 - Date.now());
    if (at === 0) setAsked((before) => ({ ...before, isAsking: true }));
    const timer = setTimeout(() => {
      question.current.at = Date.now();
      ask<Row>(url, stop.signal).then(
        (answer) => !stop.signal.aborted && setAsked({ answer, error: undefined, isAsking: false }),
        (error) => !stop.signal.aborted && setAsked((before) => ({ ...before, error, isAsking: false })),
      );
    }, wait);
    return () => clearTimeout(timer);
  }, [url, state, isOpen, again]);
  useEffect(() => {
    if (secondsAtMost === undefined) return;
    const timer = setInterval(() => setAgain((count) => count + 1), secondsAtMost * 1000);
    return () => clearInterval(timer);
  }, [secondsAtMost]);
  return asked;
}
