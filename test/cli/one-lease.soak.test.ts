import { setTimeout as passing } from 'node:timers/promises';
import { sql } from 'kysely';
import { expect, it, vi } from 'vitest';
import { startSandbox } from '#sandbox';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { expectNothingLost } from '../support/lost-rows.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { accessTo, aFolder, gmsi, type Running, startGmsi } from './gmsi.ts';
import { jobFor, scope } from './jobs.ts';

/* Two workers and a backfill of one job, with a lease of two seconds, while their leases are attacked. */

/** Longer than the lease, in milliseconds. */
const long = 3_000;

interface Attack {
  readonly name: string;
  /** @param one of the processes */
  readonly on: (one: Running, db: Warehouse) => Promise<unknown>;
  /** True if a load that has lost a window knows it before its next request. */
  readonly isKnown: boolean;
}

const attacks: readonly Attack[] = [
  {
    name: 'suspended for longer than the lease',
    isKnown: true,
    async on(one) {
      one.kill('SIGSTOP');
      await passing(long);
      one.kill('SIGCONT');
    },
  },
  {
    name: 'removed from the list of processes',
    isKnown: false,
    async on(_, db) {
      // Again and again, because a process that finds itself removed is there again with its next heartbeat.
      for (let again = 0; again < 10; again++) {
        await sql`delete from gmsi.processes`.execute(db);
        await passing(100);
      }
    },
  },
];

it.each(attacks)('nothing is lost, doubled or stuck if processes are $name', async ({ on, isKnown }) => {
  await using folder = await aFolder();
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ volume: 0.25, limits: null });
  const { db } = warehouse;
  const env = { ...accessTo(warehouse, sandbox), GMSI_LEASE_SECONDS: '2', GMSI_METRICS_PORT: '0' };
  const setting = { cwd: folder.path, env };
  const service = { rate: 12, burst: 12, concurrency: 3, page_size: 25 };
  const job = await folder.write('leased.yaml', jobFor(scope, { service, step: 'P30D' }));
  expect(await gmsi(['backfill', job, '--enqueue'], setting)).toMatchObject({ code: 0 });
  const commands = [['work'], ['work'], ['backfill', job]];
  const fleet = commands.map((args) => startGmsi(args, setting));
  const windows = async () =>
    (await db.selectFrom('gmsi.windows').select('state').execute()).map(({ state }) => state);
  const isOver = async () => {
    const states = await windows();
    return states.length > 0 && states.every((state) => state === 'drained');
  };
  try {
    let hit = 0;
    let isTakenOver = false;
    for (; hit < 12 && !(await isOver()); hit++) {
      await passing(1_000);
      await on(fleet[hit % fleet.length]!, db);
      isTakenOver ||= (await sql`select from gmsi.queue where attempts > 1`.execute(db)).rows.length > 0;
    }
    expect(isTakenOver, 'windows that another load has taken over').toBe(true);
    expect(hit).toBeGreaterThan(3);
    expect(await fleet[2]!.ended).toMatchObject({ code: 0 });
    await vi.waitFor(
      async () => {
        const owned =
          await sql`select job from gmsi.schedules where due_at is not null or process_id is not null`.execute(
            db,
          );
        expect(owned.rows).toEqual([]);
      },
      { timeout: 60_000, interval: 500 },
    );
    expect(await isOver()).toBe(true);
    for (const worker of fleet) worker.kill('SIGTERM');
    for (const worker of fleet.slice(0, 2)) expect(await worker.ended).toMatchObject({ code: 0 });
  } finally {
    for (const one of fleet) one.kill('SIGKILL');
  }
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  await expectNothingLost(db);
  if (isKnown) expect(sandbox.stats().cursorReadsAtOnce).toBe(1);
});
