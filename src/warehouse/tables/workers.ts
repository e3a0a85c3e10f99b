import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database, WorkersTable } from '../database.ts';

/** How long workers that have ended stay listed, in days. */
const listedFor = 30;

/** What a worker stores about itself. */
export type WorkerIdentity = Pick<
  Selectable<WorkersTable>,
  'worker_id' | 'run_by' | 'version' | 'key_fingerprint' | 'concurrency'
>;

/** Removes workers that ended long ago. */
export async function forgetWorkers(db: Kysely<Database>): Promise<void> {
  await sql`delete from gmsi.workers where heartbeat_at < now() - make_interval(days => ${listedFor})`.execute(
    db,
  );
}

/**
 * Stores a heartbeat, which keeps a worker's jobs its own.
 * @returns true if the warehouse did not list the worker: at its first heartbeat, or because the database was restored
 */
export async function beatWorker(db: Kysely<Database>, worker: WorkerIdentity): Promise<boolean> {
  const { isNew } = await db
    .insertInto('gmsi.workers')
    .values(worker)
    .onConflict((known) => known.column('worker_id').doUpdateSet({ heartbeat_at: sql<Date>`now()` }))
    .returning(sql<boolean>`xmax = 0`.as('isNew'))
    .executeTakeFirstOrThrow();
  return isNew;
}

export async function stopWorker(db: Kysely<Database>, workerId: string): Promise<void> {
  await db
    .updateTable('gmsi.workers')
    .set({ heartbeat_at: sql<Date>`now()`, stopped_at: sql<Date>`now()` })
    .where('worker_id', '=', workerId)
    .execute();
}

/** The condition that a worker `w` has sent a heartbeat within the lease. */
export function isAlive(leaseSeconds: number): RawBuilder<boolean> {
  return sql`(w.stopped_at is null and ${beatsWithin(leaseSeconds, 'w.heartbeat_at')})`;
}

/**
 * Returns the condition that a heartbeat is no older than the lease. One in the future does not count either: a server's clock
 * that was wrong stored it, and its process would own what it had until then.
 */
export function beatsWithin(leaseSeconds: number, column: string): RawBuilder<boolean> {
  const lease = sql`make_interval(secs => ${leaseSeconds})`;
  return sql`(${sql.ref(column)} between now() - ${lease} and now() + ${lease})`;
}
