import { effect, signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Answer as Sent } from './loader.ts';
import { report } from './report.ts';
import type { Path, Row } from './rows.ts';

export interface Answer<Of extends Path> {
  readonly rows: readonly Row<Of>[];
}

export type Parameters = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

/** Returns the address of an answer. @param form its ending */
export function addressOf(path: string, parameters: Parameters, form: '' | '.csv' | '.sql' = ''): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    for (const one of value === null || value === undefined ? [] : [value].flat())
      query.append(name, String(one));
  return `api/${path}${form}${query.size > 0 ? `?${query}` : ''}`;
}

/** An error of the API, with what to do about it. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string | undefined,
  ) {
    super(message);
  }
}

/** True while the server wants a token. */
export const wantsToken = signal(false);

/** On a standby, the time up to which the latest answer has everything. */
export const completeTo = signal<string | null>(null);

/** Queries the API. @throws Refusal, also if the server does not answer */
export async function ask<Of extends Path>(url: string, stop?: AbortSignal): Promise<Answer<Of>> {
  if (report) {
    const found = report.answers[url];
    if (found) return asAnswer(found);
    throw new Refusal(0, 'This report does not contain it.', 'gmsi serve shows it.');
  }
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
  completeTo.value = response.headers.get('gmsi-complete-to');
  return asAnswer(body);
}

function asAnswer<Of extends Path>({ columns, rows }: Sent): Answer<Of> {
  const asObject = (cells: readonly unknown[]) =>
    Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
  return { rows: rows.map(asObject) as Row<Of>[] };
}

/** Sends the token. @returns why it is refused, if it is */
export async function showToken(token: string): Promise<string | undefined> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch('api/session', { method: 'POST', headers, body: JSON.stringify({ token }) });
  if (!response.ok) return (await response.json()).error;
  wantsToken.value = false;
  return undefined;
}

/**
 * A text that changes whenever something in the warehouse has changed; empty if the server cannot say so. While it is not known,
 * nothing is asked: each answer would have to be asked for again with the first state.
 */
const warehouseState = signal<string | undefined>(undefined);
/** True while the server reports changes. */
export const isLive = signal(false);

export function followChanges(): void {
  if (report) {
    warehouseState.value = '';
    return;
  }
  effect(() => {
    if (wantsToken.value) return;
    let isOver = false;
    const look = async () => {
      const found = await fetch('api/state')
        .then(async (response) => (response.ok ? (await response.json()).state : undefined))
        .catch(() => undefined);
      if (isOver) return;
      warehouseState.value = found ?? warehouseState.value ?? '';
      isLive.value = found !== undefined;
      setTimeout(look, 1_000);
    };
    void look();
    return () => {
      isOver = true;
    };
  });
}

export interface Asked<Found> {
  /** The latest answer; the previous one while the next is loading. */
  readonly answer: Found | undefined;
  readonly error: Refusal | undefined;
  /** True while the question has neither an answer nor an error, and while nothing is asked. */
  readonly isAsking: boolean;
}

/** An answer with its question, which gives its SQL and its CSV. */
export interface Answering<Of extends Path> extends Asked<Answer<Of>> {
  readonly path: Of;
  readonly parameters: Parameters | undefined;
}

/**
 * Queries the API whenever the question changes, and when the warehouse does, at most every few seconds. The server does not
 * compute an unchanged answer again.
 * @param parameters `undefined` to ask nothing yet
 * @param secondsAtMost queries again after this time even if nothing has changed, for answers that change with time
 */
export function useAnswer<Of extends Path>(
  path: Of,
  parameters: Parameters | undefined,
  secondsBetween = 5,
  secondsAtMost?: number,
): Answering<Of> {
  const url = parameters && addressOf(path, parameters);
  const [told, setTold] = useState<{
    readonly url?: string;
    readonly answer?: Answer<Of>;
    readonly error?: Refusal | undefined;
  }>({});
  const [again, setAgain] = useState(0);
  const question = useRef({ stop: new AbortController(), at: 0 });
  const state = warehouseState.value;
  const isOpen = !wantsToken.value;
  // Only another question stops a request. If changes did, a slow answer would never arrive while a load runs.
  useEffect(() => {
    const stop = new AbortController();
    question.current = { stop, at: 0 };
    return () => stop.abort();
  }, [url, isOpen]);
  useEffect(() => {
    if (url === undefined || !isOpen || state === undefined) return;
    const { stop, at } = question.current;
    const wait = Math.max(0, at + secondsBetween * 1000 - Date.now());
    const timer = setTimeout(() => {
      question.current.at = Date.now();
      ask<Of>(url, stop.signal).then(
        (answer) => !stop.signal.aborted && setTold({ url, answer, error: undefined }),
        (error) => !stop.signal.aborted && setTold((before) => ({ ...before, url, error })),
      );
    }, wait);
    return () => clearTimeout(timer);
  }, [url, state, isOpen, again]);
  useEffect(() => {
    if (secondsAtMost === undefined) return;
    const timer = setInterval(() => setAgain((count) => count + 1), secondsAtMost * 1000);
    return () => clearInterval(timer);
  }, [secondsAtMost]);
  const { answer, error } = told;
  return { path, parameters, answer, error, isAsking: url === undefined || told.url !== url };
}

/**
 * Returns what is made of several answers. It is made when all of them are there, and stays while the next ones are loading.
 * @param others what it also depends on
 */
export function useTogether<Answers extends object[], Made>(
  asked: { readonly [Place in keyof Answers]: Asked<Answers[Place]> },
  make: (...answers: Answers) => Made,
  others: readonly unknown[],
): Asked<Made> {
  const error = asked.find((one) => one.error)?.error;
  const isAsking = asked.some((one) => one.isAsking);
  const answers = asked.map(({ answer }) => answer) as Answers;
  const made = useMemo(
    () => (isAsking || error ? undefined : make(...answers)),
    [isAsking, error, ...answers, ...others],
  );
  const last = useRef<Made>(undefined);
  last.current = made ?? last.current;
  return { answer: last.current, error, isAsking };
}
