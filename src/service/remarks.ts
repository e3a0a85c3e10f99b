import { isMap } from '../config/field-types.ts';
import { isOneOf, recordListsOf, serviceWords, wordFields, wordsOf } from './check-status.ts';
import { DoubtfulAnswer, MalformedPage } from './errors.ts';
import type { ServiceRequest } from './page.ts';

/** Something that an answer says beside its records. */
interface Remark {
  /**
   * - `fault`: the answer is not good, or not whole
   * - `words`: a sentence, or a message by its name
   * - `state`: a single word, or true
   * - `value`: a number, an id, a time, an address
   */
  readonly is: 'fault' | 'words' | 'state' | 'value';
  /** The member, with the names that lead to it. */
  readonly name: string;
  /** For a person; not cut. */
  readonly words: string;
  /** The same for answers that say the same, whatever numbers, ids or times they have. */
  readonly sign: string;
}

/**
 * Watches what answers say beside their records. That an answer has no records is news only if nothing in it says otherwise: of
 * what it says, only values pass that no answer with records had, and only if a second answer has them, too.
 * @param redact removes the key
 * @param noteInstead makes the error of an answer that has words and no records
 * @returns a function to call with each answer; `doubted` has what made its request be sent again. @throws an error of
 * `noteInstead`; MalformedPage for an answer that says that it is not good or not whole; DoubtfulAnswer for the first answer
 */
export function remarkGuard(
  redact: (text: string) => string,
  noteInstead: (what: string, words: string) => Error,
) {
  const heard = new Set<string>();
  return (
    json: unknown,
    request: ServiceRequest,
    { isPage, doubted }: { isPage: boolean; doubted: Set<string> },
  ): void => {
    if (!isMap(json)) return;
    const lists = new Map(recordListsOf(json).filter(([name]) => !isPage || name === 'data'));
    if (lists.size === 0 && json.data !== null) return;
    const count = [...lists.values()].reduce((sum, { length }) => sum + length, 0);
    const remarks = remarksOf(json, count, lists, request, isPage);
    const unheard = remarks.filter(({ is, sign }) => is === 'fault' || !heard.has(sign));
    const beside = count === 0 ? 'no records' : `${count} records`;

    if (unheard.some(({ is }) => is === 'fault' || (count === 0 && is !== 'value'))) {
      const said = unheard.filter(({ is }) => is !== 'value');
      const words = wordsIn(said, redact);
      if (count === 0) throw noteInstead('The service answered with a note and no records', words);
      throw new MalformedPage(`The service answered with an error beside ${beside}: ${words}`);
    }
    // By name: words with an id in them are new in each answer.
    const doubts = unheard.filter(({ is, name }) => (count === 0 || is === 'words') && !doubted.has(name));
    for (const { name } of doubts) doubted.add(name);
    if (doubts.length > 0 && (count === 0 || json.has_more !== true))
      throw new DoubtfulAnswer(
        `The service answered with ${beside} and something new: ${wordsIn(doubts, redact)}.`,
      );
    for (const { sign } of remarks) heard.add(sign);
  };
}

function wordsIn(remarks: readonly Remark[], redact: (text: string) => string): string {
  return serviceWords([...new Set(remarks.map(({ words }) => words))].join('; '), redact);
}

/** The documented members (docs/service.md, "Page envelope"). */
const documented = new Set(['data', 'limit', 'has_more', 'next_token']);

/** Members that are looked at; an answer could have any number of them. */
const mostLeaves = 200;

/**
 * Returns what an answer says beside its records. Nothing of it is documented, so names and values are read as services usually
 * write them. What the request said is not repeated.
 * @param records how many it has
 * @param lists the members that are the records
 */
function remarksOf(
  json: Readonly<Record<string, unknown>>,
  records: number,
  lists: ReadonlyMap<string, unknown[]>,
  request: ServiceRequest,
  isPage: boolean,
): Remark[] {
  const isWhole = json.has_more !== true && !json.next_token && !request.isContinued;
  const asked = new Set([
    ...request.path.split('/').map(decoded),
    ...textsIn(request.query),
    ...textsIn(request.body),
  ]);
  const others = Object.entries(json).filter(([name]) => !documented.has(name) && !lists.has(name));
  return others.slice(0, mostLeaves).flatMap(([member, value]) =>
    leavesOf(value, [member])
      .slice(0, mostLeaves)
      .flatMap(({ path, leaf }) => {
        const meaning = meaningOf(path, leaf, isWhole ? records : undefined);
        if (meaning === undefined || (meaning !== 'fault' && asked.has(leaf))) return [];
        // What a list of names counts is not known.
        const is = meaning !== 'uncounted' ? meaning : isPage ? 'fault' : 'words';
        const name = path.join('.');
        const text = String(leaf).slice(0, 300);
        const words = (isOneOf(wordFields, member) && wordsOf(value, 0)) || `${name}: ${text}`;
        return { is, name, words, sign: is === 'value' ? name : `${name}=${text.replace(/\d+/g, '#')}` };
      }),
  );
}

/** Returns values with their paths, without indices of lists. Leaves out what is nested so deeply that it is no message. */
function leavesOf(value: unknown, path: string[], depth = 0): { path: string[]; leaf: unknown }[] {
  if (depth > 5) return [];
  if (Array.isArray(value))
    return value.slice(0, mostLeaves).flatMap((one) => leavesOf(one, path, depth + 1));
  if (!isMap(value)) return [{ path, leaf: value }];
  return Object.entries(value).flatMap(([name, one]) => leavesOf(one, [...path, name], depth + 1));
}

function textsIn(value: unknown): unknown[] {
  return leavesOf(value, []).map(({ leaf }) => leaf);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const successes = ['success', 'successful', 'succeeded', 'ok'];
const statuses = ['status', 'statuscode', 'httpstatus', 'httpcode', 'code', 'state', 'result'];
const counts = /^(total|count|total(count|results|records|items)|(result|record)count)$/;
/** Words of a name. */
const ofFaults = /^(err(or)?s?|exceptions?|faults?|fail(ed|ures?)?)$/;
const ofParts = /^(partial|truncated|incomplete|degraded|throttled|exceeded|timeout|timed)$/;
const bad =
  /err|fail|fault|denied|refus|reject|invalid|throttl|limit|exceed|timeout|timed.?out|unavail|partial|incomplete|truncat|degrad/i;
const fine = /^(ok(ay)?|success(ful(ly)?)?|succeeded|done|completed?|finished|none|null|no|false)$/i;
const no = /^(false|no|0)$/i;
/** Two words. Bounded, because a hostile text could take long. */
const sentence = /\p{L}{2}[^\p{L}\d]{0,4}\s[^\p{L}\d]{0,4}\p{L}{2}/u;

/** @param whole the number of records, if the answer should be all there is */
function meaningOf(
  path: readonly string[],
  leaf: unknown,
  whole: number | undefined,
): Remark['is'] | 'uncounted' | undefined {
  if (leaf === null || leaf === '') return undefined;
  const text = String(leaf);
  const last = path.at(-1)!;
  const name = last.toLowerCase().replace(/[^a-z]/g, '');
  if (successes.includes(name)) return no.test(text) ? 'fault' : undefined;
  if (leaf === false || fine.test(text)) return undefined;
  // FastAPI's.
  const isFault = path[0] === 'detail' || path.some((one) => hasPart(one, ofFaults));
  if (isFault) return leaf === 0 ? undefined : 'fault';
  if (/^true$/i.test(text)) return hasPart(last, ofParts) ? 'fault' : 'state';
  const number = Number(text);
  if (statuses.includes(name) && (number >= 400 || number < 0 || bad.test(text))) return 'fault';
  if (counts.test(name) && whole !== undefined && number > whole) return 'uncounted';
  if (!Number.isNaN(number)) return 'value';
  if (isOneOf(wordFields, last) || sentence.test(text)) return 'words';
  return /[\d/]/.test(text) ? 'value' : 'state';
}

/** Looks at the words of a name: `hasErrors`, `error_code` and `Errors` have the word of faults, `default` does not. */
function hasPart(name: string, part: RegExp): boolean {
  return name.split(/[^a-zA-Z]+|(?<=[a-z])(?=[A-Z])/).some((one) => part.test(one.toLowerCase()));
}
