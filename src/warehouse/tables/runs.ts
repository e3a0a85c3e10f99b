import { type Kysely, sql } from 'kysely';
import type { Series } from '../../feeds/feed.ts';
import type { Database, Day, JobCommand, RunsTable } from '../database.ts';
import type { WindowScope } from './series.ts';

/** A run of a job that workers share. */
export interface Run {
  readonly runId: number;
  readonly job: string;
  readonly command: JobCommand;
  readonly scope: WindowScope;
  /** First day that is not backfilled; `null` for a backfill. */
  readonly firstUnsettled: Day | null;
  readonly newestFirst: boolean;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly outcome: RunsTable['outcome'];
  readonly error: string | null;
}

/** What a run needs to begin. */
export interface PlannedRun {
  readonly job: string;
  readonly command: JobCommand;
  readonly scope: WindowScope;
  readonly firstUnsettled: Day | null;
  readonly newestFirst: boolean;
  readonly live: readonly Series[];
}

/** Begins a run. If a run of the same job and command is under way, gives that run the new scope instead. */
export async function beginRun(db: Kysely<Database>, run: PlannedRun): Promise<number> {
  const { run_id } = await db
    .insertInto('gmsi.runs')
    .values({
      job: run.job,
      command: run.command,
      scope: JSON.stringify(run.scope),
      first_unsettled: run.firstUnsettled,
      newest_first: run.newestFirst,
      live_series: JSON.stringify(run.live),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['job', 'command'])
        .where('finished_at', 'is', null)
        .doUpdateSet((eb) => ({
          scope: eb.ref('excluded.scope'),
          newest_first: eb.ref('excluded.newest_first'),
          started_at: sql<Date>`now()`,
        })),
    )
    .returning('run_id')
    .executeTakeFirstOrThrow();
  return run_id;
}

const columns = [
  ...['run_id', 'job', 'command', 'scope', 'first_unsettled', 'newest_first'],
  ...['started_at', 'finished_at', 'outcome', 'error'],
] as (keyof RunsTable)[];

/** Returns the state of a run. @param lock keeps others from tending it until the transaction ends */
export async function readRun(db: Kysely<Database>, runId: number, lock = false): Promise<Run | undefined> {
  const row = await db
    .selectFrom('gmsi.runs')
    .select(columns)
    .where('run_id', '=', runId)
    .$if(lock, (query) => query.forUpdate())
    .executeTakeFirst();
  return row && asRun(row as unknown as RunRow);
}

interface RunRow {
  readonly run_id: number;
  readonly job: string;
  readonly command: JobCommand;
  readonly scope: WindowScope;
  readonly first_unsettled: Day | null;
  readonly newest_first: boolean;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly outcome: RunsTable['outcome'];
  readonly error: string | null;
}

function asRun({ run_id, first_unsettled, newest_first, started_at, finished_at, ...row }: RunRow): Run {
  return {
    ...row,
    runId: run_id,
    firstUnsettled: first_unsettled,
    newestFirst: newest_first,
    startedAt: started_at,
    finishedAt: finished_at,
  };
}

/** Returns those of the given runs that are over. */
export async function finishedAmong(db: Kysely<Database>, runIds: readonly number[]): Promise<Run[]> {
  const rows = await db
    .selectFrom('gmsi.runs')
    .select(columns)
    .where('run_id', 'in', runIds)
    .where('finished_at', 'is not', null)
    .execute();
  return (rows as unknown as RunRow[]).map(asRun);
}

/** Returns every run that is under way. */
export async function runsUnderWay(db: Kysely<Database>) {
  return db
    .selectFrom('gmsi.runs')
    .select(['run_id', 'job', 'command', 'started_at'])
    .where('finished_at', 'is', null)
    .orderBy('run_id')
    .execute();
}

/** Ends a run. @returns false if it was over already */
export async function finishRun(
  db: Kysely<Database>,
  runId: number,
  outcome: NonNullable<RunsTable['outcome']>,
  error: string | null,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('gmsi.runs')
    .set({ outcome, error, finished_at: sql<Date>`now()` })
    .where('run_id', '=', runId)
    .where('finished_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/**
 * Ends the run of a job that now requests another feed, match type or parameters, or treats `end_date` differently, because
 * its windows must not be drained that way. The windows stay as they are, for other jobs that want them.
 * @returns the run that was ended
 */
export async function endChangedRun(
  db: Kysely<Database>,
  { job, command }: Pick<Run, 'job' | 'command'>,
  {
    feed,
    matchType,
    variants,
    isOpenEnded = false,
  }: Pick<WindowScope, 'feed' | 'matchType' | 'variants' | 'isOpenEnded'>,
): Promise<number | undefined> {
  const { rows } = await sql<{ run_id: number }>`
    update gmsi.runs
    set outcome = 'failed', error = 'The job now requests another feed, match type or parameters, or treats end_date differently.', finished_at = now()
    where job = ${job} and command = ${command} and finished_at is null
      and (scope ->> 'feed', scope ->> 'matchType', scope -> 'variants', coalesce((scope -> 'isOpenEnded')::boolean, false))
        is distinct from (${feed}::text, ${matchType}::text, ${JSON.stringify(variants)}::jsonb, ${isOpenEnded}::boolean)
    returning run_id
  `.execute(db);
  return rows[0]?.run_id;
}

/** Hands out the series whose live answers a run still has to read; none the second time. */
export async function takeLiveSeries(db: Kysely<Database>, runId: number): Promise<Series[]> {
  const row = await db
    .updateTable('gmsi.runs')
    .set({ live_begun_at: sql<Date>`now()` })
    .where('run_id', '=', runId)
    .where('live_begun_at', 'is', null)
    .returning('live_series')
    .executeTakeFirst();
  return (row?.live_series ?? []) as Series[];
}

export async function noteLiveFailures(db: Kysely<Database>, runId: number, failed: number): Promise<void> {
  await db
    .updateTable('gmsi.runs')
    .set((eb) => ({ live_failed: eb('live_failed', '+', failed) }))
    .where('run_id', '=', runId)
    .execute();
}

export async function liveFailures(db: Kysely<Database>, runId: number): Promise<number> {
  const row = await db
    .selectFrom('gmsi.runs')
    .select('live_failed')
    .where('run_id', '=', runId)
    .executeTakeFirst();
  return row?.live_failed ?? 0;
}

/** Makes a run drain its newest days first from now on. @returns false if it does already */
export async function drainNewestFirst(db: Kysely<Database>, runId: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('gmsi.runs')
    .set({ newest_first: true })
    .where('run_id', '=', runId)
    .where('newest_first', '=', false)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Returns true if workers with a heartbeat are syncing a job. */
export async function isSyncedByWorkers(
  db: Kysely<Database>,
  job: string,
  leaseSeconds: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from gmsi.runs where job = ${job} and command = 'sync' and finished_at is null
      and exists (select from gmsi.workers where stopped_at is null
        and heartbeat_at > now() - make_interval(secs => ${leaseSeconds}))
  `.execute(db);
  return rows.length > 0;
}
