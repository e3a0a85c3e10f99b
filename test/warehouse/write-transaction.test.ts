import { sql } from 'kysely';
import { beforeAll, beforeEach, expect, it as test, vi } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { ensurePartitions, upsertRows } from '../../src/warehouse/tables/rows.ts';
import { type WriteTransaction, writeTransaction } from '../../src/warehouse/write-transaction.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { isMoved } from '../support/moved-time.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';
import { aRow, cameOn, idOf, series, sorted, upsert } from './a-row.ts';

const warehouse = await aWarehouseForAll({ isNew: true });
// Nearly all of it are time limits of the server.
const it = test.skipIf(isMoved);

beforeAll(() => setAsOfDelay(warehouse.db, 4_000));
beforeEach(async () => {
  await sqlIn(warehouse.db)`delete from gmsi.headlines`;
  await addPartition(warehouse.db);
});

/** The partition of the rows of this file. */
function addPartition(db: Warehouse): Promise<void> {
  return ensurePartitions(db, gmsiHeadlines.table, sorted([aRow()]).times, new Set());
}

async function aWarehouseOfItsOwn() {
  const own = await aWarehouse();
  await setAsOfDelay(own.db, 4_000);
  await addPartition(own.db);
  return own;
}

function write(trx: WriteTransaction, headline: number) {
  const provenance = { series, loadId: 1, windowId: null, ...cameOn(true) } as const;
  return upsertRows(trx, gmsiHeadlines.table, sorted([aRow({ headline_id: idOf(headline) })]), provenance);
}

async function untilEnded(pid: number): Promise<void> {
  const { db } = warehouse;
  await vi.waitFor(
    async () => {
      expect(await sqlIn(db)`select from pg_stat_activity where pid = ${pid}`).toEqual([]);
    },
    { timeout: 20_000, interval: 100 },
  );
}

it('commits what comes to its end in time, at the isolation asked for', async () => {
  const { db } = warehouse;
  for (const isolation of ['read committed', 'repeatable read'] as const) {
    const is = await writeTransaction(
      db,
      async (trx) => {
        await write(trx, 1);
        return await sqlIn(trx)<{ transaction_isolation: string }>`show transaction_isolation`;
      },
      isolation,
    );
    expect(is).toEqual([{ transaction_isolation: isolation }]);
  }
  expect(await countRows(db, 'headlines')).toBe(1);
});

// Most of their time they wait.
it.concurrent('rolls back what comes to its COMMIT too late, though no statement of it was slow', async () => {
  await using own = await aWarehouseOfItsOwn();
  const { db } = own;
  const late = writeTransaction(db, async (trx) => {
    await write(trx, 1);
    // 0.7 s each, of the 2 s that a statement and a pause may take.
    for (let times = 0; times < 3; times++) await sqlIn(trx)`select pg_sleep(0.7)`;
  });
  await expect(late).rejects.toMatchObject({ why: 'too slow' });
  await expect(late).rejects.toThrow(/took 2\.\d s, more than half of gmsi\.as_of_delay\(\), which is 4 s/);
  expect(await countRows(db, 'headlines')).toBe(0);
});

it.concurrent('ends a statement that takes so long that it could not be committed any more', async () => {
  await using own = await aWarehouseOfItsOwn();
  const { db } = own;
  const slow = writeTransaction(db, async (trx) => {
    await write(trx, 1);
    await sqlIn(trx)`select pg_sleep(60)`;
  });
  await expect(slow).rejects.toMatchObject({ why: 'too slow' });
  expect(await countRows(db, 'headlines')).toBe(0);
});

it.concurrent('is ended by the server if this process is silent in the middle of it, and locks nothing any more', async () => {
  await using own = await aWarehouseOfItsOwn();
  const { db } = own;
  const silent = writeTransaction(db, async (trx) => {
    await write(trx, 1);
    const rows = await sqlIn(trx)<{ pid: number }>`select pg_backend_pid() as pid`;
    await untilEnded(rows[0]!.pid);
    await write(trx, 2);
  });
  await expect(silent).rejects.toMatchObject({ why: 'cut off' });
  await upsert(db, [aRow()]);
  expect(await countRows(db, 'headlines')).toBe(1);
});

it('gives up waiting for a row that another session has locked', async () => {
  const { db } = warehouse;
  await upsert(db, [aRow()]);
  const change = aRow({ headline: 'changed' });
  await db.transaction().execute(async (other) => {
    await sqlIn(other)`select from gmsi.headlines for update`;
    await expect(upsert(db, [change])).rejects.toMatchObject({ why: 'locked' });
  });
  expect(await upsert(db, [change])).toEqual({ inserted: 0, changed: 1 });
});

it('waits for a partition no longer than for a row', async () => {
  const { db } = warehouse;
  await db.transaction().execute(async (other) => {
    await sqlIn(other)`lock table gmsi.headlines in share update exclusive mode`;
    const months = ensurePartitions(
      db,
      gmsiHeadlines.table,
      sorted([aRow({ published_at: '2031-01-01T00:00:00Z' })]).times,
      new Set(),
    );
    await expect(months).rejects.toMatchObject({ why: 'locked' });
  });
});

it('leaves a connection as it was', async () => {
  await using own = await aWarehouse({ connections: 1 });
  const settings = sql`
    select current_setting('lock_timeout') as lock, current_setting('statement_timeout') as statement,
           current_setting('idle_in_transaction_session_timeout') as idle`;
  const before = (await settings.execute(own.db)).rows;
  await upsert(own.db, [aRow()]);
  await writeTransaction(own.db, () => Promise.reject(new Error('no'))).catch(() => {});
  expect((await settings.execute(own.db)).rows).toEqual(before);
});
