import { expect, vi } from 'vitest';
import { type Sandbox, startSandbox } from '#sandbox';
import { loadsEnded } from '../support/a-worker.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { accessTo, aFolder, type Running, startGmsi } from './gmsi.ts';

/** A service, a warehouse, and processes that are gone with them. */
export async function aSetting() {
  const warehouse: TestWarehouse = await aWarehouse();
  const sandbox: Sandbox = await startSandbox({ limits: null, volume: 0.1 });
  const folder = await aFolder();
  const elsewhere = await aFolder('gmsi elsewhere ');
  const env: Record<string, string> = { ...accessTo(warehouse, sandbox), GMSI_LEASE_SECONDS: '6' };
  const cli = { cwd: folder.path, env };
  const started: Running[] = [];
  return {
    warehouse,
    sandbox,
    folder,
    cli,
    /** A machine without job files. */
    bare: { cwd: elsewhere.path, env },
    start(args: readonly string[], setting: typeof cli): Running {
      const running = startGmsi(args, setting);
      started.push(running);
      return running;
    },
    async [Symbol.asyncDispose]() {
      for (const running of started) running.kill('SIGKILL');
      await Promise.all(started.map(({ ended }) => ended));
      for (const owned of [elsewhere, folder, sandbox, warehouse]) await owned[Symbol.asyncDispose]();
    },
  };
}

/** Waits until so many workers are registered. Other commands, such as `backfill --enqueue`, list their processes, too. */
export async function atWork({ db }: TestWarehouse, workers: number): Promise<void> {
  const listed = db.selectFrom('gmsi.processes').select('process_id').where('command', '=', 'work');
  await vi.waitFor(async () => expect(await listed.execute()).toHaveLength(workers), 90_000);
}

/** Waits until a worker has loaded the only job. */
export async function isLoaded({ db }: TestWarehouse, workers: readonly Running[]): Promise<void> {
  await vi.waitFor(async () => {
    const due = await db.selectFrom('gmsi.schedules').select('job').where('due_at', 'is not', null).execute();
    expect(due, workers.map(({ stderr }) => stderr).join('')).toEqual([]);
  }, 90_000);
  expect((await loadsEnded(db)).at(-1)).toMatchObject({ outcome: 'done' });
}
