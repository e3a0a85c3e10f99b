import { type Kysely, type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { Database, Day } from '../warehouse/database.ts';
import { exactTime } from '../warehouse/exact-time.ts';
import { hasLivingProcess, isAlive } from '../warehouse/tables/processes.ts';
import { momentSql, question, type RowOf, text, timeText } from './reading.ts';

const count = z.int();

/** A load as the page shows it; the totals of a running one are a few seconds old. */
export const loadRow = z.object({
  load_id: z.int(),
  job: z.string(),
  command: z.string(),
  feed: z.string(),
  state: z
    .string()
    .describe('Its outcome; running if it has none yet, or killed if no living process runs it.'),
  started_at: timeText,
  ended_at: timeText,
  requests: count,
  windows_planned: count.nullable().describe('null if several loads share them.'),
  windows_drained: count,
  windows_failed: count,
  records: count,
  rows_inserted: count,
  rows_changed: count,
  rows_retracted: count,
  records_rejected: count,
  error: text,
  run_by: z.string().describe('Host and process, and the version of the program.'),
});
export type LoadShown = RowOf<typeof loadRow>;

function isRunning(leaseSeconds: number): RawBuilder<boolean> {
  return sql`outcome is null and ${hasLivingProcess('loads.process_id', leaseSeconds)}`;
}

/** Returns a load's outcome; `running` if it has none yet, or `killed` if no living process runs it. */
export function stateOfLoad(leaseSeconds: number): RawBuilder<string> {
  return sql`coalesce(outcome, case when ${hasLivingProcess('loads.process_id', leaseSeconds)} then 'running' else 'killed' end)`;
}

/**
 * Returns the last loads, the latest first; those that run come before all others.
 * @param jobs only loads of these jobs
 */
export function lastLoads(leaseSeconds: number, atMost: number, jobs?: readonly string[]) {
  return question(
    loadRow,
    'The last loads',
    sql`
      select load_id, job, command, feed,
             ${stateOfLoad(leaseSeconds)} as state,
             ${exactTime('started_at')} as started_at, ${exactTime('ended_at')} as ended_at, requests,
             windows_planned, windows_drained, windows_failed, records, rows_inserted, rows_changed, rows_retracted,
             records_rejected, error, run_by
      from gmsi.loads cross join lateral (select coalesce(finished_at, updated_at) as ended_at) as ended
      where ${jobs ? sql`job = any(${[...jobs]}::text[])` : sql`true`}
      order by ${stateOfLoad(leaseSeconds)} = 'running' desc, load_id desc
      limit ${atMost}::int`,
  );
}

/** The last load of a job. */
export interface LastLoad extends Pick<LoadShown, 'load_id' | 'state' | 'error'> {
  /** When it ended, or last stored its totals. */
  readonly at: string;
  /** True if that is less than two days ago, by the database's clock. */
  readonly is_recent: boolean;
  /** True if this load, or another one of the job, is running. */
  readonly is_running: boolean;
}

/** Returns that of jobs that were ever loaded, by name. */
export async function lastLoadOfJobs(
  db: Kysely<Database>,
  jobs: readonly string[],
  leaseSeconds: number,
): Promise<ReadonlyMap<string, LastLoad>> {
  const { rows } = await sql<LastLoad & { job: string }>`
    select asked.job, load_id, state, error, ${exactTime('ended_at')} as at, ended_at > now() - interval '2 days' as is_recent,
           exists (select from gmsi.loads where loads.job = asked.job and ${isRunning(leaseSeconds)}) as is_running
    from unnest(${[...jobs]}::text[]) as asked (job)
    cross join lateral (
      select load_id, ${stateOfLoad(leaseSeconds)} as state, error, coalesce(finished_at, updated_at) as ended_at
      from gmsi.loads where loads.job = asked.job order by load_id desc limit 1
    ) as last`.execute(db);
  return new Map(rows.map(({ job, ...load }) => [job, load]));
}

/** Returns the jobs of which a load is running. */
export async function loadingJobs(db: Kysely<Database>, leaseSeconds: number): Promise<string[]> {
  const { rows } = await sql<{ job: string }>`
    select distinct job from gmsi.loads where ${isRunning(leaseSeconds)} order by job`.execute(db);
  return rows.map(({ job }) => job);
}

/** A load in which the service had given many headlines new scores. */
export const rescoringRow = z.object({
  load_id: z.int(),
  command: z.string(),
  job: z.string().describe('Empty for an import.'),
  started_at: timeText,
  headlines: count,
  known_headlines: count.describe('Those that the load met and that were known before.'),
  first_published_at: timeText,
  last_published_at: timeText,
  old_model_version: text,
  new_model_version: text,
});
export type Rescoring = RowOf<typeof rescoringRow>;

/**
 * Returns the last loads that rescored many headlines, the latest first: those of the last 30 days, or those that rescored
 * headlines published on some days (UTC).
 * @param jobs only loads of these jobs
 */
export function rescorings(of: {
  readonly published?: { readonly from: Day; readonly to: Day; readonly as_of?: string | undefined };
  readonly jobs?: readonly string[] | undefined;
}) {
  const { published, jobs } = of;
  const isOfThen = published
    ? // A load does not rescore what is published after it.
      sql`started_at >= ${published.from}::date::timestamp at time zone 'UTC'
        and last_published_at >= ${published.from}::date::timestamp at time zone 'UTC'
        and first_published_at < (${published.to}::date + 1)::timestamp at time zone 'UTC'
        and started_at < ${published.as_of === undefined ? sql`now()` : momentSql(published.as_of)}`
    : sql`started_at > now() - interval '30 days'`;
  return question(
    rescoringRow,
    'The last loads in which the service had given many headlines new scores',
    sql`
      select load_id, command, job, ${exactTime('started_at')} as started_at, headlines, known_headlines,
             ${exactTime('first_published_at')} as first_published_at,
             ${exactTime('last_published_at')} as last_published_at, old_model_version, new_model_version
      from gmsi.rescorings
      where ${isOfThen}
        and ${jobs ? sql`job = any(${[...jobs]}::text[])` : sql`true`}
      order by load_id desc limit 10`,
  );
}

/** `key` is the fingerprint of an API key. */
export const requestsRow = z.object({ month: text, key: z.string(), is_own: z.boolean(), requests: count });
export type RequestsOfKey = RowOf<typeof requestsRow>;

/**
 * Returns the requests booked for each API key, the newest month first. Not for readers.
 * @param ownKey the fingerprint of the key that this process has
 * @param month the only month to return, as its first day
 */
export function requestsByKey(ownKey: string | null, month: Day | null = null) {
  return question(
    requestsRow,
    `Requests booked${month ? ` in ${month.slice(0, 7)}` : ''}, by API key`,
    sql`
      select to_char(month, 'YYYY-MM') as month, key_fingerprint as key,
             coalesce(key_fingerprint = ${ownKey}::text, false) as is_own, requests
      from gmsi.api_usage where ${month}::date is null or month = ${month}::date
      order by gmsi.api_usage.month desc, is_own desc, requests desc, key`,
  );
}

/**
 * Returns fields that appeared in the last 7 days, and fields that vanished in that time: the last three loads with records did
 * not receive them. Fields that a feed's first day of loads has received are not new.
 */
export const fieldChanges = question(
  z.object({ feed: z.string(), field: z.string(), change: z.enum(['new', 'gone']) }),
  'Fields of the service that appeared or vanished in the last 7 days',
  sql`
      with known as (
        select f.feed, f.field, first.started_at as first_at, last.started_at as last_at,
               min(first.started_at) over (partition by f.feed) as known_since,
               (select count(*) from gmsi.loads l
                where l.feed = f.feed and l.load_id > f.last_load_id and l.records > 0) as loads_since
        from gmsi.wire_fields f
        join gmsi.loads first on first.load_id = f.first_load_id
        join gmsi.loads last on last.load_id = f.last_load_id
        where last.started_at > now() - interval '7 days'
      )
      select feed, field, case when loads_since >= 3 then 'gone' else 'new' end as change
      from known
      where loads_since >= 3 or first_at > greatest(now() - interval '7 days', known_since + interval '1 day')
      order by 1, 3, 2 limit 50`,
);
export type FieldChange = RowOf<typeof fieldChanges.row>;

export type OpenAlert = RowOf<typeof openAlerts.row>;

/** Not for readers. */
export const openAlerts = question(
  z.object({ kind: z.string(), job: z.string(), message: z.string(), raised_at: timeText }),
  'Open alerts of jobs: failed windows, late, budget, key refused',
  sql`
      select kind, job, message, ${exactTime('raised_at')} as raised_at from gmsi.alerts
      where resolved_at is null order by alerts.raised_at desc`,
);

const workerRow = z.object({
  worker_id: z.string(),
  run_by: z.string(),
  concurrency: z.int(),
  started_at: timeText,
});

/** Returns the processes of `gmsi work` with a recent heartbeat. Not for readers. */
export function livingWorkers(leaseSeconds: number) {
  return question(
    workerRow,
    'The running processes of gmsi work',
    sql`
      select process_id as worker_id, run_by, concurrency, ${exactTime('started_at')} as started_at from gmsi.processes p
      where p.command = 'work' and ${isAlive(leaseSeconds)} order by p.started_at`,
  );
}

export const lastChecks = question(
  z.object({
    job: z.string(),
    check_name: z.string(),
    title: z.string(),
    result: z.string(),
    findings: count,
    reason: text.describe('Why it was skipped or did not finish.'),
    checked_at: timeText,
  }),
  'The last result of each check in each job, findings first',
  sql`
      select job, check_name, title, result, findings, reason, ${exactTime('checked_at')} as checked_at
      from gmsi.check_results
      order by array_position(array['failed', 'warned', 'known', 'passed', 'skipped'], result), job, check_name limit 2000`,
);
export type CheckShown = RowOf<typeof lastChecks.row>;
