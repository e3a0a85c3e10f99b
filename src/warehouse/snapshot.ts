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
  readonly stop?: AbortSignal;
  /** `reader` for the rights of `gmsi_reader`, if that role exists and the user may take it. */
  readonly rights: 'reader' | 'own';
}

const mayBecomeReader = sql`case when to_regrole('gmsi_reader') is null then false
                when current_setting('server_version_num')::int >= 160000 then pg_has_role('gmsi_reader', 'SET')
                else pg_has_role('gmsi_reader', 'MEMBER') end`;

/** Reads in one transaction that sees one moment and cannot write. */
export async function inOneSnapshot<Result>(
  warehouse: Warehouse,
  { timeout, stop, rights }: SnapshotOptions,
  read: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  stop?.throwIfAborted();
  // Not repeated after an error, because its results are already in use.
  const transaction = warehouse.plain
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only');
  return transaction.execute(async (snapshot) => {
    const { rows } = await sql<{ pid: number }>`
      select pg_backend_pid() as pid, set_config('statement_timeout', ${`${timeout}s`}, true),
             -- It keeps no lock that anybody waits for, and files are written between its statements.
             set_config('idle_in_transaction_session_timeout', '0', true),
             case when ${rights === 'reader'}::boolean and ${mayBecomeReader} then set_config('role', 'gmsi_reader', true) end
    `.execute(snapshot);
    // By another connection, because this one is busy. If that fails, the statement ends by itself or by its time limit.
    let cancelled: Promise<unknown> | undefined;
    const cancel = () => {
      cancelled = sql`select pg_cancel_backend(${rows[0]!.pid}::int)`
        .execute(warehouse.plain)
        .catch(() => {});
    };
    using _listening = stop && addAbortListener(stop, cancel);
    try {
      return await read(snapshot);
    } finally {
      // Or it could come late, and end a statement of whoever uses this connection next.
      await cancelled;
    }
  });
}
