import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { test as plain } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';
import { aRow, idOf, upsert } from './a-row.ts';

const it = plain.extend({ wanted: { isNew: true } });

describe('month partitions', () => {
  it('are made once, though many connections want the same ones at once', async () => {
    await using warehouse = await aWarehouse({ connections: 10, isNew: true });
    const months = ['2026-11', '2026-12', '2027-01'];
    const results = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        upsert(
          warehouse.db,
          months.map((month) =>
            aRow({ headline_id: idOf(n), published_at: `${month}-15T00:00:00Z`, headline: `${n}` }),
          ),
        ),
      ),
    );
    expect(results.every(({ inserted }) => inserted === 3)).toBe(true);
    expect(await partitions(warehouse.db)).toEqual([
      'headlines_2026_11',
      'headlines_2026_12',
      'headlines_2027_01',
    ]);
    expect(await countRows(warehouse.db, 'headlines')).toBe(90);
  });

  it('meet without a gap, in UTC, whatever the time zone of the session that makes them', async () => {
    await using warehouse = await aWarehouse({ connections: 1, isNew: true });
    const { db } = warehouse;
    await sqlIn(db)`set time zone 'Pacific/Auckland'`;
    await upsert(db, [aRow({ published_at: '2026-10-31T23:59:59Z' })]);
    await upsert(db, [aRow({ published_at: '2026-11-01T00:00:00Z' })]);
    await sqlIn(db)`set time zone 'UTC'`;
    const rows = await sqlIn(db)<{ bounds: string }>`
      select pg_get_expr(relpartbound, oid) as bounds from pg_class
      where relispartition and relkind = 'r' and relname like 'headlines\\_2%' order by relname
    `;
    expect(rows.map(({ bounds }) => bounds)).toEqual([
      "FOR VALUES FROM ('2026-10-01 00:00:00+00') TO ('2026-11-01 00:00:00+00')",
      "FOR VALUES FROM ('2026-11-01 00:00:00+00') TO ('2026-12-01 00:00:00+00')",
    ]);
  });

  it('that were detached and left in the way are named, with what to do', async ({ db }) => {
    await upsert(db, [aRow()]);
    await sqlIn(db)`alter table gmsi.headlines detach partition gmsi.headlines_2026_09`;
    await expect(upsert(db, [aRow()])).rejects.toThrow(
      'gmsi.headlines_2026_09 is not a partition of gmsi.headlines',
    );
    await sqlIn(db)`create schema archive`;
    await sqlIn(db)`alter table gmsi.headlines_2026_09 set schema archive`;
    expect(await upsert(db, [aRow()])).toEqual({ inserted: 1, changed: 0 });
  });

  it('are analyzed from fewer rows, and only where it changes a plan', async ({ db }) => {
    await upsert(db, [aRow()]);
    const targets = await sql<{ target: number }>`
      select distinct attstattarget as target from pg_attribute
      where attrelid = 'gmsi.headlines_2026_09'::regclass and attnum > 0 order by 1
    `.execute(db);
    expect(targets.rows).toEqual([{ target: 0 }, { target: 30 }]);
    await sqlIn(db)`analyze gmsi.headlines_2026_09`;
    const rows = await sqlIn(db)<{ column: string }>`
      select column_name as column from information_schema.columns
      where table_schema = 'gmsi' and table_name = 'headlines_2026_09' and column_name not in (
        select attname from pg_stats where schemaname = 'gmsi' and tablename = 'headlines_2026_09')
      order by 1
    `;
    expect(rows.map(({ column }) => column)).toEqual(['extra', 'url']);
  });

  it('are made while other transactions write to the table, without waiting for them', async ({ db }) => {
    await upsert(db, [aRow()]);
    // Of another series: writers of one series wait for each other, to sum it up.
    await sqlIn(db)`update gmsi.headlines set country = 'NO'`;
    await db.transaction().execute(async (trx) => {
      await sqlIn(trx)`update gmsi.headlines set url = 'held'`;
      await upsert(db, [aRow({ published_at: '2027-05-01T00:00:00Z' })]);
    });
    expect(await countRows(db, 'headlines')).toBe(2);
  });
});

async function partitions(db: Warehouse): Promise<string[]> {
  const rows = await sqlIn(db)<{ name: string }>`
    select inhrelid::regclass::text as name from pg_inherits where inhparent = 'gmsi.headlines'::regclass order by 1
  `;
  return rows.map(({ name }) => name.replace('gmsi.', ''));
}
