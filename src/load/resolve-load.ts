import { Temporal } from 'temporal-polyfill';
import type { EndDateReading, HistoryLimit, Job } from '../config/job.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Feed, RecordReader } from '../feeds/feed.ts';
import { type OtherSeries, otherSeries } from '../feeds/reading/other-series.ts';
import { dayAt, plannedDays, type ShortenedPeriod } from '../plan/days.ts';
import { listedPart, notListed } from '../plan/not-listed.ts';
import { listsFor, scopeOf } from '../plan/scope.ts';
import type { Client } from '../service/client.ts';
import { fetchCodes, fetchTopics } from '../service/lookups.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLearnedFacts } from '../warehouse/tables/learned.ts';
import type { LoadTotals } from '../warehouse/tables/loads.ts';
import {
  knownValues,
  type ListName,
  readLookups,
  type StoredLookups,
  saveCodes,
  saveTopics,
} from '../warehouse/tables/lookups.ts';
import { type Origin, originOf } from '../warehouse/tables/origin.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import { type Clocks, compareWarehouse, endByClocks, watchClocks } from './clocks.ts';
import { type LoadEnd, moreSevere } from './ends.ts';
import { countingTotals, type LoadContext, type LoadResult, nothingDone } from './load.ts';

/** Lookups older than this are fetched again before a load. */
const freshFor = 7 * 24 * 3600 * 1000;

/**
 * Fetches a list (one request, or more if the service pages it) and stores it, with the time by the service's clock if its
 * answer has one: so machines with wrong clocks neither make a list look old to others nor hide from themselves that theirs is
 * wrong.
 */
export async function refreshList(
  warehouse: Warehouse,
  client: Client,
  origin: Origin,
  list: ListName,
  { clock, signal }: { readonly clock: () => Date; readonly signal: AbortSignal },
): Promise<void> {
  const at = () => client.serviceTime?.date ?? clock();
  if (list === 'topics') {
    const topics = await fetchTopics(client, signal);
    await origin.check(client.servedBy, client.answeredAt);
    return saveTopics(warehouse, topics, at());
  }
  const codes = await fetchCodes(client, list, signal);
  await origin.check(client.servedBy, client.answeredAt);
  return saveCodes(warehouse, list, codes, at());
}

/** Returns the stored lookups, after fetching those of `lists` that are missing or older than a week. */
async function freshLookups(
  { warehouse, client, clock, stop: signal }: LoadContext,
  origin: Origin,
  lists: readonly ListName[],
): Promise<StoredLookups> {
  const stored = await readLookups(warehouse);
  const stale = lists.filter((list) => {
    const at = stored.refreshedAt[list];
    // A list from the future shows that this machine's clock is wrong; the next answer tells the time.
    return at === null || Math.abs(clock().getTime() - at.getTime()) >= freshFor;
  });
  for (const list of stale) await refreshList(warehouse, client, origin, list, { clock, signal });
  return stale.length === 0 ? stored : readLookups(warehouse);
}

/** A resolved job, before anything is loaded. */
export interface ResolvedLoad {
  readonly feed: Feed;
  readonly reader: RecordReader;
  readonly otherSeries: OtherSeries;
  readonly origin: Origin;
  readonly clocks: Clocks;
  readonly totals: LoadTotals;
  /** The current day (UTC) by the earlier clock. */
  readonly today: Temporal.PlainDate;
  /** What can be requested; `undefined` if the job's period has not begun, or is older than the history limit. */
  readonly scope: WindowScope | undefined;
  /** How a history limit shortens the period, if it does. */
  readonly historyLimit: ShortenedPeriod | undefined;
  /** Seconds since the load began. */
  readonly seconds: () => number;
  /** Turns the end of a load into `incomplete` if the clocks differ too much, or if names have left the service's lists. */
  readonly endWithNotes: (end: LoadEnd) => LoadEnd;
  readonly nothingToDo: () => LoadResult;
}

/** Resolves a job with the lookups, which it fetches if they are missing or old. */
export async function resolveLoad(context: LoadContext): Promise<ResolvedLoad> {
  const { job, warehouse, client, clock, log } = context;
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  await compareWarehouse(warehouse, log);
  const feed = feedNamed(job.feed);
  const reader = feed.reader(job.fields);
  const origin = originOf(warehouse);
  const lookups = await freshLookups(context, origin, listsFor(feed));
  const other = otherSeries(feed, knownValues(lookups), job.fields);
  // The service's clock is unknown before the first request.
  const clocks = watchClocks(clock, () => client.serviceTime, log);
  clocks.compare();
  const today = dayAt(clocks.now());
  const { days, historyLimit } = plannedDays(job, today);
  const whole = days && scopeOf(job, days, lookups);
  const unlisted = whole && (await notListed(warehouse, whole));
  if (unlisted) log.warn({ job: job.name }, unlisted.message);
  const totals = countingTotals(client);
  const endWithNotes = (end: LoadEnd) => {
    const byClocks = endByClocks(end, clocks);
    return unlisted ? moreSevere(byClocks, { outcome: 'incomplete', error: unlisted }) : byClocks;
  };
  // A clock that is wrong may be why there is nothing to do.
  const nothingToDo = () => {
    const nothing = nothingDone(totals, seconds());
    return { ...nothing, ...endWithNotes(nothing), historyLimit };
  };
  return {
    feed,
    reader,
    otherSeries: other,
    origin,
    clocks,
    totals,
    today,
    scope: whole && listedPart(whole),
    historyLimit,
    seconds,
    endWithNotes,
    nothingToDo,
  };
}

/** The meaning of `end_date` that a job's windows use, and who decided it. */
export interface ReadingInForce {
  readonly reading: EndDateReading;
  readonly by: 'job' | 'probe' | 'nobody';
  /** The result of a probe that contradicts the job. */
  readonly contradicted: EndDateReading | null;
}

/**
 * Returns a job with the meaning of `end_date` and the history limit that apply: its own, else those that
 * `gmsi doctor --probe` learned for its feed. Plans and runs both use this, so that they cut the same windows.
 */
export async function withLearnedReading(
  warehouse: Warehouse,
  asked: Job,
): Promise<{ readonly job: Job; readonly endDate: ReadingInForce }> {
  const facts = await readLearnedFacts(warehouse, asked.feed);
  const learnedAs = (name: string) => facts.find(({ fact }) => fact === name)?.value;
  const job = { ...asked, historyLimit: asked.historyLimit ?? learnedLimit(learnedAs('history_limit')) };
  const value = learnedAs('end_date');
  const learned = value === 'inclusive' || value === 'exclusive' || value === 'ignored' ? value : null;
  const own = job.service.endDate;
  if (own !== 'unknown')
    return { job, endDate: { reading: own, by: 'job', contradicted: learned === own ? null : learned } };
  if (learned === null) return { job, endDate: { reading: own, by: 'nobody', contradicted: null } };
  return {
    job: { ...job, service: { ...job.service, endDate: learned } },
    endDate: { reading: learned, by: 'probe', contradicted: null },
  };
}

/**
 * Returns the day after the youngest refused day of a probe. A probe cannot tell whether the limit moves with the calendar.
 * A fixed day loses nothing: at worst, a load requests days that have become too old.
 */
function learnedLimit(value: unknown): HistoryLimit | undefined {
  const { refused, answered } = (value ?? {}) as { refused?: unknown; answered?: unknown };
  if (typeof refused !== 'string' || typeof answered !== 'string' || refused >= answered) return undefined;
  return { reach: Temporal.PlainDate.from(refused).add({ days: 1 }), by: 'probe' };
}

/** Applies learned facts to a load, and warns if the job contradicts a probe. */
export async function withLearnedFacts<Context extends LoadContext>(context: Context): Promise<Context> {
  const { log, warehouse } = context;
  const { job, endDate } = await withLearnedReading(warehouse, context.job);
  if (endDate.contradicted !== null) log.warn({ job: job.name }, contradiction(endDate));
  return { ...context, job };
}

export function contradiction({ reading, contradicted }: ReadingInForce): string {
  return (
    `service.end_date is ${reading} in the job, but a probe found that it is ${contradicted}; if the ` +
    'probe is right, windows fail, lack their last day or request more than needed'
  );
}
