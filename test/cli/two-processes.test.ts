import { expect, it, vi } from 'vitest';
import { silence } from '../support/a-process.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { requestsBooked, windowsOf } from '../support/warehouse-state.ts';
import { startGmsi } from './gmsi.ts';
import { january, jobFor } from './jobs.ts';
import { aPlace } from './place.ts';

/** Eight windows of some three pages. */
const step = 'P16D';

it('takes over what a killed process held while the other one waited for it', async () => {
  await using place = await aPlace({ volume: 0.1 });
  const { folder, sandbox, warehouse, setting: run } = place;
  const service = { concurrency: 4, page_size: 10 };
  const job = await folder.write(
    'job.yaml',
    jobFor(january, { step, service: { ...service, headers_timeout: 'PT10M' } }),
  );

  // Of four windows the second page never comes while the first process lives, however long the other takes to start.
  sandbox.script([{ kind: 'latency', ms: 3_600_000, times: 4, match: ({ token }) => token !== null }]);
  const killed = startGmsi(['backfill', job], run);
  const heldWindows = async () => {
    const windows = await windowsOf(warehouse.db);
    return windows.filter(({ state, pages }) => state === 'draining' && pages > 0);
  };
  await vi.waitFor(async () => expect(await heldWindows()).toHaveLength(4), 90_000);
  const other = startGmsi(['backfill', job], run);
  await vi.waitFor(() => expect(other.stderr).toContain('another load has claimed 4 windows'), 90_000);
  killed.kill('SIGKILL');
  expect((await killed.ended).signal).toBe('SIGKILL');
  // Its lease is over.
  const { load_id } = (await heldWindows())[0]!;
  await silence(warehouse.db, load_id!);

  expect(await other.ended).toMatchObject({ code: 0 });
  expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
  const { requests, pagesServedTwice } = sandbox.stats();
  // Of each window in hand, the page on its way to the table and the one on its way here.
  expect(pagesServedTwice).toBeLessThanOrEqual(2 * 4);
  // Each is booked before it is sent: those that the killed process had not sent yet are booked as well.
  const booked = await requestsBooked(warehouse.db);
  expect(booked).toBeGreaterThanOrEqual(requests);
  expect(booked).toBeLessThanOrEqual(requests + 4);
});
