import { sql, type Transaction } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { startLoad } from '../../src/warehouse/tables/loads.ts';
import { leaveRefused, takeBackRefusals } from '../../src/warehouse/tables/refusals.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { windowsOf } from '../support/warehouse-state.ts';

const warehouse = await aWarehouseForAll();
let db: Warehouse;
beforeAll(async () => {
  db = warehouse.db;
});
beforeEach(() => sql`delete from gmsi.windows`.execute(db));

const series = { feed: 'gmsi-headlines', country: 'US', topic: 'Wars', match_type: 'COMBINED' };
const refusal = { status: 404, error: 'The service refused it with 404: no' };

/** Windows of one day each, the first one on 2026-01-01, claimed by a load if they are `draining`. */
async function windows(db: Warehouse, of: readonly Record<string, unknown>[], other: object = {}) {
  const about = { command: 'backfill', job: 'job', feed: 'gmsi-headlines', run_by: 'test' };
  const loadId = await startLoad(db, about);
  const day = (index: number) => `2026-01-${String(index + 1).padStart(2, '0')}`;
  const rows = of.map((window, index) => ({
    ...{ ticker: '', variant: '', first_day: day(index), last_day: day(index), load_id: loadId },
    ...series,
    ...window,
    ...other,
  }));
  const ids = await db
    .insertInto('gmsi.windows')
    .values(rows as never)
    .returning('window_id')
    .execute();
  return { loadId, ids: ids.map(({ window_id }) => window_id) };
}

const statesOf = async (db: Warehouse) => (await windowsOf(db)).map(({ state }) => state);

function inTransaction<Result>(db: Warehouse, work: (trx: Transaction<Database>) => Promise<Result>) {
  return db.transaction().execute(work);
}

const pending = { state: 'pending' };
const draining = { state: 'draining' };
const failed = { state: 'failed', refused_with: 404, last_error: 'no' };
const refused = { ...failed, state: 'refused' };
const drained = { state: 'drained', pages: 1 };

describe('a window that the service refuses', () => {
  it.each([
    ['fails alone', [pending, draining, pending], ['pending', 'failed', 'pending']],
    [
      'ends its series with a younger neighbour',
      [pending, draining, failed],
      ['refused', 'refused', 'refused'],
    ],
    [
      'ends its series with an older neighbour',
      [pending, failed, draining],
      ['refused', 'refused', 'refused'],
    ],
    [
      'skips what failed before, too',
      [{ state: 'failed' }, draining, failed],
      ['refused', 'refused', 'refused'],
    ],
    ['fails with a window between', [failed, pending, draining], ['failed', 'pending', 'failed']],
    ['fails with an answered one between', [failed, drained, draining], ['failed', 'drained', 'failed']],
    [
      'fails with another status beside it',
      [pending, draining, { ...failed, refused_with: 400 }],
      ['pending', 'failed', 'failed'],
    ],
    [
      'fails with one that failed otherwise beside it',
      [pending, draining, { state: 'failed' }],
      ['pending', 'failed', 'failed'],
    ],
    [
      'fails where anything older is drained',
      [drained, pending, draining, failed],
      ['drained', 'pending', 'failed', 'failed'],
    ],
    [
      'fails where anything older has a page',
      [{ ...pending, pages: 1, next_token: 't' }, pending, draining, failed],
      ['pending', 'pending', 'failed', 'failed'],
    ],
    [
      'leaves alone what others drain',
      [draining, pending, draining, failed],
      ['draining', 'refused', 'refused', 'refused'],
    ],
    [
      'is refused a second time',
      [pending, { ...draining, refused_with: 404 }, drained],
      ['pending', 'refused', 'drained'],
    ],
    [
      'fails a second time with another status',
      [pending, { ...draining, refused_with: 400 }, drained],
      ['pending', 'failed', 'drained'],
    ],
    [
      'stays refused below refused ones',
      [pending, draining, { state: 'refused' }],
      ['refused', 'refused', 'refused'],
    ],
    [
      'leaves its turn to the one below that was refused with it',
      [{ ...pending, refused_with: 404 }, draining, { state: 'refused' }],
      ['pending', 'refused', 'refused'],
    ],
    [
      'leaves those their turn that are asked for again',
      [{ ...pending, refused_with: 404 }, pending, { state: 'refused' }, draining, refused],
      ['pending', 'pending', 'refused', 'refused', 'refused'],
    ],
    [
      'fails on a later page',
      [pending, { ...draining, pages: 2, next_token: 't' }, failed],
      ['pending', 'failed', 'failed'],
    ],
  ])('%s', async (_, given, expected) => {
    const { loadId, ids } = await windows(db, given);
    const at = { windowId: ids[given.map(({ state }) => state).lastIndexOf('draining')]!, loadId };
    await inTransaction(db, (trx) => leaveRefused(trx, at, refusal));
    expect(await statesOf(db)).toEqual(expected);
  });

  it.each([
    [pending, ['pending', 'failed', 'pending']],
    [failed, ['refused', 'refused', 'refused']],
  ])('says nothing about other series, nor they about it (%j)', async (neighbour, expected) => {
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
    const { loadId, ids } = await windows(db, [pending, draining, neighbour]);
    await inTransaction(db, (trx) => leaveRefused(trx, { windowId: ids[1]!, loadId }, refusal));
    const after = await windowsOf(db);
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.slice(before.length).map(({ state }) => state)).toEqual(expected);
  });

  it('is not touched by a load that no longer holds it', async () => {
    const { loadId, ids } = await windows(db, [pending, draining, failed]);
    const before = await windowsOf(db);
    const at = { windowId: ids[1]!, loadId: loadId + 1 };
    expect(await inTransaction(db, (trx) => leaveRefused(trx, at, refusal))).toBeUndefined();
    expect(await windowsOf(db)).toEqual(before);
  });

  it('is compared with a neighbour that another process leaves at the same moment', async () => {
    const { loadId, ids } = await windows(db, [pending, draining, draining]);
    const second = await whileHeld(
      db,
      (trx) => leaveRefused(trx, { windowId: ids[2]!, loadId }, refusal),
      () => inTransaction(db, (trx) => leaveRefused(trx, { windowId: ids[1]!, loadId }, refusal)),
    );
    expect(second).toMatchObject({ state: 'refused', skipped: 1 });
    expect(await statesOf(db)).toEqual(['refused', 'refused', 'refused']);
  });

  it('does not skip what lies above a window that is answered at the same moment', async () => {
    const { loadId, ids } = await windows(db, [draining, pending, draining, failed]);
    await whileHeld(
      db,
      async (trx) => {
        await takeBackRefusals(trx, ids[0]!);
        await sql`update gmsi.windows set pages = 1 where window_id = ${ids[0]}`.execute(trx);
      },
      () => inTransaction(db, (trx) => leaveRefused(trx, { windowId: ids[2]!, loadId }, refusal)),
    );
    expect(await statesOf(db)).toEqual(['draining', 'pending', 'failed', 'failed']);
  });
});

describe('a window that is answered', () => {
  const skipped = { state: 'refused', last_error: 'not requested' };
  it.each([
    [
      'below refused ones takes all of that back',
      [skipped, draining, skipped, refused, refused],
      ['pending', 'draining', 'pending', 'failed', 'failed'],
    ],
    [
      'that was refused itself does so, too',
      [skipped, refused, { ...draining, refused_with: 404 }],
      ['pending', 'failed', 'draining'],
    ],
    [
      'above refused ones does not',
      [skipped, refused, refused, draining],
      ['refused', 'refused', 'refused', 'draining'],
    ],
    [
      'above them that was once refused alone does not',
      [skipped, refused, refused, drained, { ...draining, refused_with: 404 }],
      ['refused', 'refused', 'refused', 'drained', 'draining'],
    ],
  ])('%s', async (_, given, expected) => {
    await windows(db, given, {});
    await windows(db, [skipped, refused, refused], { country: 'DE' });
    const { ids } = { ids: (await windowsOf(db)).map(({ window_id }) => window_id) };
    const windowId = ids[given.map(({ state }) => state).indexOf('draining')]!;
    await inTransaction(db, (trx) => takeBackRefusals(trx, windowId));
    expect(await statesOf(db)).toEqual([...expected, 'refused', 'refused', 'refused']);
  });
});

/** Runs one piece of work up to its commit, lets another begin, and commits once that waits for a lock. */
async function whileHeld<Result>(
  db: Warehouse,
  first: (trx: Transaction<Database>) => Promise<unknown>,
  second: () => Promise<Result>,
): Promise<Result> {
  let other: Promise<Result> | undefined;
  await db.transaction().execute(async (trx) => {
    await first(trx);
    other = second();
    await vi.waitFor(async () => {
      const { rows } = await sql`select from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())`.execute(db);
      expect(rows).toHaveLength(1);
    });
  });
  return other!;
}
