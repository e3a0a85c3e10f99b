import { type Kysely, sql } from 'kysely';
import type { Database, Day } from '../tables/database.ts';
import { queueSchema, taskNames } from './queue.ts';
import { askedSeries, coverageOfAsked, inScope, isOpen, period, type WindowScope } from './window-scope.ts';

/** The day up to which every series of a job is covered at least: the newest covered day of the one that is furthest behind. */
export async function newestCoveredDay(db: Kysely<Database>, scope: WindowScope): Promise<Day | null> {
  const { rows } = await sql<{ day: Day | null }>`
    select case when bool_and(covered is not null) then min(covered) - 1 end as day
    from (
      select upper(c.days * datemultirange(${period(scope)})) as covered
      from ${askedSeries(scope)} left join ${coverageOfAsked(scope)}
    ) as series
  `.execute(db);
  return rows[0]!.day;
}

/** Windows of a job that have failed and were not drained since, and the commonest reasons. */
export interface WindowsInTrouble {
  readonly windows: number;
  readonly reasons: readonly { readonly reason: string; readonly windows: number }[];
}

/** A window that is being tried again still counts, so that trying it is not taken for its end. */
export async function windowsInTrouble(db: Kysely<Database>, scope: WindowScope): Promise<WindowsInTrouble> {
  const { rows } = await sql<{ reason: string; windows: number; all_windows: number }>`
    select w.last_error as reason, count(*) as windows, (sum(count(*)) over ())::int as all_windows
    from gmsi.windows w
    where ${inScope(scope)} and ${isOpen} and w.last_error is not null
    group by 1 order by 2 desc, 1 limit 3
  `.execute(db);
  return {
    windows: rows[0]?.all_windows ?? 0,
    reasons: rows.map(({ reason, windows }) => ({ reason, windows })),
  };
}

export interface QueueDepth {
  readonly task: string;
  readonly state: 'ready' | 'scheduled' | 'running' | 'given up';
  readonly tasks: number;
}

/** Tasks in the queue of `gmsi work`. */
export async function queueDepth(db: Kysely<Database>): Promise<QueueDepth[]> {
  const { rows } = await sql<QueueDepth>`
    select task_identifier as task, count(*) as tasks,
           case when locked_at is not null then 'running' when attempts >= max_attempts then 'given up'
                when run_at > now() then 'scheduled' else 'ready' end as state
    from ${sql.table(`${queueSchema}.jobs`)}
    where task_identifier = any(${Object.values(taskNames)}::text[]) group by 1, 3
  `.execute(db);
  return rows;
}

/** What the files of all jobs say that the workers know, but for their secrets. */
export async function storedJobs(
  db: Kysely<Database>,
): Promise<{ readonly job: string; readonly definition: Readonly<Record<string, unknown>> }[]> {
  const rows = await db.selectFrom('jobs').select(['job', 'definition']).orderBy('job').execute();
  return rows.map(({ job, definition }) => ({ job, definition: definition as Record<string, unknown> }));
}

/** Processes of `gmsi work` that have shown a sign of life within the lease. */
export async function workersAlive(db: Kysely<Database>, leaseSeconds: number): Promise<number> {
  const { rows } = await sql<{ workers: number }>`
    select count(*) as workers from gmsi.workers
    where stopped_at is null and heartbeat_at > now() - make_interval(secs => ${leaseSeconds})
  `.execute(db);
  return rows[0]!.workers;
}
