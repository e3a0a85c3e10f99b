import type { Client } from '../api/client.ts';
import type { Clock } from '../api/clock.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import { gmsiHeadlines } from '../feeds/gmsi-headlines.ts';
import type { Job } from '../job/job.ts';
import type { Log } from '../log.ts';
import { originOf } from '../pipeline/origin.ts';
import { listsFor, refreshList } from '../pipeline/resolve-job.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups } from '../warehouse/queries/lookups.ts';
import { chooseSeries } from './choose-series.ts';
import { type Lesson, learn } from './learn.ts';
import { probe } from './probe.ts';

export interface ProbeContext {
  readonly warehouse: Warehouse;
  /** Capped at `mostRequests`, and fresh. */
  readonly client: Client;
  /** The feed, series and settings to probe; without one, the historical GMSI headlines. */
  readonly job: Job | undefined;
  /** Store also what contradicts what was learned before. */
  readonly accept: boolean;
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What a probe did and found. */
export interface ProbeReport {
  readonly feed: Feed;
  /** The series that was probed; `undefined` where there was none. */
  readonly series: Series | undefined;
  /** Requests sent, those for the lookups and those that failed included. */
  readonly requests: number;
  readonly lessons: readonly Lesson[];
}

/**
 * Probes a feed and stores what is learned. Lookups that the warehouse does not have yet are fetched first.
 * @throws what ends everything: a key that is refused, the month's budget spent, the signal's reason
 */
export async function probeService(context: ProbeContext): Promise<ProbeReport> {
  const { warehouse, client, job, log, clock, signal } = context;
  const feed = job ? feedNamed(job.feed) : gmsiHeadlines;
  const origin = originOf(warehouse);
  const known = await readLookups(warehouse);
  for (const list of listsFor(feed)) {
    if (known.refreshedAt[list] === null) await refreshList(warehouse, client, origin, list, signal);
  }
  const series = await chooseSeries(warehouse, feed, job, await readLookups(warehouse));
  const probed = await probe({
    ...{ client, feed, series, origin, log, clock, signal },
    ...{ parameters: job?.service.parameters ?? {}, body: job?.body, fields: job?.fields ?? {} },
  });
  const lessons = await learn(warehouse, feed.name, probed.findings, context.accept);
  return { feed, series: probed.series, requests: client.stats().requests, lessons };
}
