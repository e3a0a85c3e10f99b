import { sql, type Transaction } from 'kysely';
import type { Warehouse } from './connect.ts';
import type { Database } from './database.ts';
import { namedWriteError } from './errors.ts';

declare const isBounded: unique symbol;

/** The only kind of transaction in which rows of a feed may be written; see `writeTransaction`. */
export type WriteTransaction = Transaction<Database> & { readonly [isBounded]: true };

/**
 * Writes rows of a feed in one transaction. Their `changed_at` is the beginning of the transaction, but nobody sees them
 * before its COMMIT. So the server rolls it back if the COMMIT comes more than half of `gmsi.as_of_delay()` later, for any
 * reason, even if this process was suspended.
 * The transaction begins only if the server's clock is not far from this machine's.
 * @throws WarehouseClockWrong; WriteFailed, among others if another session holds a lock for more than a quarter of the delay. It can be retried in
 * a new transaction, with a new `changed_at`.
 */
export function writeTransaction<T>(
  warehouse: Warehouse,
  work: (trx: WriteTransaction) => Promise<T>,
  isolation: 'read committed' | 'repeatable read' = 'read committed',
): Promise<T> {
  return warehouse.connection().execute(async (connection) => {
    try {
      // A transaction that is idle or runs for longer than half of the delay could no longer be committed, so the server ends it at
      // once, which releases its locks. Plans are generic, because the statements are the same for every page and read by keys.
      await sql
        .raw(
          `start transaction isolation level ${isolation}; select gmsi.bound_transaction('${new Date().toISOString()}')`,
        )
        .execute(connection);
      const result = await work(connection as WriteTransaction);
      await sql.raw(commitInTime).execute(connection);
      return result;
    } catch (error) {
      // If the connection is gone, the server rolls back by itself.
      await sql`rollback`.execute(connection).catch(() => {});
      throw namedWriteError(error);
    }
  });
}

/** One message, so that this process cannot be late between check and COMMIT. If the check fails, the server skips the rest. */
const commitInTime = 'select gmsi.refuse_late_commit(); commit';
