import type { Temporal } from 'temporal-polyfill';
import type { Series } from '../feeds/feed.ts';
import type { Asker } from './ask.ts';
import type { AnsweredRange } from './infer-days.ts';

/** Records of the last two weeks, which answer all further questions. */
interface Recent {
  readonly series: Series;
  readonly answered: AnsweredRange;
  readonly reason?: undefined;
}

/**
 * Requests two weeks of the first series, or of the next one if the first has no news. They end at the day before yesterday,
 * which is over in every time zone.
 */
export async function recentRecords(
  ask: Asker,
  candidates: readonly Series[],
  today: Temporal.PlainDate,
  limit: number,
): Promise<Recent | { readonly series: Series | undefined; readonly reason: string }> {
  const [start, end] = [today.subtract({ days: 15 }).toString(), today.subtract({ days: 2 }).toString()];
  const range = { start, end, limit };
  let asked: Series | undefined;
  for (const series of candidates) {
    asked = series;
    const reply = await ask.range(series, range);
    if (reply.kind === 'refused') return { series, reason: `refused with ${reply.status}: ${reply.words}` };
    if (reply.kind === 'failed') return { series, reason: reply.reason };
    if (reply.answer.records.length > 0) return { series, answered: { range, answer: reply.answer } };
  }
  const reason = asked
    ? 'no readable records came; name a busy series with --job'
    : 'there is no series to ask for';
  return { series: asked, reason };
}
