import pg from 'pg';
import { expect, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aWorker, loadsEnded, registered } from '../support/a-worker.ts';
import { refusing, servedFrom, sorted } from '../support/refusing.ts';
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

it('loads series from their beginnings on, and after refusals that pass', async ({ warehouse, db }) => {
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
  const several = {
    ...{ from: '2026-03-01', to: '2026-07-27' },
    ...{ countries: ['US', 'DE'], topics: ['Inflation-Food'] },
  };
  const begins = (series: string) => (series === 'US Inflation-Food' ? '2026-05-30' : '2020-01-01');
  let flukes = 2;
  const { refused } = refusing(
    sandbox,
    (series, from) =>
      from < begins(series) ||
      (series === 'DE Inflation-Food' && from > '2026-02-01' && from < '2026-08-01' && flukes-- > 0),
  );
  let now = clock();
  await registered(
    db,
    'begun',
    jobFor(several, { schedule, step: 'P30D', order: 'oldest-first' }),
    lastNight,
  );
  await using _worker = aWorker({ warehouse, sandbox, clock: () => now });
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'incomplete' }]);
  // One refusal of each series, and what was under way before the turn.
  expect(refused.length).toBeLessThanOrEqual(2 + 8);

  now = new Date('2026-11-21T12:00:00Z');
  expect(await loadsEnded(db, 2)).toMatchObject([{}, { outcome: 'incomplete' }]);
  expect(sorted(await heldBy(db, several))).toEqual(sorted(servedFrom(sandbox, several, begins)));
  const rest = (await windowsOf(db)).filter(({ state }) => state !== 'drained');
  expect(
    rest.every(
      ({ country, state, last_day }) => country === 'US' && state === 'refused' && last_day < '2026-05-30',
    ),
  ).toBe(true);
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
