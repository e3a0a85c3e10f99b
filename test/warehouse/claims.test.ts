import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { planWindows } from '../../src/plan/plan-windows.ts';
import { isMoved } from '../../src/warehouse/commit.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { windowAfter } from '../../src/warehouse/tables/checkpoint.ts';
import type { WindowScope } from '../../src/warehouse/tables/series.ts';
import { claimWindow, type Leaving, leaveWindow } from '../../src/warehouse/tables/windows.ts';
import { writeTransaction } from '../../src/warehouse/write-transaction.ts';
import { aLoad, silence } from '../support/a-process.ts';
import { aJob } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { sqlIn, windowsOf } from '../support/warehouse-state.ts';

const scope: WindowScope = {
  feed: 'gmsi-headlines',
  countries: ['US'],
  topics: ['Inflation-Food'],
  tickers: [''],
  matchType: 'COMBINED',
  variants: [''],
  from: '2024-01-01',
  to: '2024-01-10',
};

function claim(db: Warehouse, loadId: number) {
  return claimWindow(db, scope, { loadId, leaseSeconds: 30, order: 'newest-first' });
}

/** A window that one load had claimed and another one has taken over. */
async function taken(db: Warehouse) {
  await planWindows(db, aJob(), scope, { fullRefresh: false, retryRefused: false }, '2026-11-20');
  const [first, second] = [await aLoad(db, 'one'), await aLoad(db, 'two')];
  const [window] = await windowsOf(db);
  const windowId = window!.window_id;
  await claim(db, first);
  await silence(db, first);
  expect(await claim(db, second)).toBeDefined();
  return { windowId, first, second };
}

const leavings: Leaving[] = [{ state: 'failed', error: 'too late' }, { state: 'pending' }];

describe('a load that has lost its window to another one', () => {
  it.each(leavings)('leaves it alone while that drains it ($state)', async (leaving) => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    const { windowId, first, second } = await taken(db);
    const before = await windowsOf(db);
    await leaveWindow(db, { windowId, loadId: first }, leaving);
    expect(await windowsOf(db)).toEqual(before);
    expect(before).toMatchObject([{ state: 'draining', load_id: second, last_error: null }]);
    // The claim decides: the load that holds it can leave it.
    await leaveWindow(db, { windowId, loadId: second }, leaving);
    expect(await windowsOf(db)).not.toEqual(before);
  });

  it('does not take a page of the other load for its own, whose commit had no reply', async ({ db }) => {
    const { windowId, first, second } = await taken(db);
    await sqlIn(db)`update gmsi.windows set pages = 1, next_token = 'two'`;
    const committedBy = (loadId: number) =>
      writeTransaction(db, (trx) =>
        isMoved(trx, windowAfter({ windowId, loadId, pages: 0, nextToken: null }, 'two')),
      );
    expect(await committedBy(first)).toBe(false);
    expect(await committedBy(second)).toBe(true);
  });
});

describe('a window is free', () => {
  it.each([
    [
      'of a load whose process has a heartbeat that a wrong clock has put 400 days ahead',
      sql`update gmsi.processes set heartbeat_at = now() + interval '400 days'`,
    ],
    [
      'that failed 400 days ahead, by a wrong clock',
      sql`update gmsi.windows set state = 'failed', finished_at = now() + interval '400 days'`,
    ],
  ])('%s', async (_, change) => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await taken(db);
    await change.execute(db);
    const third = await aLoad(db, 'three');
    expect(await claim(db, third)).toBeDefined();
    expect(await windowsOf(db)).toMatchObject([{ state: 'draining', load_id: third }]);
  });
});
