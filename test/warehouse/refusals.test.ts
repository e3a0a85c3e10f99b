import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { leaveRefused, takeBackRefusals } from '../../src/warehouse/tables/refusals.ts';
import { aLoad } from '../support/a-process.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { forgetAllIn, windowsIn, windowsOf } from '../support/warehouse-state.ts';

const warehouse = await aWarehouseForAll();
let db: Warehouse;
beforeAll(async () => {
  db = warehouse.db;
});
beforeEach(() => forgetAllIn(db));

const refusal = { status: 404, error: 'The service refused it with 404: no' };

/** Windows of one day each, the first one on 2026-01-01, claimed by a load if they are `draining`. */
async function windows(db: Warehouse, of: readonly Record<string, unknown>[], other: object = {}) {
  const loadId = await aLoad(db);
  const day = (index: number) => `2026-01-${String(index + 1).padStart(2, '0')}`;
  const all = of.map((window, index) => ({
    first_day: day(index),
    last_day: day(index),
    load_id: loadId,
    ...window,
    ...other,
  }));
  return { loadId, ids: await windowsIn(db, all) };
}

const statesOf = async (db: Warehouse) => (await windowsOf(db)).map(({ state }) => state);

const pending = { state: 'pending' };
const draining = { state: 'draining' };
const failed = { state: 'failed', refused_with: 404, last_error: 'no' };
const refused = { ...failed, state: 'refused' };
const drained = { state: 'drained', pages: 1 };

describe('a window that the service refuses', () => {
  it.each([
    ['ends its series', [pending, failed, draining, pending], ['refused', 'refused', 'refused', 'pending']],
    [
      'is refused alone if anything older is drained',
      [drained, pending, draining],
      ['drained', 'pending', 'refused'],
    ],
    [
      'is refused alone if anything older has a page',
      [{ ...pending, pages: 1, next_token: 't' }, pending, draining],
      ['pending', 'pending', 'refused'],
    ],
    ['leaves alone what others drain', [draining, pending, draining], ['draining', 'refused', 'refused']],
    ['fails on a later page', [pending, { ...draining, pages: 2, next_token: 't' }], ['pending', 'failed']],
  ])('%s', async (_, given, expected) => {
    const { loadId, ids } = await windows(db, given);
    const at = { windowId: ids[given.map(({ state }) => state).lastIndexOf('draining')]!, loadId };
    await leaveRefused(db, at, refusal);
    expect(await statesOf(db)).toEqual(expected);
  });

  it('says nothing about other series, nor they about it', async () => {
    const others = [
      { country: 'DE' },
      { topic: 'Elections' },
      { match_type: 'DOMESTIC' },
      { variant: 'a=b' },
      { ticker: 'X' },
      { feed: 'gmsi-index' },
    ];
    for (const other of others) await windows(db, [drained, pending, refused], other);
    const before = await windowsOf(db);
    const { loadId, ids } = await windows(db, [pending, draining, pending]);
    await leaveRefused(db, { windowId: ids[1]!, loadId }, refusal);
    const after = await windowsOf(db);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length).map(({ state }) => state)).toEqual(['refused', 'refused', 'pending']);
  });
});

describe('a window that is answered', () => {
  const skipped = { state: 'refused', last_error: 'not requested' };
  it.each([
    [
      'below refused ones brings back those that were skipped',
      [skipped, draining, skipped, refused],
      ['pending', 'draining', 'pending', 'refused'],
    ],
    [
      'that was refused itself brings back all',
      [skipped, refused, { ...draining, refused_with: 404 }],
      ['pending', 'pending', 'draining'],
    ],
    ['above refused ones does not', [skipped, refused, draining], ['refused', 'refused', 'draining']],
  ])('%s', async (_, given, expected) => {
    const { ids } = await windows(db, given, {});
    await windows(db, [skipped, refused, refused], { country: 'DE' });
    const windowId = ids[given.map(({ state }) => state).indexOf('draining')]!;
    await db.transaction().execute((trx) => takeBackRefusals(trx, windowId));
    expect(await statesOf(db)).toEqual([...expected, 'refused', 'refused', 'refused']);
  });
});
