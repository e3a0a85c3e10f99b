import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const warehouse = await aWarehouseForAll();

/** Tables and views of the warehouse: not its partitions, not Kysely's own. */
const ours = sql`
  relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p', 'v', 'm') and not relispartition
  and relname not like 'kysely\\_%'`;

/** What a load says of each row, besides what the service sent. */
const provenance = [
  'asked_at',
  'first_seen_at',
  'changed_at',
  'retracted_at',
  'is_backfilled',
  'load_id',
  'window_id',
];

/** The columns of a table that it does not compute itself. */
async function columnsOf(table: string): Promise<Map<string, string>> {
  const rows = await sqlIn(warehouse.db)<{ name: string; type: string }>`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = ${`gmsi.${table}`}::regclass and attnum > 0 and not attisdropped and attgenerated = ''
  `;
  return new Map(rows.map(({ name, type }) => [name, type]));
}

describe('the schema gmsi', () => {
  it('says of every table and column what it is', async () => {
    const rows = await sqlIn(warehouse.db)<{ name: string; comment: string | null }>`
      select relname as name, obj_description(oid, 'pg_class') as comment from pg_class where ${ours}
      union all
      select relname || '.' || attname, col_description(attrelid, attnum)
      from pg_class join pg_attribute on attrelid = pg_class.oid
      where ${ours} and attnum > 0 and not attisdropped
    `;
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(({ comment }) => !comment?.trim()).map(({ name }) => name)).toEqual([]);
  });

  it('says of every function what it does', async () => {
    const rows = await sqlIn(warehouse.db)<{ name: string; comment: string | null }>`
      select proname as name, obj_description(oid, 'pg_proc') as comment from pg_proc
      where pronamespace = 'gmsi'::regnamespace
    `;
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ comment }) => !comment?.trim())).toEqual([]);
  });

  it.each([...catalog.values()])(
    '$name has a column for everything that is read, and no other',
    async ({ table }) => {
      const columns = await columnsOf(table.name);
      const wanted = Object.entries(table.columns).map(([name, type]) => [
        name,
        type === 'timestamptz' ? 'timestamp with time zone' : type,
      ]);
      expect(Object.fromEntries(columns)).toMatchObject(Object.fromEntries(wanted));
      const filled = [...Object.keys(table.columns), ...table.series, ...provenance];
      if (table.name === 'headlines') filled.push('moved_from');
      expect([...columns.keys()].filter((name) => !filled.includes(name))).toEqual([]);
    },
  );

  it.each([...catalog.values()])('$name as of a moment has every column of its table', async ({ table }) => {
    const columnsOf = (relation: string) =>
      sql`select attname, format_type(atttypid, atttypmod) from pg_attribute
          where attrelid = ${relation}::regclass and attnum > 0 and not attisdropped order by attnum`;
    const rows = await sqlIn(warehouse.db)<{ row: string }>`
      select prorettype::regtype::text as row from pg_proc
      where oid = ${`gmsi.${table.name}_as_of(timestamptz)`}::regprocedure and proretset`;
    const returned = (await columnsOf(rows[0]!.row).execute(warehouse.db)).rows;
    expect(returned).toEqual((await columnsOf(`gmsi.${table.name}`).execute(warehouse.db)).rows);
  });
});
