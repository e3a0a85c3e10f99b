import { type Kysely, type Selectable, sql } from 'kysely';
import type { Database, WorkersTable } from '../tables/database.ts';

/** How long workers that are gone stay listed, in days. */
const listedFor = 30;

/** Lists a worker, and forgets those that are long gone. */
export async function registerWorker(
  db: Kysely<Database>,
  worker: Pick<
    Selectable<WorkersTable>,
    'worker_id' | 'run_by' | 'version' | 'key_fingerprint' | 'concurrency'
  >,
): Promise<void> {
  await sql`delete from gmsi.workers where heartbeat_at < now() - make_interval(days => ${listedFor})`.execute(
    db,
  );
  await db.insertInto('workers').values(worker).execute();
}

/** A sign of life: keeps a worker's tasks its own. */
export async function beatWorker(db: Kysely<Database>, workerId: string): Promise<void> {
  await db
    .updateTable('workers')
    .set({ heartbeat_at: sql<Date>`now()` })
    .where('worker_id', '=', workerId)
    .execute();
}

export async function stopWorker(db: Kysely<Database>, workerId: string): Promise<void> {
  await db
    .updateTable('workers')
    .set({ heartbeat_at: sql<Date>`now()`, stopped_at: sql<Date>`now()` })
    .where('worker_id', '=', workerId)
    .execute();
}

/** Workers that have shown a sign of life within the lease, the oldest first. */
export async function livingWorkers(
  db: Kysely<Database>,
  leaseSeconds: number,
): Promise<Selectable<WorkersTable>[]> {
  return db
    .selectFrom('workers')
    .selectAll()
    .where('stopped_at', 'is', null)
    .where('heartbeat_at', '>', sql<Date>`now() - make_interval(secs => ${leaseSeconds})`)
    .orderBy('started_at')
    .execute();
}
