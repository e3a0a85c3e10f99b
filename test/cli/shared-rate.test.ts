import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { accessTo, aFolder, gmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';

const burst = 20;
/** Some twenty requests: about a burst. */
const jobOf = (country: string, rate: number) =>
  jobFor(
    { ...quarter, countries: [country] },
    { step: 'P9D', service: { rate, burst, end_date: 'inclusive', page_size: 1000 } },
  );

describe('processes on one key', () => {
  it('that run one after the other have one burst between them', async () => {
    // So slowly that what comes back between the two is far less than a burst.
    await using setting = await aSetting(5);
    for (const job of ['US', 'DE']) expect(await setting.backfill(job, gmsiHere)).toMatchObject({ code: 0 });
    expect(setting.statuses()).toEqual(['200']);
    expect(setting.sandbox.stats().requests).toBeGreaterThan(2 * burst);
  });

  it('that run at the same time keep to the limit together, without a setting', async () => {
    await using setting = await aSetting(10);
    const ended = await Promise.all(setting.jobs.map((job) => setting.backfill(job)));
    expect(ended).toMatchObject([{ code: 0 }, { code: 0 }, { code: 0 }]);
    expect(setting.statuses()).toEqual(['200']);
    expect(setting.sandbox.stats().requests).toBeGreaterThan(2 * burst);
  });
});

/** Three jobs, a warehouse of their own, and a sandbox that judges the limit. */
async function aSetting(perSecond: number) {
  const folder = await aFolder();
  const warehouse = await aWarehouse();
  const sandbox = await startSandbox({ limits: { perSecond, burst }, volume: 0.1 });
  const jobs = ['US', 'DE', 'FR'];
  for (const country of jobs) await folder.write(`jobs/${country}.yaml`, jobOf(country, perSecond));
  const run = { cwd: folder.path, env: accessTo(warehouse, sandbox) };
  return {
    jobs,
    sandbox,
    backfill: (job: string, start = gmsi) => start(['backfill', job], run),
    statuses: () => Object.keys(sandbox.stats().byStatus),
    async [Symbol.asyncDispose]() {
      await sandbox.stop();
      await warehouse[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
