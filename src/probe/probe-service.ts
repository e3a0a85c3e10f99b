import { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { resolveSeries } from '../config/resolve-series.ts';
import { defaultServiceSettings } from '../config/service-schema.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import { gmsiHeadlines } from '../feeds/gmsi-headlines.ts';
import { refreshList } from '../load/resolve-load.ts';
import { missingLists } from '../plan/scope.ts';
import { fullestSeries } from '../questions/contents.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLearnedFacts, saveLearnedFacts } from '../warehouse/tables/learned.ts';
import { listedValues, readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { originOf } from '../warehouse/tables/origin.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';
import { type Asker, asker, type Probing, type Range } from './ask.ts';
import {
  agree,
  type FactName,
  type FactValue,
  factNames,
  type ProbeFindings,
  readFactValue,
} from './fact.ts';
import { searchHistoryLimit } from './history-limit.ts';
import { type AnsweredRange, inferDays, pickDays } from './infer-days.ts';
import { inferRounding } from './infer-records.ts';

/** Without a job, the historical GMSI headlines are probed. */
export interface ProbeContext extends Omit<Probing, 'feed' | 'origin'> {
  readonly warehouse: Warehouse;
  /** Whether a finding that contradicts a learned fact replaces it. */
  readonly acceptsChanges?: boolean;
}

/** The findings of a probe, and its requests. */
export interface ProbeReport {
  readonly feed: Feed;
  readonly series: Series | undefined;
  /** Requests sent, including failed ones and those for the lookups. */
  readonly requests: number;
  readonly lessons: readonly Lesson[];
}

/**
 * Probes a feed and stores the learned facts. Loads missing lookups first.
 * @throws errors that end the probe: a refused key, a spent budget of the month, the signal's reason
 */
export async function probeService(context: ProbeContext): Promise<ProbeReport> {
  const { warehouse, client, job, signal, acceptsChanges = false } = context;
  const clock = () => new Date(context.clock.now());
  const feed = job ? feedNamed(job.feed) : gmsiHeadlines;
  const origin = originOf(warehouse);
  for (const list of missingLists(feed, await readLookups(warehouse)))
    await refreshList(warehouse, client, origin, list, { clock, signal });
  const series = await chooseSeries(warehouse, feed, job, await readLookups(warehouse));
  const probed = await probe({ ...context, feed, origin }, series);
  const lessons = await learn(warehouse, feed.name, probed.findings, acceptsChanges);
  return { feed, series: probed.series, requests: client.requests, lessons };
}

/** A fact after a probe. */
export interface Lesson {
  readonly fact: FactName;
  /**
   * - `learned`: not known before
   * - `confirmed`: as it was learned before
   * - `changed`: contradicts what was learned before, which stays
   * - `replaced`: the same, and takes its place
   * - `not learned`: the answers do not tell; what was learned before, if anything, stays
   */
  readonly standing: 'learned' | 'confirmed' | 'changed' | 'replaced' | 'not learned';
  /** The finding; `null` if the answers do not show it. */
  readonly value: FactValue | null;
  /** How it was found, or why it was not. */
  readonly evidence: string;
  readonly before: { readonly value: FactValue; readonly learnedAt: Date } | null;
}

/** Compares the findings of a probe with the learned facts, and stores new ones, and changed ones if they are accepted. */
async function learn(
  warehouse: Warehouse,
  feed: string,
  findings: ProbeFindings,
  acceptsChanges: boolean,
): Promise<Lesson[]> {
  return warehouse.transaction().execute(async (trx) => {
    const stored = new Map((await readLearnedFacts(trx, feed)).map((row) => [row.fact, row]));
    const lessons = factNames.map((fact): Lesson => {
      const finding = findings[fact];
      const row = stored.get(fact);
      const before = row ? { value: readFactValue(row.value), learnedAt: row.learned_at } : null;
      if (finding.value === undefined) {
        return { fact, standing: 'not learned', value: null, evidence: finding.reason, before };
      }
      const { value, evidence } = finding;
      const isAgreed = before === null || agree(before.value, value);
      const contradicts = acceptsChanges ? 'replaced' : 'changed';
      const standing = !isAgreed ? contradicts : before ? 'confirmed' : 'learned';
      return { fact, standing, value, evidence, before };
    });
    const learned = lessons.filter(({ standing }) => standing === 'learned' || standing === 'replaced');
    await saveLearnedFacts(trx, feed, learned);
    return lessons;
  });
}

/** Series to try: a second one if the first has no news. */
const mostCandidates = 2;

/** A guess for an empty warehouse: topics that have news every day, at least in the US. */
const busyTopics = ['Benchmark Equity Indices', 'Elections', 'Policy Tools-Interest Rates', 'Inflation-Food'];

/**
 * Returns busy series to probe a feed with, from the job if there is one: those with the most records lately first, then guesses.
 */
async function chooseSeries(
  warehouse: Warehouse,
  feed: Feed,
  job: Job | undefined,
  lookups: StoredLookups,
): Promise<Series[]> {
  const listed = listedValues(lookups);
  const isListed = (series: Series) =>
    feed.dimensions.every((dimension) => listed[dimension].includes(series[dimension]));
  const all = job ? resolveSeries(job, lookups).filter(isListed) : everySeries(feed, lookups);
  const named = new Map(all.map((series) => [keyOfSeries(series), series]));
  const { rows: fullest } = await fullestSeries(feed.name, 300).query.execute(warehouse);
  const loaded = fullest
    .map((series) => named.get(keyOfSeries(series)))
    .filter((series) => series !== undefined);
  const guessed = all.filter(({ country, topic }) => country === 'US' && busyTopics.includes(topic));
  return [...new Set([...loaded, ...guessed, ...all])].slice(0, mostCandidates);
}

/** Without a job, the feed is one of countries and topics, without variants. */
function everySeries({ name: feed, matchTypes }: Feed, { countries, topics }: StoredLookups): Series[] {
  const [match_type = ''] = matchTypes;
  return countries.flatMap(({ code: country }) =>
    topics.map(({ name: topic }) => ({ feed, country, topic, ticker: '', match_type, variant: '' })),
  );
}

/**
 * Tests undocumented behaviour of the service with at most `mostRequests` requests; each answer serves as many questions as
 * possible.
 * @throws errors that end the probe: a refused key, a spent budget of the month, the signal's reason
 * @param candidates series to probe with, busiest first
 * @returns the findings and the probed series; `undefined` if there is none
 */
async function probe(
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
    : 'there is no series to request';
  return { series, reason };
}

function nothing(reason: string): ProbeFindings {
  return Object.fromEntries(factNames.map((fact) => [fact, { reason }])) as unknown as ProbeFindings;
}
