import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompiledQuery, sql, type Transaction } from 'kysely';
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
 * waiting in the server, which lets it name the holder and give up.
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
      log?.warn(`waiting for ${(await holderOf(ask, key)).name}, which holds the lock for ${what}`);
    }
    if (waited > givenUpAfter) throw heldBy(await holderOf(ask, key), what);
    await sleep(askedEvery, undefined, { ...(stop && { signal: stop }) });
  }
}

/** Runs the rest of a transaction while no other transaction uses this name. */
export async function takeTurn(trx: Transaction<Database>, name: string, waiting: Waiting): Promise<void> {
  await takeLock(askIn(trx), { call: tryTurn, key: lockKey(name), what: name }, waiting);
}

/**
 * Does the same without waiting.
 * @returns false if another process of gmsi is using this name
 * @throws LockHeld if the holder may not load, because then nobody is doing this work
 */
async function takeTurnIfFree(trx: Transaction<Database>, name: string): Promise<boolean> {
  const [ask, key] = [askIn(trx), lockKey(name)];
  const { rows } = await ask(`select ${tryTurn}($1::bigint) as is_taken`, [String(key)]);
  if (rows[0]!.is_taken) return true;
  const holder = await holderOf(ask, key);
  if (holder.may_load === false) throw heldBy(holder, name);
  return false;
}

const tryTurn = 'pg_try_advisory_xact_lock';

function lockKey(name: string): bigint {
  return createHash('sha256').update(name).digest().readBigInt64BE();
}

function askIn(trx: Transaction<Database>): Ask {
  return (text, values) => trx.executeQuery(CompiledQuery.raw(text, [...values]));
}

interface Holder {
  readonly name: string;
  readonly pid: number | undefined;
  /** `null` if there is no warehouse in the database. */
  readonly may_load: boolean | null;
}

async function holderOf(ask: Ask, key: number | bigint): Promise<Holder> {
  const { rows } = await ask(
    `select a.pid, concat_ws(' ', 'process', a.pid, 'of', a.usename, '(' || nullif(a.application_name, '') || ')') as name,
            has_table_privilege(a.usesysid, to_regclass('gmsi.windows'), 'update') as may_load
     from pg_locks l join pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.objsubid = 1 and (l.classid::bigint << 32 | l.objid::bigint) = $1::bigint
       and l.database = (select oid from pg_database where datname = current_database())
     -- A session that waits for an exclusive lock also blocks sessions that would share the lock.
     order by l.mode = 'ExclusiveLock' desc, l.granted desc limit 1`,
    [String(key)],
  );
  return (rows[0] as Holder | undefined) ?? { name: 'another session', pid: undefined, may_load: null };
}

function heldBy({ name, pid }: Holder, what: string): LockHeld {
  const end = pid === undefined ? 'pg_stat_activity shows it' : `select pg_terminate_backend(${pid})`;
  return new LockHeld(`The lock for ${what} is held by ${name}.`, {
    hint: `End that session (${end}), and run the command again.`,
  });
}

/** The right to do something alone, held until it is disposed or its connection ends. */
export interface Claim extends AsyncDisposable {
  /** False if another process has it. */
  readonly isOurs: boolean;
}

/**
 * Tries to get the sole right to write an export to a place; never waits. A lock, because users who may only read export, too;
 * if the host is lost, the server ends the session after a minute (`session-settings.ts`).
 * @throws LockHeld if a user who may not load has the lock
 */
export async function claimPlace(warehouse: Warehouse, place: string): Promise<Claim> {
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
        await sql`set local idle_in_transaction_session_timeout = 0`.execute(connection);
        answer(await takeTurnIfFree(connection, `exporting to ${place}`));
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
