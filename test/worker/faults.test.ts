import pg from 'pg';
import { expect, vi } from 'vitest';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');
const lastNight = new Date('2026-11-19T20:00:00Z');
const january = { ...quarter, topics: ['Inflation-Food'], to: '2024-01-31' };
const schedule = { backfill: '0 1 * * *' };

const it = serving({ limits: null, clock, volume: 0.2 });

it('outlives connections that break', async ({ warehouse, sandbox }) => {
  const { db, url } = warehouse;
  await registered(db, 'cut off', jobFor(january, { schedule, step: 'P3D' }), lastNight);
  await using worker = aWorker({ warehouse, sandbox });
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  // A write that is cut three times in a row ends its window, so no more than two.
  for (const drained of [3, 10]) {
    await vi.waitFor(
      async () => {
        const windows = await windowsOf(db);
        expect(windows.filter(({ state }) => state === 'drained').length).toBeGreaterThanOrEqual(drained);
      },
      { timeout: 40_000, interval: 20 },
    );
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
  }
  await admin.end();
  const ended = await loadsEnded(db);
  const failed = (await windowsOf(db)).filter(({ state }) => state !== 'drained');
  expect({ ended, failed }).toMatchObject({ ended: [{ outcome: 'done' }], failed: [] });
  await worker.stop();
  expect(await heldBy(db, january)).toEqual(servedBy(sandbox, january));
  expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
});

it('ends once the service refuses its key, and leaves the windows', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'keyless', jobFor(january, { schedule }), lastNight);
  await using worker = aWorker({ warehouse, sandbox, apiKey: 'not-a-key' });
  await expect(worker.ended).rejects.toThrow('refused the API key');
  expect(sandbox.stats().requests).toBeLessThanOrEqual(4);
  await using _other = aWorker({ warehouse, sandbox });
  expect((await loadsEnded(db)).at(-1)).toMatchObject({ outcome: 'done' });
  expect(await heldBy(db, january)).toEqual(servedBy(sandbox, january));
});
