import { Temporal } from 'temporal-polyfill';
import { defaultServiceSettings } from '../config/service-schema.ts';
import type { Series } from '../feeds/feed.ts';
import { asker, type Probing, type Range, type Reply } from './ask.ts';
import { factNames, type ProbeFindings } from './fact.ts';
import { searchHistoryLimit } from './history-limit.ts';
import { type AnsweredRange, inferDays, pickDays } from './infer-days.ts';
import { inferRounding } from './infer-records.ts';
import { recentRecords } from './recent-records.ts';

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
  const recent = await recentRecords(ask, candidates, today, limit);
  if (recent.reason !== undefined) return { series: recent.series, findings: nothing(recent.reason) };
  const { series, answered } = recent;
  const { answer, range } = answered;
  const askRange = (asked: Range) => ask.range(series, asked);

  const ranges = [answered, ...(await shortRanges(askRange, answered, limit))];
  const live = feed.live && (await ask.live(series, limit));
  const history_limit = await searchHistoryLimit(today, range.start, askRange);
  return {
    series,
    findings: {
      ...inferDays(ranges, live?.kind === 'answered' ? live.answer.records : []),
      time_rounding: inferRounding(answer),
      history_limit,
    },
  };
}

/** A day and two days in the middle of what is known: the answers to inclusive and exclusive differ by a day. */
async function shortRanges(
  ask: (range: Range) => Promise<Reply>,
  { answer }: AnsweredRange,
  limit: number,
): Promise<AnsweredRange[]> {
  const ranges: AnsweredRange[] = [];
  for (const days of pickDays(answer.records)) {
    const range = { ...days, limit };
    const reply = await ask(range);
    if (reply.kind === 'answered') ranges.push({ range, answer: reply.answer });
  }
  return ranges;
}

function nothing(reason: string): ProbeFindings {
  return Object.fromEntries(factNames.map((fact) => [fact, { reason }])) as unknown as ProbeFindings;
}
