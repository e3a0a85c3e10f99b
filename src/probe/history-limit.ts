import { Temporal } from 'temporal-polyfill';
import type { Clock } from '../service/clock.ts';
import type { Range, Reply } from './ask.ts';
import { daysBetween, type ProbeFinding } from './fact.ts';

/** Ten years: more history than users want. */
const farthest = 3653;
/** Days of each range: enough to contain a record, if there are any. */
const span = 30;

/**
 * Finds how far back the service answers; can continue when more requests are available. Requests ten years back first, then
 * bisects (the logarithm, because the limit may be a month or ten years). If a refusal names a day, requests that day next; it
 * counts only if the service answers.
 * @param known the oldest `start_date` answered so far, and the youngest refused, if any
 */
export function searchHistoryLimit(
  today: Temporal.PlainDate,
  known: { readonly answered: string; readonly refused: string | null },
  ask: (range: Range) => Promise<Reply>,
) {
  let { answered, refused } = known;
  const seen = refused === null ? [] : [`${refused} was refused`];
  let hint: string | undefined;
  let trouble: string | undefined;

  return {
    async goOn(mayAsk: () => boolean): Promise<void> {
      while (mayAsk() && trouble === undefined) {
        const start = nextDay(today, answered, refused, hint);
        if (start === undefined) return;
        const reply = await ask(rangeFrom(start, today));
        if (reply.kind === 'failed') trouble = reply.reason;
        else if (reply.kind === 'answered') {
          answered = start;
          seen.push(`${start} was answered${reply.answer.count > 0 ? '' : ', with nothing'}`);
        } else {
          refused = start;
          hint = /\b\d{4}-\d\d-\d\d\b/.exec(reply.words)?.[0];
          seen.push(`${start} was refused with ${reply.status}: ${reply.words}`);
        }
      }
    },
    finding(): ProbeFinding {
      if (seen.length === 0) return { reason: trouble ?? 'no request was left' };
      return { value: { answered, refused, asked_on: today.toString() }, evidence: seen.join('; ') };
    },
  };
}

function rangeFrom(start: string, today: Temporal.PlainDate): Range {
  const last = Temporal.PlainDate.from(start).add({ days: span - 1 });
  const yesterday = today.subtract({ days: 1 });
  const end = Temporal.PlainDate.compare(last, yesterday) < 0 ? last : yesterday;
  return { start, end: end.toString(), limit: 1 };
}

/** Returns the day to request next; `undefined` if the search is over. */
function nextDay(
  today: Temporal.PlainDate,
  answered: string,
  refused: string | null,
  hint: string | undefined,
): string | undefined {
  const back = (days: number) => today.subtract({ days }).toString();
  const near = daysBetween(answered, today.toString());
  if (refused === null) return near >= farthest ? undefined : back(farthest);
  const far = daysBetween(refused, today.toString());
  if (far - near <= 1) return undefined;
  if (hint !== undefined && hint > refused && hint < answered && isDay(hint)) return hint;
  // The named day was answered; the day before it shows whether it is the first one.
  if (hint === answered) return back(near + 1);
  return back(Math.min(far - 1, Math.max(near + 1, Math.round(Math.sqrt(near * far)))));
}

function isDay(text: string): boolean {
  try {
    return Temporal.PlainDate.from(text, { overflow: 'reject' }).toString() === text;
  } catch {
    return false;
  }
}

/** The age at which a token is tried, in milliseconds. */
const lifetime = 60_000;

/** A token, the request that returned it, and when that was, in milliseconds since 1970. */
export interface Token {
  readonly range: Range;
  readonly token: string;
  readonly at: number;
}

/**
 * Tests whether the service accepts a token that is a minute old. If not, tries a fresh one at once, because the service may
 * refuse tokens for another reason than their age.
 */
export async function tryToken(
  known: Token | undefined,
  ask: (range: Range, token?: string) => Promise<Reply>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeFinding> {
  if (!known) return { reason: 'no requested range has a second page' };
  const { range, token, at } = known;
  const left = at + lifetime - clock.now();
  if (left > 0) await clock.sleep(left, signal);
  const seconds = Math.round((clock.now() - at) / 1000);
  const reply = await ask(range, token);
  if (reply.kind === 'failed') return { reason: reply.reason };
  if (reply.kind === 'answered') {
    return { value: 'a minute or longer', evidence: `a token was accepted after ${seconds} s` };
  }
  const said = `${reply.status}: ${reply.words}`;
  const fresh = await ask(range);
  if (fresh.kind !== 'answered' || fresh.answer.nextToken === null) {
    return { reason: `a token was refused after ${seconds} s (${said}), and no new one came` };
  }
  const again = await ask(range, fresh.answer.nextToken);
  if (again.kind !== 'answered') return { reason: `tokens are refused, also new ones (${said})` };
  return {
    value: 'less than a minute',
    evidence: `a token was refused after ${seconds} s (${said}), a new one was accepted`,
  };
}
