import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../../errors.ts';
import { Secret } from '../../secret.ts';
import { LockHeld } from '../errors.ts';
import type { Waiting } from '../turns.ts';
import { type Binaries, control, findBinaries, locatePackage, run } from './binaries.ts';
import { holdServer, recoverySeconds } from './hold.ts';
import { type Location, locateCluster, sharedRoot } from './location.ts';

const user = 'gmsi';
const database = 'gmsi';
/** Beside the data, so that one rename puts both in place. */
const passwordName = 'gmsi-password';
const logName = 'server.log';
const cannotConnectNow = '57P03';

/**
 * Starts the embedded PostgreSQL of a GMSI_HOME, or joins the one that another process has started. It stops once nobody
 * uses it, even if its last user was killed. It listens on a free port of the loopback interface only, and asks for a
 * password that only the owner of GMSI_HOME can read.
 * @param idleSeconds how long it runs on after its last user, so that the next command need not start it; with 0, the last
 * user stops it and waits for that
 */
export async function useEmbeddedServer(home: string, waiting: Waiting = {}, idleSeconds = 0) {
  // Looks for the server first: a missing one matters more than a folder that cannot be written.
  locatePackage();
  const location = locateCluster(home);
  const { account, cluster } = location;
  const binaries = findBinaries(account, () => sharedRoot(home, account));
  const data = join(cluster, 'data');
  await initialise(binaries, location, data);
  const giveUpAt = performance.now() + recoverySeconds * 1000;
  for (let attempt = 1; ; attempt++) {
    await startUnlessRunning(binaries, { account, data });
    try {
      const address = runningAt(data);
      if (!address) throw new Error('the server is not running');
      const hold = await holdServer({ ...address, idleSeconds }, database, waiting);
      const { password, port } = address;
      const url = new Secret(`postgres://${user}:${password}@127.0.0.1:${port}/${database}`);
      const stop = () => control(binaries, ['stop', '-m', 'fast', '-w'], { account, data });
      return { url, location, [Symbol.asyncDispose]: () => hold.release(stop) };
    } catch (cause) {
      if (cause instanceof LockHeld || waiting.stop?.aborted) throw cause;
      // The last user may be stopping it at this moment; then it is started again. After a crash it answers that it is
      // starting up while it recovers.
      const isComing = (cause as { code?: string }).code === cannotConnectNow;
      if (isComing ? performance.now() > giveUpAt : attempt >= 5)
        throw new ConfigError(`The embedded PostgreSQL in ${cluster} does not start.`, {
          cause,
          hint: `Its log says why: ${join(data, logName)}`,
        });
      await sleep(200 * Math.min(attempt, 5), undefined, waiting.stop && { signal: waiting.stop });
    }
  }
}

async function initialise(binaries: Binaries, { cluster, account }: Location, data: string): Promise<void> {
  if (existsSync(join(data, 'PG_VERSION'))) return refuseOtherMajor(binaries, data);
  // Created elsewhere and renamed, so that neither a killed process nor two at once leave half a cluster. Named at random,
  // because a restarted container has the same process ids.
  const half = join(cluster, `making-${randomBytes(6).toString('hex')}`);
  const password = randomBytes(18).toString('base64url');
  const passwordFile = join(half, 'password');
  mkdirSync(half, { recursive: true });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account) for (const path of [half, passwordFile]) chownSync(path, account.uid, account.gid);
  try {
    await run(
      binaries.initdb,
      [
        '-D',
        join(half, 'data'),
        '-U',
        user,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
        '--locale=C',
      ],
      { account },
    );
    renameSync(passwordFile, join(half, 'data', passwordName));
    renameSync(join(half, 'data'), data);
    removeAbandoned(cluster);
  } catch (cause) {
    if (existsSync(join(data, 'PG_VERSION'))) return;
    throw new ConfigError(
      `The embedded PostgreSQL cannot be set up in ${cluster}: ${(cause as Error).message}`,
      { cause, hint: 'Set GMSI_HOME to another folder, or DATABASE_URL to a PostgreSQL server of your own.' },
    );
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

/** Removes files of processes that were killed half-way or came second. */
function removeAbandoned(cluster: string): void {
  for (const name of readdirSync(cluster)) {
    if (name.startsWith('making-')) rmSync(join(cluster, name), { recursive: true, force: true });
  }
}

function refuseOtherMajor({ version }: Binaries, data: string): void {
  const made = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim();
  if (made === version.split('.')[0]) return;
  throw new ConfigError(`${data} was made by PostgreSQL ${made}; this program comes with ${version}.`, {
    hint: `Go back to the version that made it, and move the data to another database: gmsi migrate --to <address>.`,
  });
}

async function startUnlessRunning(
  binaries: Binaries,
  on: { account: Location['account']; data: string },
): Promise<void> {
  if (await control(binaries, ['status'], on)) return;
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `port=${await freePort(lastPort(on.data))}`,
    // One person's warehouse: no replicas, fewer and longer checkpoints for bulk loads; durability stays on.
    'max_connections=60',
    'shared_buffers=256MB',
    'wal_level=minimal',
    'max_wal_senders=0',
    'max_wal_size=4GB',
    'checkpoint_timeout=15min',
    'log_checkpoints=off',
    'jit=off',
    'timezone=UTC',
    'log_timezone=UTC',
  ];
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  const args = ['start', '-w', '-t', String(recoverySeconds), '-l', logName, '-o', options];
  await control(binaries, args, on);
}

/** Returns how a server is reached, if it is running: its port is in the fourth line of postmaster.pid. */
export function runningAt(data: string) {
  try {
    const port = Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[3]);
    const password = readFileSync(join(data, passwordName), 'utf8').trim();
    return port ? { port, user, password } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the port of the last start, because programs that read the warehouse have it in their settings. */
function lastPort(data: string): number {
  try {
    return Number(/port=(\d+)/.exec(readFileSync(join(data, 'postmaster.opts'), 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

/** Returns a free port; the preferred one, if it is free. */
async function freePort(preferred: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen(preferred, '127.0.0.1');
    await once(probe, 'listening');
  } catch (error) {
    if (preferred === 0) throw error;
    return freePort(0);
  }
  const { port } = probe.address() as { port: number };
  await new Promise((closed) => probe.close(closed));
  return port;
}
