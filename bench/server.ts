import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { Secret } from '../src/secret.ts';
import { connect, type Warehouse } from '../src/warehouse/connect.ts';
import { useEmbeddedServer } from '../src/warehouse/embedded/server.ts';
import { migrate } from '../src/warehouse/migrate.ts';

/** The embedded PostgreSQL in a folder of its own, gone when disposed; or the one at BENCH_DATABASE_URL, which is left without databases of ours. */
export interface BenchServer extends AsyncDisposable {
  readonly version: string;
  /** Makes an empty, migrated warehouse. @returns its address */
  aWarehouse(): Promise<string>;
  /**
   * Has a load fill a warehouse that is gone afterwards. Otherwise autovacuum would analyze what one load has left while the
   * next one is measured.
   */
  inWarehouse<Loaded>(load: (url: string) => Promise<Loaded>): Promise<Loaded>;
  /** CPU time that all of its processes have used so far, in seconds. */
  cpuSeconds(): Promise<number>;
}

export async function startServer(): Promise<BenchServer> {
  const home = await mkdtemp(join(tmpdir(), 'gmsi-bench-'));
  const own = process.env.BENCH_DATABASE_URL;
  const server = own ? undefined : await useEmbeddedServer(home);
  const address = own ?? server!.url.reveal();
  const admin = new pg.Client({ connectionString: address });
  await admin.connect();
  const { rows } = await admin.query('select current_setting($1) as version', ['server_version']);
  let made = 0;
  async function aWarehouse(): Promise<string> {
    const url = new URL(address);
    url.pathname = `/bench_${++made}`;
    await admin.query(`create database bench_${made}`);
    const warehouse = open(url.href, 1);
    await migrate(warehouse);
    await warehouse.destroy();
    return url.href;
  }
  return {
    version: rows[0].version,
    aWarehouse,
    async inWarehouse(load) {
      const url = await aWarehouse();
      try {
        return await load(url);
      } finally {
        await admin.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
      }
    },
    cpuSeconds() {
      if (!server) throw new Error('CPU time is measured of the embedded server only.');
      return cpuSecondsOf(server.location.cluster);
    },
    async [Symbol.asyncDispose]() {
      for (let n = 1; n <= made; n++) await admin.query(`drop database if exists bench_${n} with (force)`);
      await admin.end();
      await server?.[Symbol.asyncDispose]();
      // For root the cluster lies outside of its home.
      for (const folder of [server?.location.cluster, home])
        if (folder) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The warehouse as the program itself opens it. */
export function open(url: string, connections: number): Warehouse {
  return connect({ kind: 'url', url: new Secret(url) }, connections);
}

/** Of the server in a folder, from Linux's /proc: its own time, that of the processes it has ended, and of those it has. */
async function cpuSecondsOf(cluster: string): Promise<number> {
  const [postmaster = ''] = (await readFile(join(cluster, 'data', 'postmaster.pid'), 'utf8')).split('\n');
  let ticks = 0;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    // A process may end meanwhile; then its time is the postmaster's.
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const [, parent, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [user, system, endedUser, endedSystem] = fields.slice(9, 13).map(Number) as [
      number,
      number,
      number,
      number,
    ];
    if (pid === postmaster) ticks += user + system + endedUser + endedSystem;
    else if (parent === postmaster) ticks += user + system;
  }
  return ticks / 100;
}
