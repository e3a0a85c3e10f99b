import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CompiledQuery, type Kysely, sql, type Transaction } from 'kysely';
import type { Database } from './database.ts';
import { LockHeld } from './errors.ts';

/** How to wait for a lock: where to log, and what ends the wait. */
export interface Waiting {
  readonly log?: { warn(message: string): void };
  readonly stop?: AbortSignal;
}

/** In milliseconds. What gmsi does under a lock takes seconds; the longest migration, minutes. */
const usualPatience = { saidAfter: 3_000, givenUpAfter: 300_000, askedEvery: 100 };

type Ask = (
  text: string,
  values: readonly unknown[],
) => Promise<{ readonly rows: readonly Record<string, unknown>[] }>;

interface Lock {
  /** Its purpose, for a person. */
  readonly what: string;
  readonly key: string;
  /** Tries to take the lock of the key `$1`; never waits. */
  readonly take: string;
  /** Returns the processes that have it, the one that blocks most first. */
  readonly holders: string;
}

/** A lock that anybody who may connect to the database can keep. @param call such as `pg_try_advisory_lock_shared` */
export function advisoryLock(call: string, key: number | bigint, what: string): Lock {
  return {
    what,
    key: String(key),
    take: `select ${call}($1::bigint) as is_taken`,
    holders: `
      select pid from pg_locks
      where locktype = 'advisory' and objsubid = 1 and (classid::bigint << 32 | objid::bigint) = $1::bigint
        and database = (select oid from pg_database where datname = current_database())
      -- A session that waits for an exclusive lock also blocks sessions that would share the lock.
      order by mode = 'ExclusiveLock' desc, granted desc`,
  };
}

/** A row's lock until the end of the transaction; only those who may update the table can keep it. */
export function rowLock(table: string, column: string, key: string, what = key): Lock {
  return {
    what,
    key,
    take: `select exists (select from ${table} where ${column} = $1 for update skip locked) as is_taken`,
    holders: `
      select pid from ${table} as locked join pg_locks l on l.locktype = 'transactionid' and l.transactionid = locked.xmax
      where ${column} = $1 and granted`,
  };
}

/**
 * Takes a lock once it is free. Polls instead of waiting in the server, which lets it name the holder, stop and give up.
 * @throws LockHeld after five minutes; the signal's reason if it is aborted
 */
export async function takeLock(
  ask: Ask,
  lock: Lock,
  { log, stop }: Waiting,
  { saidAfter, givenUpAfter, askedEvery } = usualPatience,
): Promise<void> {
  const since = performance.now();
  for (let isSaid = false; ; ) {
    if (await isTaken(ask, lock)) return;
    stop?.throwIfAborted();
    const waited = performance.now() - since;
    if (waited > saidAfter && !isSaid) {
      isSaid = true;
      log?.warn(`waiting for ${(await holderOf(ask, lock)).name}, which holds the lock for ${lock.what}`);
    }
    if (waited > givenUpAfter) throw heldBy(await holderOf(ask, lock), lock.what);
    await sleep(askedEvery, undefined, { ...(stop && { signal: stop }) });
  }
}

/** Tries to take a lock. */
async function isTaken(ask: Ask, { take, key }: Lock): Promise<boolean> {
  const { rows } = await ask(take, [key]);
  return rows[0]!.is_taken === true;
}

/**
 * Lets no other process migrate until the transaction ends. Locks the row of a migration, which only the owner may do.
 * @param applied returns a migration that the database has. It may have none, nor its table; then all there is to lock is
 * what anybody may.
 */
export async function takeMigration(
  trx: Transaction<Database>,
  applied: () => Promise<string | undefined>,
  waiting: Waiting,
): Promise<void> {
  const [what, ask] = ['migrating', askIn(trx)];
  if ((await applied()) === undefined)
    await takeLock(ask, advisoryLock(tryTurn, lockKey(what), what), waiting);
  const migration = await applied();
  if (migration !== undefined)
    await takeLock(ask, rowLock('gmsi.kysely_migration', 'name', migration, what), waiting);
}

const tryTurn = 'pg_try_advisory_xact_lock';

function lockKey(name: string): bigint {
  return createHash('sha256').update(name).digest().readBigInt64BE();
}

export function askIn(trx: Transaction<Database>): Ask {
  return (text, values) => trx.executeQuery(CompiledQuery.raw(text, [...values]));
}

interface Holder {
  readonly name: string;
  readonly pid: number | undefined;
  /** `null` if there is no warehouse in the database. */
  readonly may_load: boolean | null;
}

async function holderOf(ask: Ask, { holders, key }: Lock): Promise<Holder> {
  const { rows } = await ask(
    `select a.pid, concat_ws(' ', 'process', a.pid, 'of', a.usename, '(' || nullif(a.application_name, '') || ')') as name,
            has_table_privilege(a.usesysid, to_regclass('gmsi.queue'), 'update') as may_load
     from (${holders} limit 1) as l join pg_stat_activity a using (pid)`,
    [key],
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
  /** @throws if the server has ended its session, so that another process may have it */
  confirm(): Promise<unknown>;
}

/** Milliseconds between two signs of life, well within the minute of `idle_in_transaction_session_timeout`. */
const beatEvery = 10_000;

/**
 * Tries to get the sole right to write an export to a place; never waits. An advisory lock, not a row that names a process,
 * because users who may only read export, too, also on a standby. The session of a process that is suspended, or whose host is
 * lost, ends after a minute (`session-settings.ts`).
 * @throws LockHeld if a user who may not load has the lock: nobody may be exporting then
 */
export async function claimPlace(
  warehouse: { readonly plain: Kysely<Database> },
  place: string,
): Promise<Claim> {
  const what = `exporting to ${place}`;
  const lock = advisoryLock(tryTurn, lockKey(what), what);
  // A lock of the transaction, because a session's lock would stay in the connections of a pooler.
  const trx = await warehouse.plain.startTransaction().execute();
  const release = async () => {
    await trx
      .rollback()
      .execute()
      .catch(() => {});
  };
  try {
    const isOurs = await isTaken(askIn(trx), lock);
    const holder = isOurs ? undefined : await holderOf(askIn(trx), lock);
    if (holder?.may_load === false) throw heldBy(holder, what);
    const confirm = () => sql`select`.execute(trx);
    const beating = setInterval(() => confirm().catch(() => {}), beatEvery);
    return {
      isOurs,
      confirm,
      async [Symbol.asyncDispose]() {
        clearInterval(beating);
        await release();
      },
    };
  } catch (error) {
    await release();
    throw error;
  }
}
