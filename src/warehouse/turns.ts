import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompiledQuery, type Transaction } from 'kysely';
import type { Warehouse } from './connect.ts';
import type { Database } from './database.ts';
import { LockHeld } from './errors.ts';

/** How to wait for a lock: where to log, and what ends the wait. */
export interface Waiting {
  readonly log?: { warn(message: string): void };
  readonly stop?: AbortSignal;
}

/** In milliseconds. What gmsi does under a lock takes seconds; the longest migration, minutes. */
export const usualPatience = { saidAfter: 3_000, givenUpAfter: 300_000, askedEvery: 100 };

type Ask = (
  text: string,
  values: readonly unknown[],
) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>;

/**
 * Takes an advisory lock once it is free. Any user of the database can keep such a lock forever. So this polls instead of
 * waiting in the server, which lets it say so, and stop.
 * @param call the function that tries to take it, such as `pg_try_advisory_lock_shared`
 * @param what describes the purpose of the lock for a person
 * @throws LockHeld after five minutes; the signal's reason if it is aborted
 */
export async function takeLock(
  ask: Ask,
  { call, key, what }: { readonly call: string; readonly key: number | bigint; readonly what: string },
  { log, stop }: Waiting,
  { saidAfter, givenUpAfter, askedEvery } = usualPatience,
): Promise<void> {
  const since = performance.now();
  for (let isSaid = false; ; ) {
    const { rows } = await ask(`select ${call}($1::bigint) as is_taken`, [String(key)]);
    if (rows[0]!.is_taken) return;
    stop?.throwIfAborted();
    const waited = performance.now() - since;
    if (waited > saidAfter && !isSaid) {
      isSaid = true;
      log?.warn(`waiting for another session, which holds the lock for ${what}`);
    }
    if (waited > givenUpAfter)
      throw new LockHeld(`Another session holds the lock for ${what}.`, {
        hint: 'End that session (docs/operating.md, "Locks and slow disks", finds it), and run the command again.',
      });
    await sleep(askedEvery, undefined, { ...(stop && { signal: stop }) });
  }
}

/** Runs the rest of a transaction while no other transaction uses this name. */
export async function takeTurn(trx: Transaction<Database>, name: string, waiting: Waiting): Promise<void> {
  await takeLock(askIn(trx), { call: tryTurn, key: lockKey(name), what: name }, waiting);
}

const tryTurn = 'pg_try_advisory_xact_lock';

function lockKey(name: string): bigint {
  return createHash('sha256').update(name).digest().readBigInt64BE();
}

function askIn(trx: Transaction<Database>): Ask {
  return (text, values) => trx.executeQuery(CompiledQuery.raw(text, [...values]));
}

/** The right to do something alone, held until it is disposed or its connection ends. */
export interface Claim extends AsyncDisposable {
  /** False if another process has it. */
  readonly isOurs: boolean;
}

/** Tries to get the sole right to sync a job, or to write an export to a place; never waits. */
export async function claim(
  warehouse: Warehouse,
  what: 'syncing' | 'exporting to',
  name: string,
): Promise<Claim> {
  let release = () => {};
  const released = new Promise<void>((done) => {
    release = done;
  });
  let held: Promise<void> = Promise.resolve();
  const isOurs = await new Promise<boolean>((answer, refuse) => {
    // A lock of the transaction, because a session's lock would stay in the connections of a pooler.
    held = warehouse.plain
      .transaction()
      .execute(async (connection) => {
        const key = String(lockKey(`${what} ${name}`));
        const { rows } = await askIn(connection)(`select ${tryTurn}($1::bigint) as is_taken`, [key]);
        answer(rows[0]!.is_taken === true);
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
