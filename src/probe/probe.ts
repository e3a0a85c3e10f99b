import { Temporal } from 'temporal-polyfill';
import type { Feed, FieldAliases, ParameterNames, Series } from '../feeds/feed.ts';
import type { Origin } from '../load/resolve-load.ts';
import type { Log } from '../log.ts';
import type { Client } from '../service/client.ts';
import type { Clock } from '../service/clock.ts';
import { type Answer, asker, type Range, type Reply, recordFields } from './ask.ts';
import { factNames, type ProbeFinding, type ProbeFindings } from './fact.ts';
import { searchHistoryLimit, type Token, tryToken } from './history-limit.ts';
import { type AnsweredRange, inferDays, pickDays } from './infer-days.ts';
import { inferId, inferOrder, inferRounding, inferZone } from './infer-records.ts';
import { inferPageSize, longestPage, type Recent, recentRecords } from './recent-records.ts';

/** Requests that one run of a probe may send, tries that failed included. */
export const mostRequests = 12;

/** Requests kept for the token: one to try it, two to tell an expired token from one that never worked. */
const forToken = 3;

export interface ProbeSetting {
  /** Its requests are capped at `mostRequests`. */
  readonly client: Client;
  readonly feed: Feed;
  /** Series to probe with, the likely busiest first. */
  readonly series: readonly Series[];
  readonly parameters: Partial<ParameterNames>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Wire names that a job gives for columns. */
  readonly fields: FieldAliases;
  readonly origin: Origin;
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Probed {
  /** The one that was probed; `undefined` if there is none. */
  readonly series: Series | undefined;
  readonly findings: ProbeFindings;
}

/**
 * Finds out how the service behaves where it is not documented, in at most `mostRequests` requests: each answer serves as
 * many questions as it can. Takes a minute, the age at which a token is tried.
 * @throws what ends everything: a key that is refused, the month's budget spent, the signal's reason
 */
export async function probe(setting: ProbeSetting): Promise<Probed> {
  const { client, feed, clock, signal, log } = setting;
  const today = Temporal.Instant.fromEpochMilliseconds(clock.now()).toZonedDateTimeISO('UTC').toPlainDate();
  const fields = recordFields(feed, setting.fields);
  const ask = asker({ ...setting, fields, now: clock.now });
  const left = () => mostRequests - client.stats().requests;

  const recent = await recentRecords(ask, setting.series, today);
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
  log.info('asked; now waiting for a token to be a minute old');
  const token_lifetime = await lifetimeOf(token, askRange, clock, signal);
  const page_size = left() > 0 ? await pageSizeOf(recent, askRange, today) : recent.page_size;
  await historyLimit.goOn(() => left() > 0);

  return {
    series,
    findings: {
      ...inferDays(ranges),
      time_zone: inferZone(answer, live, { reachHours: feed.live?.hours ?? 0, fullPage: fullPage(recent) }),
      time_rounding: inferRounding(answer),
      record_order: inferOrder(answer),
      page_size,
      record_id: inferId(answer, fields.idNames),
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

async function lifetimeOf(
  token: Token | undefined,
  ask: (range: Range, token?: string) => Promise<Reply>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeFinding> {
  if (!token) return { reason: 'no range that was asked for has a second page' };
  return tryToken(token, ask, clock, signal);
}

/** The most records of a page, as far as the first one shows. */
function fullPage({ answered: { answer }, limit }: Recent): number {
  return answer.nextToken === null ? limit : Math.min(limit, answer.count);
}

function nothing(reason: string): ProbeFindings {
  return Object.fromEntries(factNames.map((fact) => [fact, { reason }])) as unknown as ProbeFindings;
}
