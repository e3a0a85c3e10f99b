import { expect, it, vi } from 'vitest';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aSetting, atWork, isLoaded } from './working.ts';

const service = { concurrency: 4, page_size: 15 };

it('commits the pages in hand, leaves the rest to others at once, and exits with 0 on SIGTERM, 130 on SIGINT', async () => {
  await using setting = await aSetting();
  const { warehouse, sandbox, cli, folder } = setting;
  const job = await folder.write('slow.yaml', jobFor(quarter, { service }));
  // So slow that it is in the middle when they are stopped, however late that is.
  sandbox.script([{ kind: 'latency', ms: 1_000, times: 1e6, match: ({ path }) => path.includes('/feed/') }]);
  const stopped = [1, 2].map(() => setting.start(['work', '--concurrency', '4'], cli));
  await atWork(warehouse, 2);
  expect(await gmsiHere(['backfill', job, '--enqueue'], cli)).toMatchObject({ code: 0 });
  await vi.waitFor(() => expect(sandbox.stats().pages, stopped[0]!.stderr).toBeGreaterThan(8), 90_000);
  stopped[0]!.kill('SIGTERM');
  stopped[1]!.kill('SIGINT');
  expect(await stopped[0]!.ended).toMatchObject({ code: 0 });
  expect(await stopped[1]!.ended).toMatchObject({ code: 130 });
  sandbox.script([]);

  const left = await windowsOf(warehouse.db);
  expect(left.filter(({ state }) => state === 'draining')).toEqual([]);
  expect(left.filter(({ state, next_token }) => state === 'pending' && next_token !== null)).not.toEqual([]);
  expect(left.reduce((sum, { pages }) => sum + pages, 0)).toBe(sandbox.stats().pages);

  const other = setting.start(['work'], cli);
  await isLoaded(warehouse, [other]);
  other.kill('SIGTERM');
  expect(await other.ended).toMatchObject({ code: 0 });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(warehouse.db, quarter)).toEqual(servedBy(sandbox, quarter));
});
