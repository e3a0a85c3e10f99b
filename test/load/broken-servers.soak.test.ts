import { expect, it, vi } from 'vitest';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aLog } from '../support/a-log.ts';
import { aRestartableServer } from '../support/restartable-server.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';
import { breakAt, someHeadline, timesWritten } from './break-at.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });

it('a server that is away while a page that broke its connection twice is to be committed is waited for, and nothing fails', {
  timeout: 120_000,
}, async () => {
  await using server = await aRestartableServer();
  await using sandbox = await aSandbox({ volume: 0.3 });
  await using db = connect({ kind: 'url', url: server.url }, 6);
  await migrate(db);
  await breakAt(db, someHeadline(sandbox, scope, 'DE'), 2);
  const { log, lines } = aLog();
  const isBack = (async () => {
    await vi.waitFor(async () => expect(await timesWritten(db)).toBe(2), { timeout: 60_000, interval: 10 });
    await server.stop();
    // By then the page has tried for seconds, more often than a connection may break.
    await vi.waitFor(
      () => expect(lines.some(({ msg }) => msg.startsWith('waiting for the warehouse'))).toBe(true),
      60_000,
    );
    await server.start();
  })();
  const result = await runBackfill({ job, db, sandbox, log });
  await isBack;
  expect(result).toMatchObject({ outcome: 'done', windows: { drained: 4, failed: 0 } });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(Object.keys(await coverageOf(db))).toHaveLength(2);
});

it('a warehouse whose server is restarted in the middle of a load in order, then as if it had crashed, is loaded on as soon as it is back', {
  timeout: 60_000,
}, async () => {
  await using server = await aRestartableServer();
  await using sandbox = await aSandbox({ volume: 0.3 });
  await using db = connect({ kind: 'url', url: server.url }, 6);
  await migrate(db);
  let asked = 0;
  const result = await runBackfill({
    job,
    db,
    sandbox,
    aroundPage: async (ask) => {
      const page = await ask();
      asked++;
      if (asked === 5) await server.restart('fast');
      if (asked === 12) await server.restart('immediate');
      return page;
    },
  });
  expect(asked).toBeGreaterThanOrEqual(12);
  expect(result).toMatchObject({ outcome: 'done', windows: { drained: 4 } });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(await coverageOf(db)).toEqual({
    'US Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
    'DE Inflation-Food COMBINED': '{[2026-09-01,2026-10-01)}',
  });
});
