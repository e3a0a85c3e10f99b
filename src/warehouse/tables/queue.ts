import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';
import { inScope, isOpen, type WindowScope } from './series.ts';
import { claimSteps, isSilent } from './windows.ts';

/** graphile-worker's schema. We use only the documented parts: its functions and its view of jobs. */
export const queueSchema = 'graphile_worker';

/** The kinds of tasks; the prefix tells them from those of other programs that use graphile-worker in the same database. */
export const taskNames = {
  tick: 'gmsi.tick',
  plan: 'gmsi.plan',
  tend: 'gmsi.tend',
  drain: 'gmsi.drain',
  live: 'gmsi.live',
  export: 'gmsi.export',
} as const;

/** A task to be queued. At most one task with the same key waits. */
export interface QueuedTask {
  readonly task: string;
  readonly payload: object;
  readonly key: string;
  /** Lower numbers go first; among equal ones, the task that has waited longest. */
  readonly priority: number;
  readonly maxAttempts: number;
  /** A label by which tasks are counted and withdrawn together. */
  readonly label?: string;
  readonly delaySeconds?: number;
}

export async function addTasks(db: Kysely<Database>, tasks: readonly QueuedTask[]): Promise<void> {
  const specs = tasks.map(({ task, payload, key, priority, maxAttempts, label, delaySeconds = 0 }) => ({
    identifier: task,
    payload,
    job_key: key,
    priority,
    max_attempts: maxAttempts,
    flags: label === undefined ? null : [label],
    delay: delaySeconds,
  }));
  await sql`
    select count(*) from graphile_worker.add_jobs(array(
      select jsonb_populate_record(null::graphile_worker.job_spec, spec || jsonb_build_object(
        'run_at', clock_timestamp() + (spec->>'delay')::float8 * interval '1 second'))
      from jsonb_array_elements(${JSON.stringify(specs)}::jsonb) as spec))
  `.execute(db);
}

/** The condition that a task `q` waits or is being worked on; one that has failed too often does neither. */
const isAlive = sql`(q.attempts < q.max_attempts or q.locked_at is not null)`;

/** Returns true if a task with this key waits or is being worked on. */
export async function isQueued(db: Kysely<Database>, key: string): Promise<boolean> {
  const { rows } = await sql`
    select from graphile_worker.jobs q where q.key = ${key} and ${isAlive}
  `.execute(db);
  return rows.length > 0;
}

/** How the tasks that drain windows are queued. */
export interface DrainTasks {
  readonly runId: number;
  readonly priority: number;
  readonly maxAttempts: number;
  readonly label: string;
}

/**
 * Queues windows of a run that are free, in the order of `claimSteps`, then the newest or oldest days, all series in turn.
 * Free windows are pending ones, those that failed before the run began, and those of a load without a heartbeat for longer
 * than the lease.
 * @returns how many were queued
 */
export async function queueWindows(
  db: Kysely<Database>,
  scope: WindowScope,
  run: { readonly startedAt: Date; readonly newestFirst: boolean; readonly leaseSeconds: number },
  tasks: DrainTasks,
  atMost: number,
): Promise<number> {
  const direction = sql.raw(run.newestFirst ? 'desc' : 'asc');
  let queued = 0;
  for (const step of claimSteps) {
    if (queued >= atMost) break;
    const { rows } = await sql<{ queued: number }>`
      with free as materialized (
        select w.window_id from gmsi.windows w
        where ${inScope(scope)} and ${isOpen} and ${step} and ${isFreeSince(run.startedAt, run.leaseSeconds)}
          -- A task of an earlier run that has failed too often is replaced.
          and not exists (select from graphile_worker.jobs q where q.key = 'window:' || w.window_id and ${isAlive})
        order by w.last_day ${direction}, w.country ${direction}, w.topic ${direction}, w.ticker ${direction},
                 w.variant ${direction}
        limit ${atMost - queued}
      )
      select count(*) as queued from graphile_worker.add_jobs(array(
        select json_populate_record(null::graphile_worker.job_spec, json_build_object(
          'identifier', ${taskNames.drain}::text,
          'payload', json_build_object('run', ${tasks.runId}::bigint, 'window', window_id),
          'job_key', 'window:' || window_id, 'priority', ${tasks.priority}::int, 'max_attempts', ${tasks.maxAttempts}::int,
          'flags', json_build_array(${tasks.label}::text),
          -- If all tasks had the same time, this order would be lost.
          'run_at', clock_timestamp() + row_number() over () * interval '1 microsecond'))
        from free))
    `.execute(db);
    queued += rows[0]!.queued;
  }
  return queued;
}

/** Counts windows of a run that are not queued: free ones, and ones that another load with a heartbeat has claimed. */
export async function countOpenOfRun(
  db: Kysely<Database>,
  scope: WindowScope,
  run: { readonly startedAt: Date; readonly leaseSeconds: number },
): Promise<{ free: number; held: number }> {
  const isFree = isFreeSince(run.startedAt, run.leaseSeconds);
  const { rows } = await sql<{ free: number; held: number }>`
    select count(*) filter (where ${isFree}) as free,
           count(*) filter (where w.state = 'draining' and not ${isFree}) as held
    from gmsi.windows w where ${inScope(scope)} and ${isOpen}
  `.execute(db);
  return rows[0]!;
}

function isFreeSince(startedAt: Date, leaseSeconds: number): RawBuilder<boolean> {
  return sql`(w.state = 'pending' or (w.state = 'failed' and w.finished_at < ${startedAt}) or ${isSilent(leaseSeconds)})`;
}

/** Counts tasks under a label that wait or are being worked on; removes those that have failed too often. */
export async function countLabelled(db: Kysely<Database>, label: string): Promise<number> {
  await sql`
    select count(*) from graphile_worker.complete_jobs(array(select id from graphile_worker.jobs
      where flags ? ${label} and attempts >= max_attempts and locked_at is null))
  `.execute(db);
  const { rows } = await sql<{ tasks: number }>`
    select count(*) as tasks from graphile_worker.jobs where flags ? ${label}
  `.execute(db);
  return rows[0]!.tasks;
}

/** Removes tasks under a label that nobody is working on. */
export async function withdrawLabelled(db: Kysely<Database>, label: string): Promise<void> {
  await sql`
    select count(*) from graphile_worker.complete_jobs(array(
      select id from graphile_worker.jobs where flags ? ${label} and locked_at is null))
  `.execute(db);
}

/**
 * Gives back tasks that nobody works on: those of workers without a heartbeat for longer than the lease or unknown ones, and
 * those of this worker that it does not know, because the reply that assigned them was lost. The unfinished try does not
 * count. graphile-worker can return tasks only for whole workers, and counts the try.
 * @param inHand ids of the tasks that this worker is working on
 * @returns how many were given back
 */
export async function unlockAbandoned(
  db: Kysely<Database>,
  own: { readonly workerId: string; readonly inHand: Iterable<string> },
  leaseSeconds: number,
): Promise<number> {
  const lease = sql`make_interval(secs => ${leaseSeconds})`;
  const { numAffectedRows } = await sql`
    update graphile_worker._private_jobs q
    set attempts = greatest(0, q.attempts - 1), locked_by = null, locked_at = null
    from graphile_worker.jobs seen
    where seen.id = q.id and seen.task_identifier like 'gmsi.%' and q.locked_at < now() - ${lease}
      and case when q.locked_by = ${own.workerId} then q.id <> all(${[...own.inHand]}::bigint[])
        else not exists (select from gmsi.workers w where w.worker_id = q.locked_by and w.stopped_at is null
          and w.heartbeat_at > now() - ${lease}) end
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** No such schema, table or column. */
const notThere = /^(3F000|42P01|42703)$/;

/**
 * Returns the result of `read` on the queue; `undefined` if graphile-worker has not installed its schema yet, is installing
 * it now, or has an older version of it. Its migrations create and drop tables, so a check beforehand would not be reliable.
 */
export async function unlessQueueIsMissing<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (notThere.test((error as { code?: string }).code ?? '')) return undefined;
    throw error;
  }
}

/** Returns the present state of the queue. */
export async function queueSummary(
  db: Kysely<Database>,
): Promise<{ waiting: number; running: number; retrying: number }> {
  const { rows } = await sql<{ waiting: number; running: number; retrying: number }>`
    select count(*) filter (where locked_at is null and attempts = 0) as waiting,
           count(*) filter (where locked_at is not null) as running,
           count(*) filter (where locked_at is null and attempts between 1 and max_attempts - 1) as retrying
    from graphile_worker.jobs where task_identifier in (${taskNames.plan}, ${taskNames.drain}, ${taskNames.live})
  `.execute(db);
  return rows[0]!;
}

/** Returns true if the warehouse's user sees the queue's rows, which row security shows only to their owner. */
export async function ownsQueue(db: Kysely<Database>): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`
    select bool_and(pg_has_role(relowner, 'USAGE')) or bool_or(r.rolbypassrls or r.rolsuper) as yes
    from pg_class join pg_roles r on r.rolname = current_user
    where relnamespace = to_regnamespace('graphile_worker') and relkind = 'r' and relrowsecurity
  `.execute(db);
  return rows[0]!.yes ?? true;
}
