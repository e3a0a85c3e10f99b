import { addAbortListener } from 'node:events';
import { sql, type Transaction } from 'kysely';
import type { Warehouse } from './connect.ts';
import type { Database } from './database.ts';

/** A transaction that sees one moment and cannot write. */
export type Snapshot = Transaction<Database>;

export interface SnapshotOptions {
  /** Seconds after which a statement is stopped; 0 for never. */
  readonly timeout: number;
  /** Ends the running statement, which then fails. */
  readonly stop: AbortSignal;
}

/** Reads in one transaction that sees one moment and cannot write; times are in UTC. */
export async function inOneSnapshot<Result>(
  warehouse: Warehouse,
  options: SnapshotOptions,
  read: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  // Not repeated after an error, because its results are already in use.
  const transaction = warehouse.plain
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only');
  return transaction.execute((snapshot) => stoppable(warehouse, snapshot, options, read));
}

/** Ends statements by a time limit or a signal; times are in UTC. */
async function stoppable<Result>(
  warehouse: Warehouse,
  trx: Snapshot,
  { timeout, stop }: SnapshotOptions,
  read: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  const { rows } = await sql<{ pid: number }>`
    select pg_backend_pid() as pid, set_config('statement_timeout', ${`${timeout}s`}, true), set_config('TimeZone', 'UTC', true)
  `.execute(trx);
  // By another connection, because this one is busy. If that fails, the statement ends by itself or by its time limit.
  const cancel = () =>
    void sql`select pg_cancel_backend(${rows[0]!.pid}::int)`.execute(warehouse).catch(() => {});
  using _listening = addAbortListener(stop, cancel);
  return await read(trx);
}
