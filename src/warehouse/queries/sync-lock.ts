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
    // The transaction does nothing else: a lock of the session would stay behind in the connections of a pooler.
    held = warehouse
      .transaction()
      .execute(async (connection) => {
        const { rows } = await sql<{ ours: boolean }>`
          select pg_try_advisory_xact_lock(hashtext('gmsi.sync'), hashtext(${name})) as ours`.execute(
          connection,
        );
        answer(rows[0]!.ours);
        await released;
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
