import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from '../database.ts';

/*
 * A process owns what names it: a job that it loads (gmsi.schedules), the exports of a job (gmsi.jobs), a file that it reads
 * (gmsi.imported_files), an alert that it sends (gmsi.alerts), a load (gmsi.loads) and so the windows that name that. It is
 * alive as long as it sends heartbeats, by the database's clock.
 *
 *                 │ taken by another       │ taken by the owner       │ left by the owner
 *   ──────────────┼────────────────────────┼──────────────────────────┼─────────────────────────────
 *   nobody's      │ that process's         │ its own                  │ nobody's
 *   of a living   │ refused                │ its own: the reply to    │ nobody's
 *   process       │                        │ the first taking was lost│
 *   of a dead one │ that process's         │ its own: it was suspended│ nobody's
 */

/** How long processes that have ended stay listed, in days. */
const listedFor = 30;

/** What a process stores about itself. */
export interface ProcessIdentity {
  readonly process_id: string;
  readonly command: string;
  readonly run_by: string;
  readonly version: string;
  readonly concurrency: number | null;
  /** Of a worker; `null` for every job. */
  readonly jobs?: string[] | null;
}

/** Who wants to own something. */
export interface Owner {
  readonly processId: string;
  /** Seconds of silence after which what a process owns is free. */
  readonly leaseSeconds: number;
}

/** Removes processes that ended long ago. */
export async function forgetProcesses(db: Kysely<Database>): Promise<void> {
  const limit = sql`now() - make_interval(days => ${listedFor})`;
  await sql`delete from gmsi.processes where heartbeat_at < ${limit}`.execute(db);
}

/**
 * Stores a heartbeat, which keeps what a process owns its own.
 * @returns false if the warehouse does not list the process, for example because the database was restored
 */
export async function beatProcess(db: Kysely<Database>, processId: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update gmsi.processes set heartbeat_at = now() where process_id = ${processId}`.execute(db);
  return numAffectedRows! > 0n;
}

/** Lists a process, with its first heartbeat. @returns false if it was listed already */
export async function registerProcess(db: Kysely<Database>, process: ProcessIdentity): Promise<boolean> {
  const { process_id, command, run_by, version, concurrency, jobs = null } = process;
  const { rows } = await sql<{ isNew: boolean }>`
    insert into gmsi.processes (process_id, command, run_by, version, concurrency, jobs)
    values (${process_id}, ${command}, ${run_by}, ${version}, ${concurrency}, ${jobs}::text[])
    on conflict (process_id) do update set heartbeat_at = now() returning xmax = 0 as "isNew"`.execute(db);
  return rows[0]!.isNew;
}

/** Removes one process, which must own nothing that goes on. */
export async function forgetProcess(db: Kysely<Database>, processId: string): Promise<void> {
  await sql`delete from gmsi.processes where process_id = ${processId}`.execute(db);
}

export async function stopProcess(db: Kysely<Database>, processId: string): Promise<void> {
  await sql`
    update gmsi.processes set heartbeat_at = now(), stopped_at = now() where process_id = ${processId}`.execute(
    db,
  );
}

/**
 * Returns the condition that a process may take what `owner` names: it is nobody's, its own, or of a process that is seen to be
 * silent. Not "no living process has it": a process that registered and took it after the statement began is not seen, and the
 * statement would take it, too.
 */
export function mayTake(owner: string, { processId, leaseSeconds }: Owner): RawBuilder<boolean> {
  const column = sql.ref(owner);
  return sql`(${column} is null or ${column} = ${processId}
    or (select not ${isAlive(leaseSeconds)} from gmsi.processes p where p.process_id = ${column}))`;
}

/** Stores which jobs a worker runs from now on. */
export async function storeJobsOf(
  db: Kysely<Database>,
  { processId }: Pick<Owner, 'processId'>,
  jobs: readonly string[] | null,
): Promise<void> {
  await sql`
    update gmsi.processes set jobs = ${jobs && [...jobs]}::text[] where process_id = ${processId}`.execute(
    db,
  );
}

/**
 * Returns the condition that a worker runs the job that `job` names. False before it is registered again after a restore:
 * nothing can name a process that the warehouse does not list. Locks the process, so that it stays listed until the transaction
 * ends.
 */
export function runsJob(job: string, { processId }: Pick<Owner, 'processId'>): RawBuilder<boolean> {
  return sql`exists (select from gmsi.processes p where p.process_id = ${processId} and ${isRunBy(job)} for key share)`;
}

/** Returns the condition that a process `p` runs the job that `job` names, if it is a worker. */
export function isRunBy(job: string): RawBuilder<boolean> {
  return sql`(p.jobs is null or ${sql.ref(job)} = any(p.jobs))`;
}

/** Returns the condition that `owner` names a process that is alive. */
export function hasLivingProcess(owner: string, leaseSeconds: number): RawBuilder<boolean> {
  return sql`exists (select from gmsi.processes p where p.process_id = ${sql.ref(owner)} and ${isAlive(leaseSeconds)})`;
}

/** Returns the processes that are alive, for a person. */
export async function livingProcesses(db: Kysely<Database>, leaseSeconds: number): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select format('gmsi %s (%s)', command, run_by) as name from gmsi.processes p
    where ${isAlive(leaseSeconds)}
    order by started_at, run_by`.execute(db);
  return rows.map(({ name }) => name);
}

/** Returns the condition that a process `p` has not stopped and has sent a heartbeat within the lease. */
export function isAlive(leaseSeconds: number): RawBuilder<boolean> {
  return sql`(p.stopped_at is null and ${beatsWithin(leaseSeconds, 'p.heartbeat_at')})`;
}

/**
 * Returns the condition that a heartbeat lies within the lease. A heartbeat in the future does not count: it was stored when the
 * server's clock was wrong, and its process would own what it had until then.
 */
function beatsWithin(leaseSeconds: number, column: string): RawBuilder<boolean> {
  const lease = sql`make_interval(secs => ${leaseSeconds})`;
  return sql`(${sql.ref(column)} between now() - ${lease} and now() + ${lease})`;
}
