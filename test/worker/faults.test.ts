import { expect, vi } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { aLog } from '../support/a-log.ts';
import { aRound, aWorker, loadsEnded, registered, withJobFiles } from '../support/a-worker.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { serving } from '../support/serving.ts';
import { takesNoWrites } from '../support/takes-no-writes.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { sqlIn, windowsOf } from '../support/warehouse-state.ts';

const lastNight = new Date('2026-11-19T20:00:00Z');
const january = { ...quarter, topics: ['Inflation-Food'], to: '2024-01-31' };
const schedule = { backfill: '0 1 * * *' };

const it = serving({ volume: 0.2 });

it('outlives a failover', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'read only', jobFor(january, { schedule, step: 'P3D' }), lastNight);
  await using worker = aWorker({ warehouse, sandbox });
  await vi.waitFor(
    async () => {
      const windows = await windowsOf(db);
      expect(windows.filter(({ state }) => state === 'drained').length).toBeGreaterThanOrEqual(3);
    },
    { timeout: 40_000, interval: 20 },
  );
  await takesNoWrites(warehouse, 2_000);
  expect(await loadsEnded(db)).toMatchObject([{ outcome: 'done' }]);
  await worker.stop();
  expect(await heldBy(db, january)).toEqual(servedBy(sandbox, january));
});

it('loads a job although the reply to its taking is lost', async ({ warehouse, db, sandbox }) => {
  await registered(db, 'lost', jobFor(january, { schedule }), lastNight);
  await using proxy = await aCuttingProxy(warehouse.url);
  await using cut = connect({ kind: 'url', url: new Secret(proxy.url) }, 6);
  // A round takes syncs first, then backfills.
  proxy.loseReplyTo(/update gmsi\.schedules s set process_id/, 2);
  await using _worker = aWorker({ warehouse: { db: cut, url: proxy.url }, sandbox });
  expect(await loadsEnded(db)).toMatchObject([{ job: 'lost', outcome: 'done' }]);
  expect(proxy.lost).toBe(1);
  expect(await heldBy(db, january)).toEqual(servedBy(sandbox, january));
});

it('registers itself and its jobs again once forgotten', async ({ warehouse, db, sandbox }) => {
  let times = 0;
  const register = async (to: Warehouse) => {
    // Not at its start.
    if (times++ > 0) await registered(to, 'forgotten', jobFor(january, { schedule }), lastNight);
  };
  const jobFiles = withJobFiles(new Map(), register);
  const { log, lines } = aLog();
  await using worker = aWorker({ warehouse, sandbox, log, jobFiles });
  await aRound(db);
  // As after a restore of a backup that is older than the worker and its jobs.
  await sqlIn(db)`delete from gmsi.schedules; delete from gmsi.jobs; delete from gmsi.processes`;
  expect(await loadsEnded(db)).toMatchObject([{ job: 'forgotten', outcome: 'done' }]);
  expect(lines.filter(({ msg }) => msg.includes('does not know this process'))).toHaveLength(1);
  await worker.stop();
  expect(await heldBy(db, january)).toEqual(servedBy(sandbox, january));
});

it('ends if its warehouse was moved to another database', async ({ warehouse, db, sandbox }) => {
  await using worker = aWorker({ warehouse, sandbox });
  await aRound(db);
  await sqlIn(db)`
    insert into gmsi.warehouse_moves (move_id, direction, other, source)
    values (gen_random_uuid(), 'to', 'another', 'this one')`;
  await expect(worker.ended).rejects.toThrow(/^This warehouse was moved to another at .* UTC\.$/);
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
