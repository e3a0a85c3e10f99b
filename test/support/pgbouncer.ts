import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { serverAccount } from '../../src/warehouse/embedded/account.ts';
import { freePort } from './other-servers.ts';

export const hasPgBouncer = spawnSync('pgbouncer', ['--version']).status === 0;

export interface PgBouncer extends AsyncDisposable {
  /** The address of a database through it. */
  through(url: string): string;
}

/** PgBouncer in transaction mode before the server of an address, with some connections to it for each user. */
export async function aPgBouncer(serverUrl: string, connections: number): Promise<PgBouncer> {
  const server = new URL(serverUrl);
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-pgbouncer-'));
  const port = await freePort();
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'plain',
    auth_file: join(folder, 'users'),
    pool_mode: 'transaction',
    default_pool_size: connections,
    min_pool_size: connections,
    server_round_robin: 1,
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  const host = `host=${server.hostname} port=${server.port}`;
  await writeFile(join(folder, 'ini'), `[databases]\n* = ${host}\n[pgbouncer]\n${lines.join('\n')}\n`);
  await writeFile(join(folder, 'users'), `"${server.username}" "${decodeURIComponent(server.password)}"\n`);
  // It refuses to run as root.
  const account = serverAccount(join(folder, 'none'));
  await chmod(folder, 0o755);
  if (account)
    for (const name of ['', 'ini', 'users']) await chown(join(folder, name), account.uid, account.gid);
  const child = spawn('pgbouncer', [join(folder, 'ini')], { ...account, cwd: '/', stdio: 'ignore' });
  await answering(child, port, serverUrl);
  return {
    through(url) {
      const address = new URL(url);
      address.host = `127.0.0.1:${port}`;
      return address.href;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null) {
        child.kill('SIGQUIT');
        await new Promise((ended) => child.once('exit', ended));
      }
      await rm(folder, { recursive: true });
    },
  };
}

async function answering(child: ChildProcess, port: number, serverUrl: string): Promise<void> {
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${port}`;
  while (true) {
    const client = new pg.Client({ connectionString: url.href });
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (child.exitCode !== null) throw new Error('pgbouncer does not start', { cause: error });
      await sleep(50);
    }
  }
}
