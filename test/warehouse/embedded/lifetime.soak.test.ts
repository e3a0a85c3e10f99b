import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it, vi } from 'vitest';
import { useEmbeddedServer } from '../../../src/warehouse/embedded/server.ts';
import { gmsi, startGmsi } from '../../cli/gmsi.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { allProcesses, hasProc, processesIn, programsThatSee } from './processes.ts';
import {
  cluster,
  connected,
  home,
  looksTwice,
  nothingRuns,
  postmaster,
  sessions,
  setting,
  stayingUser,
  withHome,
} from './staying.ts';

withHome();

describe.skipIf(!hasProc)('the server does not outlive its last user (skipped without /proc)', () => {
  it('while one of two users is killed, the other keeps it running, until its process group is killed', async () => {
    const killed = await stayingUser();
    const other = await stayingUser({ detached: true });
    const server = await postmaster();
    killed.kill('SIGKILL');
    await killed.ended;
    await vi.waitFor(async () => expect(await sessions(other)).toBe(1), 30_000);
    // The one that looks for users looks once a second: it has looked since.
    await looksTwice(other);
    expect(await postmaster()).toBe(server);
    expect(server).toBeDefined();

    expect(processesIn(await cluster())).not.toEqual([]);
    process.kill(-other.pid, 'SIGKILL');
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
    'who ends by %s after the server lost all connections',
    async (signal) => {
      const user = await stayingUser();
      const client = await connected(user);
      const { rows } = await client.query('select pg_backend_pid() as pid');
      const other = await connected(user);
      const isLost = new Promise((done) => other.once('end', done));
      process.kill(rows[0].pid, 'SIGKILL');
      // Until then, the server answers as before.
      await isLost;
      await vi.waitFor(async () => expect(await sessions(user), user.stderr).toBe(1), 60_000);
      // The one that looks for users has seen this one; for one that has yet to come it would wait for ten seconds.
      await looksTwice(user);

      user.kill(signal);
      await user.ended;
      await nothingRuns();
    },
  );
});

it('comes back after the server itself was killed, with all that was committed', async () => {
  const user = await stayingUser();
  const client = await connected(user);
  await client.query('create table gmsi.kept as select 42 as answer');
  process.kill(Number(await postmaster()), 'SIGKILL');

  const next = await gmsi(['psql', '-c', 'select answer from gmsi.kept'], setting);
  expect(next, next.stderr).toMatchObject({ code: 0, stdout: expect.stringContaining('42') });
  user.kill('SIGINT');
  expect(await user.ended).toMatchObject({ code: 0 });
  expect(await postmaster()).toBeUndefined();
});

it.skipIf(!hasProc)(
  'the server runs on for some seconds, so that the next command need not start it, and then stops',
  async () => {
    await anEmbeddedHome(home);
    const query = ['psql', '-c', 'select 1'];
    const idle = { ...setting, env: { ...setting.env, GMSI_EMBEDDED_IDLE_SECONDS: '5' } };
    expect(await gmsi(query, idle)).toMatchObject({ code: 0 });
    const server = await postmaster();
    expect(server).toBeDefined();
    expect(await gmsi(query, idle)).toMatchObject({ code: 0 });
    expect(await postmaster()).toBe(server);
    await nothingRuns();
  },
);

it.skipIf(!hasProc)('no program that is started sees the key or an address', async () => {
  const secrets = ['k3y-0f-some0ne', 'hooks.example.com', 'passw0rd'];
  const env = {
    GMSI_API_KEY: secrets[0]!,
    GMSI_BASE_URL: 'http://127.0.0.1:1',
    GMSI_ALERT_WEBHOOK_URL: `https://${secrets[1]}/x`,
    GMSI_REDIS_URL: `redis://:${secrets[2]}@127.0.0.1:1`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secrets[2]}`,
  };
  await anEmbeddedHome(home);
  const others = allProcesses();
  const user = startGmsi(['psql', '--address'], { ...setting, env: { ...setting.env, ...env } });
  const seeing = new Set<string>();
  while (!/^postgresql:.*\n/.test(user.stdout)) {
    for (const program of programsThatSee(secrets, others)) seeing.add(program);
    // A program takes longer than this.
    await sleep(5);
    if (seeing.size > 0) break;
  }
  expect([...seeing, ...programsThatSee(secrets, others)]).toEqual([]);
  // What is looked at is there: the server runs, and shows its environment.
  expect(programsThatSee(['LC_ALL=C'], others).join()).toMatch(/postgres/);
  user.kill('SIGINT');
  expect(await user.ended).toMatchObject({ code: 0 });
});

/** A connection to the database in which those who use the server hold its lock. */
async function inPostgres(address: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: address.replace(/\/gmsi$/, '/postgres'),
    application_name: 'psql',
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

it('waits for a session that waits for its lock or holds it, says so, and ends at the stop signal', async () => {
  await anEmbeddedHome(home);
  const running = await useEmbeddedServer(home);
  const other = await inPostgres(running.url.reveal());
  const locked = other.query('select pg_advisory_lock(20160101)');
  locked.catch(() => {});
  try {
    for (const isHeld of [false, true]) {
      if (isHeld) {
        // The server's own user alone held it; without that one, the other gets it at once.
        const admin = await inPostgres(running.url.reveal());
        await admin.query(
          'select pg_terminate_backend(pid) from pg_locks where objid = 20160101 and granted',
        );
        await admin.end();
        await locked;
      }
      const waiting = startGmsi(['migrate'], setting);
      await vi.waitFor(
        () => expect(waiting.stderr).toMatch(/waiting for process \d+ of gmsi \(psql\)/),
        60_000,
      );
      waiting.kill('SIGTERM');
      expect(await waiting.ended).toMatchObject({ code: 130, stdout: '' });
    }
  } finally {
    await other.end();
    await running[Symbol.asyncDispose]();
  }
  expect(await gmsi(['migrate'], setting)).toMatchObject({ code: 0 });
});
