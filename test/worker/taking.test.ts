import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { registerProcess } from '../../src/warehouse/tables/processes.ts';
import { markDue, takeDueJobs } from '../../src/warehouse/tables/schedules.ts';
import { jobFor } from '../cli/jobs.ts';
import { registered } from '../support/a-worker.ts';
import { it } from '../support/serving.ts';

const now = new Date('2026-11-20T12:00:00Z');

it('gives each due job to one worker, however many workers take jobs at once', async ({ db }) => {
  const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-10-30' };
  const jobs = Array.from({ length: 40 }, (_, number) => `job-${number}`);
  for (const job of jobs) {
    await registered(db, job, jobFor(scope), now);
    await markDue(db, { job, command: 'backfill' }, now);
  }
  const taken: string[] = [];
  const takeUntilNoneIsLeft = async () => {
    const processId = randomUUID();
    const identity = {
      command: 'work',
      run_by: 'test',
      version: 'test',
      concurrency: 1,
    };
    await registerProcess(db, { process_id: processId, ...identity });
    for (let has = 0; ; has++) {
      const due = await takeDueJobs(db, 'backfill', { processId, leaseSeconds: 30, atMost: 1, now });
      if (due.length > has) continue;
      taken.push(...due.map(({ job }) => job));
      return;
    }
  };
  const nobody = { processId: 'not listed', leaseSeconds: 30, atMost: 1, now };
  expect(await takeDueJobs(db, 'backfill', nobody), 'before it is registered again').toEqual([]);
  await Promise.all(Array.from({ length: 5 }, takeUntilNoneIsLeft));
  expect(taken.toSorted()).toEqual(jobs.toSorted());
});
