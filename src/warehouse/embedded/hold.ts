import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { advisoryLock, takeLock, type Waiting } from '../turns.ts';

/** How the embedded server is reached, always on 127.0.0.1. */
interface ServerAddress {
  readonly port: number;
  readonly user: string;
  readonly password: string;
}

interface ServerToHold extends ServerAddress {
  /** How long it runs on after its last user. */
  readonly idleSeconds: number;
}

/** The session of a user; its name ends with the process id. */
const userName = 'gmsi (in use by process ';

/**
 * Every process that uses the server holds this advisory lock shared. If one can take it exclusively, nobody else uses the
 * server.
 */
const inUse = 20_160_101;
/** Held by the session that stops an unused server. */
const watching = 20_160_102;

/**
 * A session of the server that outlives its client and stops the server once nobody has used it for some seconds, no matter how
 * the last user ended. It is a session, not a process of ours: killing our processes does not kill it, and it cannot outlive
 * the server. It works because PostgreSQL notices a lost client only when it sends something. The commits below are there so
 * that vacuum does not have to wait for this session.
 */
const watch = (idleSeconds: number) => `
do $$
declare
  idle int := 0;
begin
  if not pg_try_advisory_lock(${watching}) then
    return;
  end if;
  raise notice 'watching';
  -- The process that started this will soon use the server, unless it is killed.
  for tries in 1 .. 50 loop
    exit when exists (select from pg_locks where locktype = 'advisory' and objid = ${inUse} and granted);
    commit;
    perform pg_sleep(0.2);
  end loop;
  loop
    if not pg_try_advisory_lock(${inUse}) then
      idle := 0;
    else
      exit when idle >= ${idleSeconds};
      perform pg_advisory_unlock(${inUse});
      idle := idle + 1;
    end if;
    commit;
    perform pg_sleep(1);
  end loop;
  -- Does what pg_ctl stop -m fast does. Keeps the lock until then, so that a process that needs the server waits, and starts
  -- it again.
  execute format('copy (select where false) to program %L',
    'kill -INT ' || split_part(pg_read_file('postmaster.pid'), e'\\n', 1));
  perform pg_sleep(60);
end $$`;

/** The session stops the server through a shell. */
const canWatch = process.platform !== 'win32';

/** Settings of a database or a role that would end the watching session. */
const undisturbed = [
  'client_connection_check_interval',
  'statement_timeout',
  'lock_timeout',
  'idle_session_timeout',
  'transaction_timeout',
  'idle_in_transaction_session_timeout',
]
  .map((setting) => `-c ${setting}=0`)
  .join(' ');

/** How long a crashed server may take to recover, in seconds. */
export const recoverySeconds = 120;

/**
 * Keeps the server running, even after one of its processes has crashed and ended all connections.
 * @param name the database, which is created if it is missing
 * @throws LockHeld if another session holds the lock too long; the signal's reason if it is aborted meanwhile
 */
export async function holdServer(address: ServerToHold, name: string, waiting: Waiting) {
  let holder = await hold(address, waiting);
  let isReleased = false;
  const holdAgain = async () => {
    const again = isReleased ? undefined : await holdUnlessGone(address);
    if (again === undefined) return;
    holder = again.once('end', holdAgain);
    if (isReleased) await holder.end();
  };
  try {
    await makeDatabase(holder, name);
    await keepOthersOut(holder);
  } catch (error) {
    await holder.end().catch(() => {});
    throw error;
  }
  holder.once('end', holdAgain);
  return {
    /** Releases the server. If it does not run on, the last one stops it, and waits for that. */
    async release(stop: () => Promise<unknown>): Promise<void> {
      isReleased = true;
      if (address.idleSeconds > 0 && canWatch) return holder.end();
      if (await letGo(holder, stop)) return;
      const again = await holdUnlessGone(address);
      if (again) await letGo(again, stop);
    },
  };
}

/** @returns false if the connection is lost, so that it is not known whether the server still runs */
async function letGo(holder: pg.Client, stop: () => Promise<unknown>): Promise<boolean> {
  try {
    // In one statement, so that the watching session cannot take the lock in between, and stop the server while nobody waits.
    const both = 'select pg_advisory_unlock_shared($1), pg_try_advisory_lock($1) as last';
    const { rows } = await holder.query(both, [inUse]);
    if (rows[0].last) await stop();
    return true;
  } catch {
    return false;
  } finally {
    await holder.end().catch(() => {});
  }
}

/** Waits for a server that recovers; `undefined` if none is left. */
async function holdUnlessGone(address: ServerToHold): Promise<pg.Client | undefined> {
  for (let tries = 2 * recoverySeconds; tries > 0; tries--) {
    try {
      return await hold(address);
    } catch (error) {
      if ((error as { code?: string }).code === 'ECONNREFUSED') return undefined;
      await sleep(500);
    }
  }
  return undefined;
}

/** Starts the watching session first, so that there is never a user without it. */
async function hold(address: ServerToHold, waiting: Waiting = {}): Promise<pg.Client> {
  await stopWhenUnused(address);
  const holder = await connect(address, `${userName}${process.pid})`);
  try {
    const ask = (text: string, values: readonly unknown[]) => holder.query(text, [...values]);
    const lock = advisoryLock('pg_try_advisory_lock_shared', inUse, 'using the embedded server');
    await takeLock(ask, lock, waiting);
    return holder;
  } catch (error) {
    await holder.end().catch(() => {});
    throw error;
  }
}

/** Returns the ids of the processes that use the server. */
export async function usersOf(address: ServerAddress): Promise<number[]> {
  const client = await connect(address, 'gmsi (looks for users)');
  try {
    const { rows } = await client.query(
      `select distinct substring(application_name from '\\d+')::int as id from pg_stat_activity
       where starts_with(application_name, $1) order by 1`,
      [userName],
    );
    return rows.map(({ id }) => id);
  } finally {
    await client.end();
  }
}

async function makeDatabase(holder: pg.Client, name: string): Promise<void> {
  const { rowCount } = await holder.query('select from pg_database where datname = $1', [name]);
  if (rowCount !== 0) return;
  await holder.query(`create database ${name}`).catch((error: { code?: string }) => {
    if (error.code !== '42P04' && error.code !== '23505') throw error;
  });
}

/** Closes the database of these locks to PUBLIC: any login, such as a reader's, could hold them and keep everybody waiting. */
async function keepOthersOut(holder: pg.Client): Promise<void> {
  const { rows } = await holder.query(
    `select has_database_privilege('public', current_database(), 'connect') as may`,
  );
  // Two processes at once would be an error.
  if (rows[0].may) await holder.query('revoke connect on database postgres from public').catch(() => {});
}

/** Starts a watching session; returns once it watches, or finds that another one does. */
async function stopWhenUnused(address: ServerToHold): Promise<void> {
  if (!canWatch) return;
  const socket = new Socket();
  const name = 'gmsi (stops the server when nobody uses it)';
  const client = await connect(address, name, { options: undisturbed, stream: () => socket });
  const isWatching = new Promise<boolean>((done) => client.once('notice', () => done(true)));
  const ended = client.query(watch(address.idleSeconds)).then(() => false);
  ended.catch(() => {});
  if (await Promise.race([isWatching, ended])) {
    // Closes the socket without a message to the server, so that the session continues.
    socket.destroy();
  } else await client.end();
}

async function connect(
  { port, user, password }: ServerAddress,
  name: string,
  settings: Pick<pg.ClientConfig, 'options' | 'stream'> = {},
): Promise<pg.Client> {
  const client = new pg.Client({
    host: '127.0.0.1',
    port,
    user,
    password,
    database: 'postgres',
    connectionTimeoutMillis: 10_000,
    application_name: name,
    ...settings,
  });
  // The server may go down at any time; the next query reports it.
  client.on('error', () => {});
  await client.connect();
  return client;
}
