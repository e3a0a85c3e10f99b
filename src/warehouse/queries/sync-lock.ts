import { sql } from 'kysely';
import type { Warehouse } from '../connect.ts';

/** The right to sync a job, held until it is disposed or its connection ends. */
export interface SyncClaim extends AsyncDisposable {
  /** False where another process is syncing it. */
  readonly isOurs: boolean;
}

/** Tries to be the only one to sync what `name` stands for; never waits. */
export async function claimSync(warehouse: Warehouse, name: string): Promise<SyncClaim> {
  let release = () => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  let held: Promise<void> = Promise.resolve();
  const isOurs = await new Promise<boolean>((answer, refuse) => {
    // A session's lock lives as long as its connection, which is therefore kept out of the pool meanwhile.
    held = warehouse
      .connection()
      .execute(async (connection) => {
        const key = sql`hashtext('gmsi.sync'), hashtext(${name})`;
        const { rows } = await sql<{ ours: boolean }>`select pg_try_advisory_lock(${key}) as ours`.execute(
          connection,
        );
        answer(rows[0]!.ours);
        await released;
        if (rows[0]!.ours) await sql`select pg_advisory_unlock(${key})`.execute(connection);
      })
      .catch(refuse);
  });
  return {
    isOurs,
    async [Symbol.asyncDispose]() {
      release();
      await held;
    },
  };
}
