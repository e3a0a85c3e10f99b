import pg from 'pg';
import { expect, it, vi } from 'vitest';
import { useEmbeddedServer } from '../../../src/warehouse/embedded/server.ts';
import { gmsi, startGmsi } from '../../cli/gmsi.ts';
import { anEmbeddedHome } from '../../support/embedded-home.ts';
import { home, setting, withHome } from './staying.ts';

withHome();

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
