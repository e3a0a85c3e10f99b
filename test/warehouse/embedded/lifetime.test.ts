import { existsSync, readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { aFolder, type Folder, gmsi, type Running, startGmsi } from '../../cli/gmsi.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { clusterElsewhere, removeHome } from './clone.ts';
import { allProcesses, hasProc, processesIn, programsThatSee } from './processes.ts';

let folder: Folder;
let home: string;
let setting: { cwd: string; env: Record<string, string> };

beforeEach(async () => {
  folder = await aFolder();
  home = join(folder.path, 'home');
  setting = { cwd: folder.path, env: { GMSI_HOME: home } };
});

afterEach(async () => {
  await removeHome(home);
  await folder[Symbol.asyncDispose]();
});

describe.skipIf(!hasProc)('the server does not outlive its last user (skipped without /proc)', () => {
  it('who was killed with the whole process group', async () => {
    const user = await stayingUser({ detached: true });
    expect(processesIn(await cluster())).not.toEqual([]);

    process.kill(-user.pid, 'SIGKILL');

    await user.ended;
    await nothingRuns();
  });

  it('while one of two users is killed, the other keeps it running', async () => {
    const killed = await stayingUser();
    const other = await stayingUser();
    const server = await postmaster();
    killed.kill('SIGKILL');
    await killed.ended;
    await vi.waitFor(async () => expect(await sessions(other)).toBe(1), 30_000);
    // The one that looks for users looks once a second: it has looked since.
    await looksTwice(other);
    expect(await postmaster()).toBe(server);
    expect(server).toBeDefined();

    other.kill('SIGKILL');
    await other.ended;
    await nothingRuns();
  });

  it('who was killed while the data were being made', async () => {
    const first = startGmsi(['migrate'], setting);
    await vi.waitFor(
      async () => expect(await readdir(await cluster())).toContainEqual(expect.stringMatching(/^making-/)),
      { timeout: 60_000, interval: 5 },
    );
    first.kill('SIGKILL');
    await first.ended;
    await nothingRuns();
    // The next one begins afresh, and leaves nothing of it behind.
    expect(await gmsi(['migrate'], setting)).toMatchObject({ code: 0 });
    expect(await readdir(await cluster())).toEqual(['data']);
  });

  it('who was killed while the server was starting', async () => {
    await anEmbeddedHome(home);
    const user = startGmsi(['psql', '--address'], setting);
    await vi.waitFor(async () => expect(await postmaster()).toBeDefined(), { timeout: 60_000, interval: 1 });
    user.kill('SIGKILL');
    expect(await user.ended).toMatchObject({ stdout: '' });
    await nothingRuns();
  });

  it('who was killed while stopping it', async () => {
    const user = await stayingUser();
    user.kill('SIGTERM');
    const log = join(await cluster(), 'data', 'server.log');
    await vi.waitFor(() => expect(readFileSync(log, 'utf8')).toContain('received fast shutdown request'), {
      timeout: 60_000,
      interval: 1,
    });
    user.kill('SIGKILL');
    await user.ended;
    await nothingRuns();
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'who ends by %s after a process of the server has crashed and all connections were lost',
    async (signal) => {
      const user = await stayingUser();
      const client = await connected(user);
      const { rows } = await client.query('select pg_backend_pid() as pid');
      process.kill(rows[0].pid, 'SIGKILL');
      await vi.waitFor(async () => expect(await sessions(user), user.stderr).toBe(1), 60_000);
      // The one that looks for users has seen this one; for one that has yet to come it would wait for ten seconds.
      await looksTwice(user);

      user.kill(signal);
      await user.ended;
      await nothingRuns();
    },
  );
});

it.skipIf(!hasProc)('no program that is started sees the key or an address', async () => {
  const secrets = ['k3y-0f-some0ne', 'hooks.example.com', 'passw0rd'];
  const env = {
    GMSI_API_KEY: secrets[0]!,
    GMSI_BASE_URL: 'http://127.0.0.1:1',
    GMSI_ALERT_WEBHOOK_URL: `https://${secrets[1]}/x`,
    GMSI_REDIS_URL: `redis://:${secrets[2]}@127.0.0.1:1`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secrets[2]}`,
    OTEL_SDK_DISABLED: 'true',
  };
  const others = allProcesses();
  const user = startGmsi(['psql', '--address'], { ...setting, env: { ...setting.env, ...env } });
  const seeing = new Set<string>();
  while (!/^postgres:.*\n/.test(user.stdout)) {
    for (const program of programsThatSee(secrets, others)) seeing.add(program);
    await new Promise((looked) => setImmediate(looked));
    if (seeing.size > 0) break;
  }
  expect([...seeing, ...programsThatSee(secrets, others)]).toEqual([]);
  // What is looked at is there: the server runs, and shows its environment.
  expect(programsThatSee(['LC_ALL=C'], others).join()).toMatch(/postgres/);
  user.kill('SIGINT');
  expect(await user.ended).toMatchObject({ code: 0 });
});

/** A process that keeps the server running until it is told to stop, and does so already. */
async function stayingUser(more: { detached?: boolean } = {}): Promise<Running> {
  if (!existsSync(home)) await anEmbeddedHome(home);
  const user = startGmsi(['psql', '--address'], { ...setting, ...more });
  await vi.waitFor(() => expect(user.stdout, user.stderr).toMatch(/^postgres:.*\n/), 60_000);
  return user;
}

function nothingRuns(): Promise<void> {
  return vi.waitFor(async () => expect(processesIn(await cluster())).toEqual([]), {
    timeout: 60_000,
    interval: 200,
  });
}

async function connected(user: Running): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: user.stdout.split('\n')[0]! });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** How many users hold the server, as it sees it; 0 while it is not to be reached. */
async function sessions(user: Running): Promise<number> {
  try {
    const client = await connected(user);
    const { rows } = await client.query(
      "select count(*)::int as many from pg_locks where locktype = 'advisory' and objid = 20160101 and granted",
    );
    await client.end();
    return rows[0].many;
  } catch {
    return 0;
  }
}

async function looksTwice(user: Running): Promise<void> {
  const client = await connected(user);
  const looks = async () => {
    const { rows } = await client.query(
      "select query_start, xact_start from pg_stat_activity where application_name like 'gmsi (stops%'",
    );
    return String(rows[0]?.xact_start?.getTime());
  };
  const seen = new Set<string>();
  await vi.waitFor(async () => expect(seen.add(await looks()).size).toBeGreaterThan(2), {
    timeout: 30_000,
    interval: 100,
  });
  await client.end();
}

/** The first line is its process id. */
async function postmaster(): Promise<string | undefined> {
  const pid = join(await cluster(), 'data', 'postmaster.pid');
  return existsSync(pid) ? readFileSync(pid, 'utf8').split('\n')[0] : undefined;
}

async function cluster(): Promise<string> {
  return (await clusterElsewhere(home)) ?? join(home, 'postgres');
}
