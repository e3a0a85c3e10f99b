import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { CauseCode } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import type { Database, Day, JobCommand } from '../warehouse/database.ts';
import { refreshReason } from '../warehouse/tables/loads.ts';
import { hasLivingProcess, isAlive, isRunBy } from '../warehouse/tables/processes.ts';
import type { StoredSchedule } from '../warehouse/tables/schedules.ts';
import {
  askedSeries,
  inScope,
  period,
  queued,
  sameSeries,
  seriesColumns,
  seriesOf,
  type WindowScope,
} from '../warehouse/tables/series.ts';

/** Days of one series of a job that are not covered. */
export interface UncoveredDays extends Series {
  readonly from: Day;
  readonly to: Day;
  readonly days: number;
  /** As in `gmsi.coverage_gaps`; also `not loaded` before and after the days that were ever requested. */
  readonly state: 'pending' | 'draining' | 'failed' | 'refused' | 'settling' | 'not loaded';
  /** Why the last attempt failed, if it did, and in words. */
  readonly cause: CauseCode | null;
  readonly says: string | null;
}

/** Returns each range of days of a job that is not covered, with the state of the window that is to load it. */
export async function uncoveredDays(db: Kysely<Database>, scope: WindowScope): Promise<UncoveredDays[]> {
  const { rows } = await sql<UncoveredDays>`
    with requested as materialized (
      select ${seriesOf('asked')}, daterange(g.from_day, g.to_day, '[]') * ${period(scope)} as range, g.state,
             g.cause, g.last_error as says
      from ${askedSeries(scope)} join gmsi.coverage_gaps g on ${sameSeries('g', 'asked')}
      where daterange(g.from_day, g.to_day, '[]') && ${period(scope)}
    ), other as (
      select ${seriesOf('asked')}, unnest(datemultirange(${period(scope)}) - coalesce(c.covered, '{}')
        - coalesce((select range_agg(r.range) from requested r where ${sameSeries('r', 'asked')}), '{}')) as range,
        'not loaded', null, null
      from ${askedSeries(scope)} left join gmsi.series_days c using (series_id)
    )
    select ${seriesColumns}, lower(range)::text as from, (upper(range) - 1)::text as to,
           upper(range) - lower(range) as days, state, cause, says
    from (select * from requested union all select * from other) as gaps
    order by ${seriesColumns}, range
  `.execute(db);
  return rows;
}

/** Counts the windows that are not drained, by feed and state. */
export async function windowCounts(
  db: Kysely<Database>,
): Promise<{ readonly feed: string; readonly state: string; readonly windows: number }[]> {
  const { rows } = await sql<{ feed: string; state: string; windows: number }>`
    select s.feed, w.state, count(*) as windows
    from ${queued} group by 1, 2 order by 1, 2
  `.execute(db);
  return rows;
}

/** Records per day and series of a job's feed so far; `null` if nothing is drained. */
export async function recordsPerDay(db: Kysely<Database>, scope: WindowScope): Promise<number | null> {
  const { rows } = await sql<{ mean: number | null }>`
    select sum(r.records)::float8 / nullif(sum(r.last_day - r.first_day + 1), 0) as mean
    from ${askedSeries(scope)} join gmsi.readings r using (series_id)
    where r.source = 'w' and r.is_whole
  `.execute(db);
  return rows[0]!.mean;
}

/** A job of the workers, with its last load that one of them or a command has made. */
export interface WorkersJob
  extends Pick<StoredSchedule, 'cron' | 'timezone' | 'fired_at' | 'paused_because'> {
  readonly job: string;
  readonly command: JobCommand;
  /** Since when it is due; `null` if it is not. */
  readonly due_at: Date | null;
  /** True if a worker is loading it. */
  readonly is_loading: boolean;
  readonly resumes_at: Date | null;
  readonly outcome: string | null;
  readonly finished_at: Date | null;
  /** Of that load, as of its last heartbeat; `null` without a load. */
  readonly windows_planned: number | null;
  readonly windows_drained: number | null;
  readonly windows_failed: number | null;
  readonly records: number | null;
}

/** Returns the jobs that are scheduled, due, being loaded or paused, or that were loaded, by command. */
export async function workersJobs(db: Kysely<Database>, leaseSeconds: number): Promise<WorkersJob[]> {
  const { rows } = await sql<WorkersJob>`
    select s.job, s.command, s.due_at, s.resumes_at, s.paused_because, s.cron, s.timezone, s.fired_at,
           ${hasLivingProcess('s.process_id', leaseSeconds)} as is_loading,
           l.outcome, l.finished_at, l.windows_planned, l.windows_drained, l.windows_failed, l.records
    from gmsi.schedules s
    left join gmsi.jobs j using (job)
    left join lateral (
      select * from gmsi.loads l
      -- A refresh is a backfill with this reason.
      where l.job = s.job and (l.command = s.command or (l.command = 'backfill' and s.command = 'refresh'))
        and (l.reason is not distinct from ${refreshReason}) = (s.command = 'refresh')
      order by l.load_id desc limit 1
    ) l on true
    where s.paused_because = 'operator'
      -- Without jobs that only a command has loaded, which no worker knows.
      or (j.job is not null
        and (s.cron is not null or s.due_at is not null or s.resumes_at is not null or l.load_id is not null))
    order by s.job, s.command
  `.execute(db);
  return rows;
}

/** Returns how many living workers run each stored job. */
export async function workersByJob(
  db: Kysely<Database>,
  leaseSeconds: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ job: string; workers: number }>`
    select j.job, count(p.process_id)::int as workers
    from gmsi.jobs j
    left join gmsi.processes p on p.command = 'work' and ${isAlive(leaseSeconds)} and ${isRunBy('j.job')}
    group by j.job
  `.execute(db);
  return new Map(rows.map(({ job, workers }) => [job, workers]));
}

/** Returns the newest covered day of the series that is furthest behind, for each job. */
export async function newestCoveredDay(db: Kysely<Database>, scope: WindowScope): Promise<Day | null> {
  const { rows } = await sql<{ day: Day | null }>`
    select case when bool_and(covered is not null) then min(covered) - 1 end as day
    from (
      select upper(c.covered * datemultirange(${period(scope)})) as covered
      from ${askedSeries(scope)} left join gmsi.series_days c using (series_id)
    ) as series
  `.execute(db);
  return rows[0]!.day;
}

/** How far the series of a job are loaded. */
export interface Completeness extends Pick<WindowScope, 'from' | 'to'> {
  /** True if each series has every settled day of the period, and no window of the job is open, failed or refused. */
  readonly is_complete: boolean;
  readonly series: number;
  /** Series that have every settled day of the period. */
  readonly complete: number;
  /** Settled days that are covered, over all series, of those in the period. */
  readonly covered: number;
  readonly wanted: number;
  /** Those that are not covered, and of which no window failed or was refused. */
  readonly left_over: number;
  /** The last day up to which every series has each day of the period, settled or not; `null` if one lacks the first day. */
  readonly complete_to: Day | null;
  /** Windows that are pending or being drained. */
  readonly open: number;
  readonly failed: number;
  readonly refused: number;
}

/**
 * Returns the last 90 days of a job, all series together, as lengths of equal states: `covered 80, settling 3, partial 7`. A day is
 * partial if one of the series lacks it, and `not loaded` if all do.
 */
export async function recentDays(db: Kysely<Database>, scope: WindowScope): Promise<string> {
  const { rows } = await sql<{ days: string }>`
    with loaded as (
      select range_intersect_agg(coalesce(c.covered, '{}')) as covered, range_intersect_agg(coalesce(c.loaded, '{}')) as settling,
             range_agg(coalesce(c.touched, '{}')) as partial
      from ${askedSeries(scope)} left join gmsi.series_days c using (series_id)
    ), by_day as (
      select day::date as day, gmsi.state_of(daterange(day::date, day::date, '[]'), covered, settling, partial, false) as state
      from loaded
      cross join generate_series(greatest(${scope.from}::date, ${scope.to}::date - 89)::timestamp, ${scope.to}::date, interval '1 day') as day
    )
    select string_agg(state || ' ' || length, ', ' order by first_day) as days
    from (
      select state, count(*) as length, min(day) as first_day
      from (select *, day - (row_number() over (partition by state order by day))::int as island from by_day) as apart
      group by state, island
    ) as spans
  `.execute(db);
  return rows[0]!.days;
}

/**
 * Returns how far a job is loaded. All that calls a job complete asks this.
 * @param firstUnsettled the first day that may still change: a series is complete without it
 */
export async function completenessOf(
  db: Kysely<Database>,
  scope: WindowScope,
  firstUnsettled: Day,
): Promise<Completeness> {
  const settled = sql`datemultirange(${period(scope)} * daterange(null, ${firstUnsettled}::date))`;
  const daysIn = (days: RawBuilder<unknown>) =>
    sql`(select coalesce(sum(upper(range) - lower(range)), 0) from unnest(${days}) as range)`;
  const { rows } = await sql<Omit<Completeness, 'from' | 'to'>>`
    with windows as (
      select series_id, count(*) filter (where w.state in ('pending', 'draining')) as open,
             count(*) filter (where w.state = 'failed') as failed, count(*) filter (where w.state = 'refused') as refused,
             range_agg(w.days) filter (where w.state in ('failed', 'refused')) as not_loaded
      from ${queued} where ${inScope(scope)}
      group by series_id
    ), work as (
      select coalesce(sum(open), 0)::bigint as open, coalesce(sum(failed), 0)::bigint as failed,
             coalesce(sum(refused), 0)::bigint as refused
      from windows
    ), series as (
      select ${settled} - coalesce(c.covered, '{}') as missing, datemultirange(${period(scope)}) - coalesce(c.whole, '{}') as not_whole,
             ${daysIn(sql`${settled} * coalesce(c.covered, '{}')`)} as covered,
             ${daysIn(sql`${settled} - coalesce(c.covered, '{}') - coalesce(windows.not_loaded, '{}')`)} as left_over
      from ${askedSeries(scope)} left join gmsi.series_days c using (series_id) left join windows using (series_id)
    ), total as (
      select count(*) as series, count(*) filter (where isempty(missing)) as complete,
             case when bool_and(coalesce(lower(missing + not_whole) > ${scope.from}::date, true))
                  then coalesce(min(lower(missing + not_whole)) - 1, ${scope.to}::date) end as complete_to,
             coalesce(sum(covered), 0)::bigint as covered, coalesce(sum(left_over), 0)::bigint as left_over,
             count(*) * ${daysIn(settled)} as wanted
      from series
    )
    select *, complete = series and open + failed + refused = 0 as is_complete from total cross join work
  `.execute(db);
  return { ...rows[0]!, from: scope.from, to: scope.to };
}
