import { setTimeout as passing } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { startSandbox } from '#sandbox';
import { Random } from '../../packages/sandbox/src/random.ts';
import { connect } from '../../src/warehouse/connect.ts';
import { retried } from '../../src/warehouse/retries.ts';
import { expectNothingLost } from '../support/lost-rows.ts';
import { aRestartableServer } from '../support/restartable-server.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { aFolder, gmsi, type Running, startGmsi } from './gmsi.ts';
import { jobFor, scope } from './jobs.ts';

const workers = 4;
/** Every fault but those that change what a record says, or that the key is good for. */
const faults = {
  latency: 0.02,
  'rate-limited': 0.005,
  'server-error': 0.02,
  html: 0.02,
  reset: 0.02,
  truncate: 0.02,
  malformed: 0.02,
  'repeat-token': 0.01,
  'cycle-token': 0.01,
  'missing-token': 0.01,
  'empty-page': 0.01,
  'duplicate-record': 0.02,
  refuse: 0.005,
};

it('the warehouse is the truth after every fault, with workers killed every few seconds and the database restarted', async () => {
  await using folder = await aFolder();
  await using server = await aRestartableServer();
  await using sandbox = await startSandbox({ volume: 0.25, faults: { random: faults } });
  const url = server.url.reveal();
  const env = { DATABASE_URL: url, GMSI_BASE_URL: sandbox.url, GMSI_API_KEY: 'sandbox-key' };
  // Any port: four workers on one machine.
  const setting = { cwd: folder.path, env: { ...env, GMSI_LEASE_SECONDS: '3', GMSI_METRICS_PORT: '0' } };
  const service = { rate: 25, burst: 50, concurrency: 4, page_size: 25, max_attempts: 4 };
  const job = await folder.write('chaos.yaml', jobFor(scope, { service, step: 'P30D' }));
  const start = () => startGmsi(['work', '--concurrency', '2'], setting);
  const fleet: Running[] = [];
  const db = connect({ kind: 'url', url: server.url }, 2);
  try {
    expect(await gmsi(['backfill', job, '--enqueue'], setting)).toMatchObject({ code: 0 });
    for (let worker = 0; worker < workers; worker++) fleet.push(start());

    const random = new Random(20_261_120);
    let kills = 0;
    let restarted = false;
    const isOver = async () => {
      // An idle connection may not know yet that the restart has ended it.
      const due = await retried(() =>
        db.selectFrom('gmsi.schedules').select('job').where('due_at', 'is not', null).execute(),
      );
      return due.length === 0;
    };
    while (kills < 6 && !(await isOver())) {
      await passing(2_000 + 2_000 * random.share());
      const [killed] = fleet.splice(await placeOfLoader(random), 1);
      killed!.kill('SIGKILL');
      await killed!.ended;
      kills++;
      if (!restarted && kills >= 2) {
        await server.restart('immediate');
        restarted = true;
      }
      fleet.push(start());
    }
    expect(restarted).toBe(true);
    expect(kills).toBeGreaterThanOrEqual(3);

    // What failed too often in that time is for a later run, as it would be for the next night's.
    await vi.waitFor(async () => expect(await isOver()).toBe(true), { timeout: 90_000, interval: 500 });
    await againUntilDone();
    for (const worker of fleet) worker.kill('SIGTERM');
    for (const worker of fleet) await worker.ended;
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
    await expectNothingLost(db);

    const { byStatus, faults: served, cursorReadsAtOnce } = sandbox.stats();
    expect(cursorReadsAtOnce).toBe(1);
    expect(byStatus['429'] ?? 0, 'refused by the limit itself').toBe(served['rate-limited'] ?? 0);
  } finally {
    for (const worker of fleet) worker.kill('SIGKILL');
    await db.destroy();
  }

  /** The worker that is loading the job, if one is. */
  async function placeOfLoader(random: Random): Promise<number> {
    const loaders = await retried(() =>
      db
        .selectFrom('gmsi.schedules as s')
        .innerJoin('gmsi.processes as w', 'w.process_id', 's.process_id')
        .select('w.run_by')
        .execute(),
    );
    const place = fleet.findIndex(({ pid }) => loaders.some(({ run_by }) => run_by.includes(` ${pid},`)));
    return place >= 0 ? place : Math.floor(random.share() * fleet.length);
  }

  async function againUntilDone(): Promise<void> {
    await vi.waitFor(
      async () => {
        const open = await db
          .selectFrom('gmsi.windows')
          .select('state')
          .where('state', '<>', 'drained')
          .execute();
        // By hand: workers begin a job that has just ended only in the next minute.
        if (open.length > 0) await gmsi(['backfill', job], setting);
        expect(open).toEqual([]);
      },
      { timeout: 60_000, interval: 1_000 },
    );
  }
});
