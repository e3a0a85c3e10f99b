import { Temporal } from 'temporal-polyfill';
import { defaultServiceSettings } from '../config/service-schema.ts';
import type { Series } from '../feeds/feed.ts';
import { type Asker, asker, type Probing, type Range } from './ask.ts';
import { factNames, type ProbeFindings } from './fact.ts';
import { searchHistoryLimit } from './history-limit.ts';
import { type AnsweredRange, inferDays, pickDays } from './infer-days.ts';
import { inferRounding } from './infer-records.ts';

/**
 * Tests undocumented behaviour of the service with at most `mostRequests` requests; each answer serves as many questions as
 * possible.
 * @throws errors that end the probe: a refused key, a spent budget of the month, the signal's reason
 * @param candidates series to probe with, busiest first
 * @returns the findings and the probed series; `undefined` if there is none
 */
export async function probe(
  probing: Probing,
  candidates: readonly Series[],
): Promise<{ series: Series | undefined; findings: ProbeFindings }> {
  const { feed, job, clock } = probing;
  const today = Temporal.Instant.fromEpochMilliseconds(clock.now()).toZonedDateTimeISO('UTC').toPlainDate();
  const ask = asker(probing);
  const limit = job?.service.pageSize ?? defaultServiceSettings.pageSize;
  // They end at the day before yesterday, which is over in every time zone.
  const [start, end] = [today.subtract({ days: 15 }).toString(), today.subtract({ days: 2 }).toString()];
  const recent = await recentRecords(ask, candidates, { start, end, limit });
  const { series } = recent;
  if (recent.reason !== undefined) return { series, findings: nothing(recent.reason) };

  const ranges = [recent.answered];
  // A day and two days in the middle of what is known: the answers to inclusive and exclusive differ by a day.
  for (const days of pickDays(recent.answered.answer.times)) {
    const range = { ...days, limit };
    const reply = await ask.range(recent.series, range);
    if (reply.kind === 'answered') ranges.push({ range, answer: reply.answer });
  }
  const live = feed.live && (await ask.live(recent.series, limit));
  const history_limit = await searchHistoryLimit(today, start, (asked) => ask.range(recent.series, asked));
  return {
    series,
    findings: {
      ...inferDays(ranges, live?.kind === 'answered' ? live.answer.times : []),
      time_rounding: inferRounding(recent.answered.answer),
      history_limit,
    },
  };
}

/** Requests two weeks of the first series, or of the next one if the first has no news. They answer all further questions. */
async function recentRecords(
  ask: Asker,
  candidates: readonly Series[],
  range: Range,
): Promise<
  | { readonly series: Series; readonly answered: AnsweredRange; readonly reason?: undefined }
  | { readonly series: Series | undefined; readonly reason: string }
> {
  for (const series of candidates) {
    const reply = await ask.range(series, range);
    if (reply.kind === 'refused') return { series, reason: `refused with ${reply.status}: ${reply.words}` };
    if (reply.kind === 'failed') return { series, reason: reply.reason };
    if (reply.answer.times.length > 0) return { series, answered: { range, answer: reply.answer } };
  }
  const series = candidates.at(-1);
  const reason = series
    ? 'no readable records came; name a busy series with --job'
    : 'there is no series to ask for';
  return { series, reason };
}

function nothing(reason: string): ProbeFindings {
  return Object.fromEntries(factNames.map((fact) => [fact, { reason }])) as unknown as ProbeFindings;
}
