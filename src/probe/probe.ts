import { Temporal } from 'temporal-polyfill';
import type { Series } from '../feeds/feed.ts';
import { type Answer, asker, namesOf, type Probing, type Range, type Reply } from './ask.ts';
import { factNames, type ProbeFinding, type ProbeFindings } from './fact.ts';
import { searchHistoryLimit, type Token, tryToken } from './history-limit.ts';
import { type AnsweredRange, inferDays, pickDays } from './infer-days.ts';
import { inferId, inferOrder, inferRounding, inferZone } from './infer-records.ts';
import { inferPageSize, longestPage, type Recent, recentRecords } from './recent-records.ts';

/** Requests that one probe may send, including failed attempts. */
export const mostRequests = 12;

/** Requests kept for the token: one to try it, two to tell an expired token from one that never worked. */
const forToken = 3;

/**
 * Tests undocumented behaviour of the service with at most `mostRequests` requests; each answer serves as many questions as
 * possible. Takes a minute, the age at which a token is tried.
 * @throws fatal errors: a refused key, a spent budget, the signal's reason
 * @param candidates series to probe with, busiest first
 * @returns the findings and the probed series; `undefined` if there is none
 */
export async function probe(
  probing: Probing,
  candidates: readonly Series[],
): Promise<{ series: Series | undefined; findings: ProbeFindings }> {
  const { client, feed, clock, signal, log } = probing;
  const today = Temporal.Instant.fromEpochMilliseconds(clock.now()).toZonedDateTimeISO('UTC').toPlainDate();
  const ask = asker(probing);
  const left = () => mostRequests - client.stats().requests;

  const recent = await recentRecords(ask, candidates, today);
  if (recent.reason !== undefined) return { series: recent.series, findings: nothing(recent.reason) };
  const { series, answered, limit } = recent;
  const { answer } = answered;

  let token = tokenOf(answered.range, answer);
  const askRange = async (range: Range, sent?: string): Promise<Reply> => {
    const reply = await ask.range(series, range, sent);
    if (reply.kind === 'answered') token ??= tokenOf(range, reply.answer);
    return reply;
  };

  const ranges = [answered, ...(await shortRanges(askRange, answered, limit))];
  const live = feed.live && (await ask.live(series, limit));
  const historyLimit = searchHistoryLimit(
    today,
    { answered: answered.range.start, refused: recent.refused },
    askRange,
  );
  await historyLimit.goOn(() => left() > forToken + (token ? 0 : 1));
  if (!token) await askRange({ ...answered.range, limit: 1 });
  log.info('waiting one minute to see whether a cursor is still accepted');
  const token_lifetime = await tryToken(token, askRange, clock, signal);
  // The largest page size that the first page shows.
  const fullPage = answer.nextToken === null ? limit : Math.min(limit, answer.count);
  const page_size = left() > 0 ? await pageSizeOf(recent, askRange, today) : recent.page_size;
  await historyLimit.goOn(() => left() > 0);

  return {
    series,
    findings: {
      ...inferDays(ranges, live?.kind === 'answered' ? live.answer.records : []),
      time_zone: inferZone(answer, live, { reachHours: feed.live?.hours ?? 0, fullPage }),
      time_rounding: inferRounding(answer),
      record_order: inferOrder(answer),
      page_size,
      record_id: inferId(answer, namesOf(feed, probing.job, 'uuid')),
      history_limit: historyLimit.finding(),
      token_lifetime,
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

/** If a month has too few records to fill a page, a quarter may have enough. */
async function pageSizeOf(
  { answered: { answer }, page_size }: Recent,
  ask: (range: Range) => Promise<Reply>,
  today: Temporal.PlainDate,
): Promise<ProbeFinding> {
  if (page_size.value !== undefined || answer.count * 3 < longestPage * 1.1) return page_size;
  const [start, end] = [90, 2].map((days) => today.subtract({ days }).toString()) as [string, string];
  const range = { start, end, limit: longestPage };
  const reply = await ask(range);
  return reply.kind === 'answered' ? inferPageSize(range, reply.answer) : page_size;
}

function tokenOf(range: Range, { nextToken, at }: Answer): Token | undefined {
  return nextToken === null ? undefined : { range, token: nextToken, at };
}

function nothing(reason: string): ProbeFindings {
  return Object.fromEntries(factNames.map((fact) => [fact, { reason }])) as unknown as ProbeFindings;
}
