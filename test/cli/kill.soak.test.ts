import { setTimeout as passing } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { Random } from '../../src/sandbox/random.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { requestsBooked, windowsOf } from '../support/warehouse-state.ts';
import { accessTo, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, scope } from './jobs.ts';
import { aPlace } from './place.ts';

const concurrency = 4;
const service = { concurrency, page_size: 25 };
/** What a process books at a time (rate/budget.ts). */
const block = 25;

const kills = 6;

// Killed once, in the middle: two-processes.test.ts.
it('loses nothing and doubles nothing, however often and whenever it is killed', async () => {
  await using place = await aPlace({ volume: 0.35 });
  const { folder, sandbox, warehouse } = place;
  const run = { cwd: folder.path, env: { ...accessTo(warehouse, sandbox), GMSI_LEASE_SECONDS: '2' } };
  expect(await gmsiHere(['lookups'], run)).toMatchObject({ code: 0 });
  const lookups = 2;
  const before = sandbox.stats();
  const slowly = { ...service, rate: 60, burst: 10 };
  const job = await folder.write('job.yaml', jobFor(scope, { service: slowly }));
  const random = new Random(20_261_120);
  const totals = async () => {
    const windows = await windowsOf(warehouse.db);
    const halfDrained = windows.filter(
      ({ state, next_token }) => state === 'draining' && next_token !== null,
    );
    const records = windows.reduce((sum, window) => sum + window.records, 0);
    return { records, halfDrained: halfDrained.length };
  };
  let killsInTheMiddle = 0;
  for (let kill = 1; kill <= kills; kill++) {
    const gone = startGmsi(['backfill', job], run);
    // Every other one is let drain, however slow the machine is; the rest may be killed while they start.
    const { records } = await totals();
    if (kill % 2 === 0)
      await vi.waitFor(async () => expect((await totals()).records).toBeGreaterThan(records), 90_000);
    await passing((kill % 2 === 0 ? 300 : 900) * random.share());
    gone.kill('SIGKILL');
    expect(await gone.ended, `kill ${kill}`).toMatchObject({ signal: 'SIGKILL' });
    if ((await totals()).halfDrained > 0) killsInTheMiddle++;
  }
  expect(killsInTheMiddle, 'kills that left a window half drained').toBeGreaterThanOrEqual(kills / 3);

  expect(await gmsiHere(['backfill', job], run)).toMatchObject({ code: 0 });
  expect(await heldBy(warehouse.db, scope)).toEqual(servedBy(sandbox, scope));

  // At a kill, one page of each window in hand may be on its way to the table and the next one on its way here.
  expect(sandbox.stats().pagesServedTwice).toBeLessThanOrEqual(kills * concurrency * 2);
  // Booked are what is left of a block, and what had been taken out of it but had not reached the service.
  const requests = sandbox.stats().requests - before.requests;
  const booked = await requestsBooked(warehouse.db);
  expect(booked).toBeGreaterThanOrEqual(requests + lookups);
  expect(booked).toBeLessThanOrEqual(requests + lookups + kills * (block + concurrency));
});
