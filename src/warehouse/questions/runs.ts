import { type RawBuilder, sql } from 'kysely';
import type { Day } from '../database.ts';
import { exactTime } from '../exact-time.ts';
import { hasLivingProcess, isAlive } from '../tables/processes.ts';
import type { Question } from './reading.ts';

/** A load as the page shows it; the totals of a running one are a few seconds old. */
export interface LoadShown {
  readonly load_id: number;
  readonly job: string;
  readonly command: string;
  readonly feed: string;
  /** See `stateOfLoad`. */
  readonly state: string;
  /** Times as texts (UTC), to the microsecond. */
  readonly started_at: string;
  readonly ended_at: string;
  readonly requests: number;
  /** `null` if several loads share them. */
  readonly windows_planned: number | null;
  readonly windows_drained: number;
  readonly windows_failed: number;
  readonly records: number;
  readonly rows_inserted: number;
  readonly rows_changed: number;
  readonly rows_retracted: number;
  readonly records_rejected: number;
  readonly error: string | null;
  /** Host and process, and the version of the program. */
  readonly run_by: string;
}

/** Returns a load's outcome; `running` if it has none yet, or `killed` if no living process runs it. */
export function stateOfLoad(leaseSeconds: number): RawBuilder<string> {
  return sql`coalesce(outcome, case when ${hasLivingProcess('loads.process_id', leaseSeconds)} then 'running' else 'killed' end)`;
}

/**
 * Returns the last loads, the latest first; those that run come before all others.
 * @param jobs only loads of these jobs
 */
export function lastLoads(
  leaseSeconds: number,
  atMost: number,
  jobs?: readonly string[],
): Question<LoadShown> {
  return {
    about: 'The last loads',
    query: sql<LoadShown>`
      select load_id, job, command, feed,
             ${stateOfLoad(leaseSeconds)} as state,
             ${exactTime('started_at')} as started_at, ${exactTime('ended_at')} as ended_at, requests, windows_planned, windows_drained,
             windows_failed, records, rows_inserted, rows_changed, rows_retracted, records_rejected, error, run_by
      from gmsi.loads cross join lateral (select coalesce(finished_at, updated_at) as ended_at) as ended
      where ${jobs ? sql`job = any(${[...jobs]}::text[])` : sql`true`}
      order by ${stateOfLoad(leaseSeconds)} = 'running' desc, load_id desc
      limit ${atMost}::int`,
  };
}

/** A load in which the service had given many headlines new scores. */
export interface Rescoring {
  readonly load_id: number;
  readonly command: string;
  /** Empty for an import. */
  readonly job: string;
  readonly started_at: string;
  readonly headlines: number;
  /** Those that the load met and that were known before. */
  readonly known_headlines: number;
  readonly first_published_at: string;
  readonly last_published_at: string;
  readonly old_model_version: string | null;
  readonly new_model_version: string | null;
}

/**
 * Returns the last loads that rescored many headlines, the latest first: those of the last 30 days, or those that rescored
 * headlines published on some days (UTC).
 * @param jobs only loads of these jobs
 */
export function rescorings(of: {
  readonly published?: { readonly from: Day; readonly to: Day };
  readonly jobs?: readonly string[] | undefined;
}): Question<Rescoring> {
  const { published, jobs } = of;
  const isOfThen = published
    ? // A load does not rescore what is published after it.
      sql`started_at >= ${published.from}::date::timestamp at time zone 'UTC'
        and last_published_at >= ${published.from}::date::timestamp at time zone 'UTC'
        and first_published_at < (${published.to}::date + 1)::timestamp at time zone 'UTC'`
    : sql`started_at > now() - interval '30 days'`;
  return {
    about: 'The last loads in which the service had given many headlines new scores',
    query: sql<Rescoring>`
      select load_id, command, job, ${exactTime('started_at')} as started_at, headlines, known_headlines,
             ${exactTime('first_published_at')} as first_published_at, ${exactTime('last_published_at')} as last_published_at,
             old_model_version, new_model_version
      from gmsi.rescorings
      where ${isOfThen}
        and ${jobs ? sql`job = any(${[...jobs]}::text[])` : sql`true`}
      order by load_id desc limit 10`,
  };
}

/** How long after its publication half, and 99%, of a source's headlines arrived. */
export interface ArrivalDelay {
  readonly source: string | null;
  readonly headlines: number;
  /** In seconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Returns the arrival delays of the last 30 days, sources with the most headlines first. */
export const arrivalDelays: Question<ArrivalDelay> = {
  about: 'How long after its publication a headline arrived in the last 30 days, by source',
  query: sql<ArrivalDelay>`
      select source, headlines, extract(epoch from p50)::float8 as p50, extract(epoch from p99)::float8 as p99
      from gmsi.arrival_delays order by headlines desc, source limit 500`,
};

/** Requests of an API key in a month. */
export interface RequestsOfKey {
  /** Its fingerprint. */
  readonly key: string;
  readonly is_own: boolean;
  readonly requests: number;
}

/**
 * Returns the requests booked in a month for each API key. Not for readers.
 * @param ownKey the fingerprint of the key that this process has
 */
export function requestsByKey(month: Day, ownKey: string | null): Question<RequestsOfKey> {
  return {
    about: `Requests booked in ${month.slice(0, 7)}, by API key`,
    query: sql<RequestsOfKey>`
      select key_fingerprint as key, coalesce(key_fingerprint = ${ownKey}::text, false) as is_own, requests
      from gmsi.api_usage where month = ${month}::date
      order by is_own desc, requests desc, key`,
  };
}

/** A field of a feed's records that appeared or vanished. */
export interface FieldChange {
  readonly feed: string;
  readonly field: string;
  readonly change: 'new' | 'gone';
}

/**
 * Returns fields that appeared in the last 7 days, and fields that vanished in that time: the last three loads with records did
 * not receive them. Fields that a feed's first day of loads has received are not new.
 */
export const fieldChanges: Question<FieldChange> = {
  about: 'Fields of the service that appeared or vanished in the last 7 days',
  query: sql<FieldChange>`
      with known as (
        select f.feed, f.field, first.started_at as first_at, last.started_at as last_at,
               min(first.started_at) over (partition by f.feed) as known_since,
               (select count(*) from gmsi.loads l where l.feed = f.feed and l.load_id > f.last_load_id and l.records > 0) as loads_since
        from gmsi.wire_fields f
        join gmsi.loads first on first.load_id = f.first_load_id
        join gmsi.loads last on last.load_id = f.last_load_id
        where last.started_at > now() - interval '7 days'
      )
      select feed, field, case when loads_since >= 3 then 'gone' else 'new' end as change
      from known
      where loads_since >= 3 or first_at > greatest(now() - interval '7 days', known_since + interval '1 day')
      order by 1, 3, 2 limit 50`,
};

export interface OpenAlert {
  readonly kind: string;
  readonly job: string;
  readonly message: string;
  readonly raised_at: string;
}

/** Returns open alerts. Not for readers. */
export const openAlerts: Question<OpenAlert> = {
  about: 'Alerts that are not resolved',
  query: sql<OpenAlert>`
      select kind, job, message, ${exactTime('raised_at')} as raised_at from gmsi.alerts
      where resolved_at is null order by alerts.raised_at desc limit 50`,
};

export interface WorkerShown {
  readonly worker_id: string;
  readonly run_by: string;
  readonly concurrency: number;
  readonly started_at: string;
}

/** Returns the processes of `gmsi work` with a recent heartbeat. Not for readers. */
export function livingWorkers(leaseSeconds: number): Question<WorkerShown> {
  return {
    about: 'Workers that are alive',
    query: sql<WorkerShown>`
      select process_id as worker_id, run_by, concurrency, ${exactTime('started_at')} as started_at from gmsi.processes p
      where p.command = 'work' and ${isAlive(leaseSeconds)} order by p.started_at`,
  };
}

/** The last result of a check in a job. */
export interface CheckShown {
  readonly job: string;
  readonly check_name: string;
  readonly title: string;
  readonly result: string;
  readonly findings: number;
  /** Why it was skipped or did not finish. */
  readonly reason: string | null;
  readonly checked_at: string;
}

/** Returns the last result of each check in each job; checks with findings come first. */
export const lastChecks: Question<CheckShown> = {
  about: 'The last result of each check',
  query: sql<CheckShown>`
      select job, check_name, title, result, findings, reason, ${exactTime('checked_at')} as checked_at
      from gmsi.check_results
      order by array_position(array['failed', 'warned', 'passed', 'skipped'], result), job, check_name limit 2000`,
};
