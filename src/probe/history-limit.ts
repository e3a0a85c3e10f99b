import { Temporal } from 'temporal-polyfill';
import type { Clock } from '../service/clock.ts';
import type { Range, Reply } from './ask.ts';
import { daysBetween, type ProbeFinding } from './fact.ts';

/** Further back than history is likely to be wanted: ten years. */
const farthest = 3653;
/** Days of a range that is asked for: long enough to hold a record, if there are any. */
const span = 30;

/** A search for how far back the service answers, to be gone on with as requests can be spared. */
export interface HistoryLimitSearch {
  goOn(mayAsk: () => boolean): Promise<void>;
  finding(): ProbeFinding;
}

/**
 * Asks for a few ranges: ten years back first, then by halves (of the logarithm, since a service may reach back a month or
 * ten years), or at once for the day that the words of a refusal name, which is believed only if it is answered.
 * @param known the oldest `start_date` that has been answered already, and the youngest that was refused, if one was
 */
export function searchHistoryLimit(
  today: Temporal.PlainDate,
  known: { readonly answered: string; readonly refused: string | null },
  ask: (range: Range) => Promise<Reply>,
): HistoryLimitSearch {
  let { answered, refused } = known;
  const seen = refused === null ? [] : [`${refused} was refused`];
  let hint: string | undefined;
  let trouble: string | undefined;

  return {
    async goOn(mayAsk) {
      while (mayAsk() && trouble === undefined) {
        const start = nextDay({ today, answered, refused, hint });
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
    finding() {
      if (seen.length === 0) return { reason: trouble ?? 'no request could be spared' };
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

interface Bounds {
  readonly today: Temporal.PlainDate;
  readonly answered: string;
  readonly refused: string | null;
  readonly hint: string | undefined;
}

/** The day to ask for next; `undefined` if nothing is left to find out. */
function nextDay({ today, answered, refused, hint }: Bounds): string | undefined {
  const back = (days: number) => today.subtract({ days }).toString();
  const near = daysBetween(answered, today.toString());
  if (refused === null) return near >= farthest ? undefined : back(farthest);
  const far = daysBetween(refused, today.toString());
  if (far - near <= 1) return undefined;
  if (hint !== undefined && hint > refused && hint < answered && isDay(hint)) return hint;
  // The day that was named has been answered; whether it is the last, the day before it tells.
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

/** What a token is tried after, in milliseconds. */
const lifetime = 60_000;

/** A token, and the request whose next page it leads to. */
export interface Token {
  readonly range: Range;
  readonly token: string;
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
}

/**
 * Whether a token survives a minute: waits until it is that old, then asks with it. If it is refused, a fresh one is
 * tried at once, so that a service which refuses tokens for another reason is not taken for one that forgets them.
 */
export async function tryToken(
  { range, token, at }: Token,
  ask: (range: Range, token?: string) => Promise<Reply>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeFinding> {
  const left = at + lifetime - clock.now();
  if (left > 0) await clock.sleep(left, signal);
  const seconds = Math.round((clock.now() - at) / 1000);
  const reply = await ask(range, token);
  if (reply.kind === 'failed') return { reason: reply.reason };
  if (reply.kind === 'answered') {
    return { value: 'a minute or longer', evidence: `a token was taken after ${seconds} s` };
  }
  const said = `${reply.status}: ${reply.words}`;
  const fresh = await ask(range);
  if (fresh.kind !== 'answered' || fresh.answer.nextToken === null) {
    return { reason: `a token was refused after ${seconds} s (${said}), and a fresh one could not be had` };
  }
  const again = await ask(range, fresh.answer.nextToken);
  if (again.kind !== 'answered') return { reason: `tokens are refused, also fresh ones (${said})` };
  return {
    value: 'less than a minute',
    evidence: `a token was refused after ${seconds} s (${said}), a fresh one was taken`,
  };
}
