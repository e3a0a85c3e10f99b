import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import type { Range, Reply } from './ask.ts';
import { daysBetween, type ProbeFinding } from './fact.ts';

/** Ten years: more history than users want. */
const farthest = 3653;
/** Days of each range: enough to contain a record, if there are any. */
const span = 30;

/**
 * Finds how far back the service answers. Requests ten years back first, then
 * bisects (the logarithm, because the limit may be a month or ten years). If a refusal names a day, requests that day next; it
 * counts only if the service answers.
 * @param known the oldest `start_date` answered so far
 */
export async function searchHistoryLimit(
  today: Temporal.PlainDate,
  known: string,
  ask: (range: Range) => Promise<Reply>,
): Promise<ProbeFinding> {
  let answered = known;
  let refused: string | null = null;
  const seen: string[] = [];
  let hint: string | undefined;

  while (true) {
    const start = nextDay(today, answered, refused, hint);
    if (start === undefined) break;
    const reply = await ask(rangeFrom(start, today));
    if (reply.kind === 'failed') {
      if (seen.length === 0) return { reason: reply.reason };
      break;
    }
    if (reply.kind === 'answered') {
      answered = start;
      seen.push(`${start} was answered${reply.answer.count > 0 ? '' : ', with nothing'}`);
    } else {
      refused = start;
      hint = /\b\d{4}-\d\d-\d\d\b/.exec(reply.words)?.[0];
      seen.push(`${start} was refused with ${reply.status}: ${reply.words}`);
    }
  }
  return { value: { answered, refused, asked_on: today.toString() }, evidence: seen.join('; ') };
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
  if (hint !== undefined && hint > refused && hint < answered && z.iso.date().safeParse(hint).success)
    return hint;
  // The named day was answered; the day before it shows whether it is the first one.
  if (hint === answered) return back(near + 1);
  return back(Math.min(far - 1, Math.max(near + 1, Math.round(Math.sqrt(near * far)))));
}
