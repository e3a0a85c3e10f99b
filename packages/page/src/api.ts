import { effect, signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Answer as Sent } from './loader.ts';
import { report } from './report.ts';
import type { Path, Row } from './rows.ts';
import { setClock } from './time.ts';

export type Parameters = Readonly<Record<string, string | number | readonly string[] | null | undefined>>;

interface Question<Of extends Path = Path> {
  readonly path: Of;
  readonly parameters: Parameters;
}

/** An answer with its question. All that a view says of an answer comes with it: titles, links, names of files. */
export interface Answer<Of extends Path = Path> extends Question<Of> {
  readonly rows: readonly Row<Of>[];
  /** The moment up to which it has everything; `null` if the server does not know. */
  readonly asOf: string | null;
}

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

export const wantsToken = signal(false);

/** On a standby, the time up to which the latest answer has everything. */
export const completeTo = signal<string | null>(null);

/** Queries the API. @throws Refusal, also if the server does not answer */
async function ask<Of extends Path>(question: Question<Of>, stop?: AbortSignal): Promise<Answer<Of>> {
  const url = addressOf(question.path, question.parameters);
  if (report) {
    const found = report.answers[url];
    if (found) return { ...question, rows: rowsOf(found), asOf: report.at };
    throw new Refusal(0, 'This report does not contain it.', 'gmsi serve shows it.');
  }
  const response = await fetch(url, { signal: stop ?? null }).catch((error: Error) => {
    if (stop?.aborted) throw error;
    throw new Refusal(0, 'The server does not answer.', 'Is gmsi serve still running?');
  });
  setClock(response.headers.get('date'));
  const body = await response
    .json()
    .catch(() => ({ error: `The server answers with status ${response.status}.` }));
  if (!response.ok) {
    if (response.status === 401) wantsToken.value = true;
    throw new Refusal(response.status, body.error, body.hint);
  }
  completeTo.value = response.headers.get('gmsi-complete-to');
  return { ...question, rows: rowsOf(body), asOf: response.headers.get('gmsi-as-of') };
}

function rowsOf<Of extends Path>({ columns, rows }: Sent): Row<Of>[] {
  const asObject = (cells: readonly unknown[]) =>
    Object.fromEntries(columns.map((column, index) => [column, cells[index]]));
  return rows.map(asObject) as Row<Of>[];
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
  /** The latest answer. While another question is loading, still that of the previous one; after its error, nothing. */
  readonly answer: Found | undefined;
  /** Why the question has no answer, or why its answer is not the newest. */
  readonly error: Refusal | undefined;
  /** True while the question has neither an answer nor an error, and while nothing is asked. */
  readonly isAsking: boolean;
}

export type Answering<Of extends Path> = Asked<Answer<Of>>;

/**
 * Queries the API whenever the question changes, and when the warehouse does, at most every few seconds. The server does not
 * compute an unchanged answer again.
 * @param parameters `undefined` to ask nothing yet
 * @param secondsAtMost queries again after this time even if nothing has changed, for answers that change with time
 */
export function useAnswer<Of extends Path>(
  path: Of,
  parameters: Parameters | undefined,
  secondsBetween?: number,
  secondsAtMost?: number,
): Answering<Of> {
  const questionOf = (parameters: Parameters) => ({ only: question(path, parameters) });
  const { answer, ...others } = useTogether(parameters, questionOf, secondsBetween, secondsAtMost);
  return { answer: answer?.only as Answer<Of> | undefined, ...others };
}

export function question<Of extends Path>(path: Of, parameters: Parameters): Question<Of> {
  return { path, parameters };
}

/** What a view shows: what it is about, and the answers to the questions that are made of that. */
type Together<About, Asks> = { readonly about: About } & {
  readonly [Name in keyof Asks]: AnswerTo<Asks[Name]>;
};
type AnswerTo<One> = One extends Question<infer Of> ? Answer<Of> : undefined;
/** The same, by the function that makes the questions. */
export type AnswersTo<Ask> = Ask extends (about: infer About) => infer Asks ? Together<About, Asks> : never;

/**
 * Asks several questions at once. Their answers come together, with what they are about, so that no picture is made of the
 * answers to one question and the words of another.
 * @param about plain data, from which all questions and all words of the view are made; `undefined` to ask nothing yet
 * @param questionsOf names the questions; `undefined` for one that is not asked
 */
export function useTogether<
  About extends object,
  Asks extends Readonly<Record<string, Question | undefined>>,
>(
  about: About | undefined,
  questionsOf: (about: About) => Asks,
  secondsBetween = 5,
  secondsAtMost?: number,
): Asked<Together<About, Asks>> {
  const questions = about && questionsOf(about);
  const key = questions && JSON.stringify(questions);
  const [told, setTold] = useState<{
    readonly key?: string;
    readonly answers?: Record<string, Answer | undefined> | undefined;
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
  }, [key, isOpen]);
  useEffect(() => {
    if (questions === undefined || key === undefined || !isOpen || state === undefined) return;
    const { stop, at } = question.current;
    const wait = Math.max(0, at + secondsBetween * 1000 - Date.now());
    const timer = setTimeout(() => {
      question.current.at = Date.now();
      const asks = Object.entries(questions).map(
        async ([name, one]) => [name, one && (await ask(one, stop.signal))] as const,
      );
      Promise.all(asks).then(
        (answers) => !stop.signal.aborted && setTold({ key, answers: Object.fromEntries(answers) }),
        (error) =>
          !stop.signal.aborted &&
          setTold((before) => ({ key, error, answers: before.key === key ? before.answers : undefined })),
      );
    }, wait);
    return () => clearTimeout(timer);
  }, [key, state, isOpen, again]);
  useEffect(() => {
    if (secondsAtMost === undefined) return;
    const timer = setInterval(() => setAgain((count) => count + 1), secondsAtMost * 1000);
    return () => clearInterval(timer);
  }, [secondsAtMost]);
  const isTold = key !== undefined && told.key === key;
  // Other words about the same answers, such as those of another model, need no other answers.
  const made = useMemo(
    () => (isTold && told.answers ? ({ about, ...told.answers } as Together<About, Asks>) : undefined),
    [isTold, told.answers, JSON.stringify(about)],
  );
  const last = useRef<Together<About, Asks>>(undefined);
  last.current = made ?? (told.answers && last.current);
  return { answer: last.current, error: isTold ? told.error : undefined, isAsking: !isTold };
}
