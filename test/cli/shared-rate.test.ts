import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { accessTo, aFolder, gmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';

const perSecond = 10;
const burst = 20;
const service = { rate: perSecond, burst, end_date: 'inclusive' };
/** Some twenty requests: about a burst. */
const jobOf = (country: string) =>
  jobFor({ ...quarter, countries: [country] }, { step: 'P9D', service: { ...service, page_size: 1000 } });

describe('processes on one key', () => {
  it('that run one after the other have one burst between them', async () => {
    await using setting = await aSetting();
    for (const job of ['US', 'DE']) expect(await setting.backfill(job, gmsiHere)).toMatchObject({ code: 0 });
    expect(setting.statuses()).toEqual(['200']);
    expect(setting.sandbox.stats().requests).toBeGreaterThan(2 * burst);
  });

  it('that run at the same time keep to the limit together, without a setting', async () => {
    await using setting = await aSetting();
    const ended = await Promise.all(setting.jobs.map((job) => setting.backfill(job)));
    expect(ended).toMatchObject([{ code: 0 }, { code: 0 }, { code: 0 }]);
    expect(setting.statuses()).toEqual(['200']);
    expect(setting.sandbox.stats().requests).toBeGreaterThan(2 * burst);
  });
});

/** Three jobs, a warehouse of their own, and a sandbox that judges the limit. */
async function aSetting() {
  const folder = await aFolder();
  const warehouse = await aWarehouse();
  const sandbox = await startSandbox({ limits: { perSecond, burst }, volume: 0.1 });
  const jobs = ['US', 'DE', 'FR'];
  for (const country of jobs) await folder.write(`jobs/${country}.yaml`, jobOf(country));
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
