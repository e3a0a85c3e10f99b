import { expect, it, vi } from 'vitest';
import { connect } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aLog } from '../support/a-log.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { aRestartableServer } from '../support/restartable-server.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';
import { breakAt, someHeadline, timesWritten } from './break-at.ts';

const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 12 } });

/** A migrated server of a test's own, and a service. */
async function onItsOwn() {
  const server = await aRestartableServer();
  const sandbox = await aSandbox({ volume: 0.3 });
  const db = connect({ kind: 'url', url: server.url }, 6);
  await migrate(db);
  return {
    ...{ server, sandbox, db },
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await sandbox.stop();
      await server[Symbol.asyncDispose]();
    },
  };
}

it('a server that is away while a page is committed that broke its connection twice is waited for', async () => {
  await using own = await onItsOwn();
  const { db, sandbox, server } = own;
  await breakAt(db, someHeadline(sandbox, scope, 'DE'), 2);
  const { log, lines } = aLog();
  const isBack = (async () => {
    await vi.waitFor(async () => expect(await timesWritten(db)).toBe(2), { timeout: 60_000, interval: 10 });
    await server.stop();
    // By then the page has tried for seconds, more often than a connection may break.
    const waits = () => lines.some(({ msg }) => msg.startsWith('waiting for the warehouse'));
    await expect.poll(waits, { timeout: 60_000 }).toBe(true);
    await server.start();
  })();
  const result = await runBackfill({ job, db, sandbox, log });
  await isBack;
  expect(result).toMatchObject({ outcome: 'done', totals: { windows_failed: 0, windows_drained: 4 } });
  expect(sandbox.stats()).toMatchObject({ pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  expect(Object.keys(await coverageOf(db))).toHaveLength(2);
});

it('a page that is too slow though nothing is locked fails its window alone, naming the setting', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await aSandbox({ volume: 0.3 });
  const { db } = warehouse;
  await setAsOfDelay(db, 2_000);
  const first = someHeadline(sandbox, scope, 'DE');
  await sqlIn(db)`
    create function gmsi.be_slow() returns trigger language plpgsql as $$
    begin if new.headline_id = (select id from gmsi.slow) then perform pg_sleep(1.2); end if; return new; end $$;
    create table gmsi.slow (id uuid);
    create trigger be_slow before insert on gmsi.headlines for each row execute function gmsi.be_slow()`;
  await sqlIn(db)`insert into gmsi.slow values (${first})`;
  const result = await runBackfill({ job, db, sandbox });
  expect(result).toMatchObject({ outcome: 'incomplete', totals: { windows_failed: 1, windows_drained: 3 } });
  const [failed] = (await windowsOf(db)).filter(({ state }) => state === 'failed');
  expect(failed!.last_error).toMatch(/8 times in a row\. If the disk is slow, .*raise gmsi\.as_of_delay\(\)/);

  await setAsOfDelay(db, 20_000);
  expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});

it('a spent budget lets requests under way end however slow the service is', async () => {
  await using warehouse = await aWarehouse();
  await using sandbox = await aSandbox({ volume: 0.3 });
  const { db } = warehouse;
  const days = { ...scope, from: '2026-08-01', to: '2026-10-30' };
  const service = { end_date: 'inclusive', page_size: 12, concurrency: 2 };
  // Longer than a run that is stopped from outside waits; the other series lets it be requested before the budget is spent.
  sandbox.script([
    { kind: 'latency', ms: 11_000, match: ({ path }) => path.endsWith('/DE') },
    { kind: 'latency', ms: 1_500, match: ({ path }) => path.endsWith('/US') },
  ]);
  // Two requests go to the lookups, one to the slow page, two to the other series.
  const poor = aJobFor(days, { budget: { requests_per_month: 5 }, service });
  const result = await runBackfill({ job: poor, db, sandbox });
  expect(result).toMatchObject({ outcome: 'budget', totals: { requests: 5, pages: 3 } });
  const germany = { country: 'DE', state: 'pending', pages: 1, records: 12 };
  expect(await windowsOf(db)).toContainEqual(expect.objectContaining(germany));

  const richer = aJobFor(days, { service: { ...service, concurrency: 4 } });
  expect((await runBackfill({ job: richer, db, sandbox })).outcome).toBe('done');
  expect(sandbox.stats().pagesServedTwice).toBe(0);
});
