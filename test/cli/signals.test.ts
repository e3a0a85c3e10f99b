import { expect, it, vi } from 'vitest';
import type { Sandbox } from '#sandbox';
import type { GmsiCommand } from '../../src/commands/command.ts';
import type { Session } from '../../src/compose.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { windowsOf } from '../support/warehouse-state.ts';
import { startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor } from './jobs.ts';
import { aPlace } from './place.ts';

/** Eight windows of some six pages. */
const pages = { step: 'P16D', service: { concurrency: 4, page_size: 5 } };

it('SIGTERM: finishes the pages in hand, gives its windows back and exits with 130; a rerun asks for nothing again', async () => {
  await using place = await aPlace({ volume: 0.1 });
  const { folder, sandbox, warehouse, setting: run } = place;
  const job = await folder.write('job.yaml', jobFor(january, pages));

  // So slow that it is in the middle when it is stopped, however late that is.
  sandbox.script([{ kind: 'latency', ms: 300, times: 1e6, match: ({ path }) => path.includes('/feed/') }]);
  const interrupted = startGmsi(['backfill', job], run);
  await pagesServed(sandbox, 8);
  interrupted.kill('SIGTERM');

  expect(await interrupted.ended).toMatchObject({
    code: 130,
    stdout: expect.stringContaining('interrupted'),
    stderr: expect.stringContaining('Ctrl-C again to stop at once'),
  });
  const left = await windowsOf(warehouse.db);
  expect(left.filter(({ state }) => state === 'draining')).toEqual([]);
  expect(left.filter(({ state, next_token }) => state === 'pending' && next_token !== null)).not.toEqual([]);
  sandbox.script([]);
  const committed = left.reduce((sum, { pages }) => sum + pages, 0);
  expect(committed).toBe(sandbox.stats().pages);

  expect(await gmsiHere(['backfill', job], run)).toMatchObject({ code: 0 });
  expect(sandbox.stats().pagesServedTwice).toBe(0);
  expect(await heldBy(warehouse.db, january)).toEqual(servedBy(sandbox, january));
});

it('SIGINT: ends at once when it comes twice, though the service never answers', async () => {
  await using place = await aPlace({ volume: 0.1 });
  const { folder, sandbox, warehouse, setting: run } = place;
  const job = await folder.write('job.yaml', jobFor(january, pages));
  sandbox.script([{ kind: 'hang', times: 100, match: ({ token }) => token !== null }]);

  const stuck = startGmsi(['backfill', job], run);
  await vi.waitFor(() => expect(sandbox.stats().faults.hang, stuck.stderr).toBe(4), 90_000);
  stuck.kill('SIGINT');
  await vi.waitFor(() => expect(stuck.stderr).toContain('Ctrl-C again to stop at once'), 90_000);
  stuck.kill('SIGINT');

  // In order, it would wait for its requests, and then sum up the load and close it.
  expect(await stuck.ended).toMatchObject({ code: 130, stdout: '' });
  const loads = await warehouse.db.selectFrom('gmsi.loads').select(['outcome', 'finished_at']).execute();
  expect(loads).toEqual([{ outcome: null, finished_at: null }]);
});

it("tells the command also if a signal comes while the command's code is imported", async () => {
  const run = async ({ stop }: Session) => (stop.aborted ? 130 : 0);
  vi.doMock('../../src/commands/status.ts', () => {
    process.emit('SIGTERM');
    return { status: { ...aCommand, run } };
  });
  expect(await gmsiHere(['status'], { cwd: '/', env: {} })).toMatchObject({ code: 130 });
  vi.doUnmock('../../src/commands/status.ts');
});

const aCommand: GmsiCommand = { define: (empty) => empty, run: async () => 0 };

async function pagesServed(sandbox: Sandbox, pages: number): Promise<void> {
  await vi.waitFor(() => expect(sandbox.stats().pages).toBeGreaterThanOrEqual(pages), 90_000);
}

it('SIGHUP: does not end a worker, even before its code is imported; it ends other commands', async () => {
  // Of other tests in this process.
  const before = process.listenerCount('SIGHUP');
  const listening: number[] = [];
  for (const name of ['work', 'status']) {
    vi.doMock(`../../src/commands/${name}.ts`, () => {
      listening.push(process.listenerCount('SIGHUP') - before);
      return { [name]: aCommand };
    });
    await gmsiHere([name], { cwd: '/', env: {} });
    vi.doUnmock(`../../src/commands/${name}.ts`);
  }
  expect(listening).toEqual([1, 0]);
});
