import { expect, it, vi } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { accessTo, aFolder, type Running, startGmsi } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor, quarter } from '../cli/jobs.ts';
import { loadsEnded } from '../support/a-worker.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { byLabel, scrape } from './a-telemetry.ts';

/** Where a worker serves its metrics, as its log says. */
async function addressOf(worker: Running): Promise<{ url: string }> {
  return vi.waitFor(() => {
    const line = worker.stderr.split('\n').find((entry) => entry.includes('serving /metrics'));
    expect(line, worker.stderr).toBeDefined();
    return JSON.parse(line!);
  }, 90_000);
}

it('gmsi work can be watched: what it has done is what the sandbox has seen, and it is ready until it is stopped', async () => {
  await using folder = await aFolder();
  await using sandbox = await startSandbox({ limits: null, volume: 0.3 });
  await using warehouse = await aWarehouse();
  const setting = { cwd: folder.path, env: accessTo(warehouse, sandbox) };
  await folder.write('jobs/job.yaml', jobFor({ ...quarter, to: '2024-01-31' }));
  const worker = startGmsi(['work', '--metrics-port', '0'], setting);
  try {
    const address = await addressOf(worker);
    expect(await gmsiHere(['backfill', 'job', '--enqueue'], setting)).toMatchObject({ code: 0 });
    expect(await loadsEnded(warehouse.db), worker.stderr).toMatchObject([{ outcome: 'done' }]);

    const { pages, byRoute } = sandbox.stats();
    // What the warehouse knows is read anew every ten seconds.
    await vi.waitFor(
      async () =>
        expect(await scrape(address)).toMatchObject({
          gmsi_workers: 1,
          'gmsi_job_lag_seconds{job_name="job"}': 0,
        }),
      { timeout: 90_000, interval: 500 },
    );
    const samples = await scrape(address);
    expect(byLabel(samples, 'gmsi_requests_total', 'feed')['gmsi-headlines']).toBe(
      byRoute['/v1/headlines/feed/historical/gmsi/:country'],
    );
    expect(byLabel(samples, 'gmsi_stage_duration_seconds_count', 'stage')).toMatchObject({ commit: pages });
    expect((await fetch(`${address.url}/readyz`)).status).toBe(200);
  } finally {
    worker.kill('SIGTERM');
  }
  expect(await worker.ended).toMatchObject({ code: 0 });
});
