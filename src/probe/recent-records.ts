import type { Temporal } from 'temporal-polyfill';
import type { Series } from '../feeds/feed.ts';
import type { Asker, Range, Reply } from './ask.ts';
import type { AnsweredRange } from './infer-days.ts';

/** The documented maximum page size (docs/service.md, "Paging"). */
const longestPage = 1000;
/** The page size to try if a refusal names none: our best guess of the default. */
const likelyPage = 100;

/** Records of the last weeks, which answer all further questions. */
interface Recent {
  readonly series: Series;
  readonly answered: AnsweredRange;
  /** The page size that the service accepts. */
  readonly limit: number;
  /** A `start_date` that was refused, while a younger one was not. */
  readonly refused: string | null;
  readonly reason?: undefined;
}

/**
 * Requests a past month in pages of 1000. If the service refuses, finds out whether it refuses the page size or the month. The
 * month ends at the day before yesterday, which is over in every time zone.
 */
export async function recentRecords(
  ask: Asker,
  candidates: readonly Series[],
  today: Temporal.PlainDate,
): Promise<Recent | { readonly series: Series | undefined; readonly reason: string }> {
  const end = today.subtract({ days: 2 }).toString();
  const month = { start: today.subtract({ days: 31 }).toString(), end, limit: longestPage };
  const week = { ...month, start: today.subtract({ days: 8 }).toString() };
  const [first, second] = candidates;
  if (!first) return { series: undefined, reason: 'there is no series to ask for' };

  let series = first;
  let range: Range = month;
  let reply = await ask.range(series, range);
  let refusal = '';
  const again = async (next: Range) => {
    if (reply.kind === 'refused') refusal = `${reply.status}: ${reply.words}`;
    range = next;
    reply = await ask.range(series, range);
  };
  if (reply.kind === 'refused') await again({ ...month, limit: pageNamedIn(reply.words) });
  if (reply.kind === 'refused') {
    // A different refusal: the smaller page was accepted, but the month is too old as well.
    const isAnother = `${reply.status}: ${reply.words}` !== refusal;
    await again(isAnother ? { ...week, limit: range.limit } : week);
  }
  if (isEmpty(reply) && second) {
    series = second;
    await again(range);
  }
  if (reply.kind === 'refused') return { series, reason: `refused with ${reply.status}: ${reply.words}` };
  if (reply.kind === 'failed') return { series, reason: reply.reason };
  if (reply.answer.records.length === 0) {
    return { series, reason: 'no readable records came; name a busy series with --job' };
  }
  return {
    series,
    limit: range.limit,
    answered: { range, answer: reply.answer },
    refused: range.start === month.start ? null : month.start,
  };
}

function isEmpty(reply: Reply): boolean {
  return reply.kind === 'answered' && reply.answer.count === 0;
}

/** Returns the largest page size that a refusal names, as in `an integer from 1 to 500`. */
function pageNamedIn(words: string): number {
  const numbers = (words.match(/\d+/g) ?? []).map(Number);
  return Math.max(...numbers.filter((number) => number > 1 && number < longestPage), 0) || likelyPage;
}
