import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';

let warehouse: TestWarehouse;

beforeAll(async () => {
  warehouse = await aWarehouse();
});
afterAll(() => warehouse[Symbol.asyncDispose]());

/** Tables and views of the warehouse: not its partitions, not Kysely's own. */
const ours = sql`
  relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p', 'v', 'm') and not relispartition
  and relname not like 'kysely\\_%'`;

describe('the schema gmsi', () => {
  it('says of every table and column what it is', async () => {
    const { rows } = await sql<{ name: string; comment: string | null }>`
      select relname as name, obj_description(oid, 'pg_class') as comment from pg_class where ${ours}
      union all
      select relname || '.' || attname, col_description(attrelid, attnum)
      from pg_class join pg_attribute on attrelid = pg_class.oid
      where ${ours} and attnum > 0 and not attisdropped
    `.execute(warehouse.db);
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(({ comment }) => !comment?.trim()).map(({ name }) => name)).toEqual([]);
  });

  it('says of every function what it does', async () => {
    const { rows } = await sql<{ name: string; comment: string | null }>`
      select proname as name, obj_description(oid, 'pg_proc') as comment from pg_proc
      where pronamespace = 'gmsi'::regnamespace
    `.execute(warehouse.db);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ comment }) => !comment?.trim())).toEqual([]);
  });

  it.each(['headlines', 'headline_revisions'])(
    'could distribute %s by country: every unique constraint holds country and published_at',
    async (table) => {
      const { rows } = await sql<{ index: string; columns: string[] }>`
        select indexrelid::regclass::text as index, array_agg(attname::text) as columns
        from pg_index join pg_attribute on attrelid = indexrelid
        where indrelid = ${`gmsi.${table}`}::regclass and indisunique group by 1
      `.execute(warehouse.db);
      expect(rows.length).toBeGreaterThan(0);
      for (const { columns } of rows)
        expect(columns).toEqual(expect.arrayContaining(['country', 'published_at']));
    },
  );

  it('has a column of the right type for everything that a record is read into', async () => {
    const { rows } = await sql<{ name: string; type: string }>`
      select attname as name, format_type(atttypid, null) as type from pg_attribute
      where attrelid = 'gmsi.headlines'::regclass and attnum > 0
    `.execute(warehouse.db);
    const types = Object.fromEntries(rows.map(({ name, type }) => [name, type]));
    const wanted = Object.entries(gmsiHeadlines.table.columns).map(([name, type]) => [
      name,
      type === 'timestamptz' ? 'timestamp with time zone' : type,
    ]);
    expect(types).toMatchObject(Object.fromEntries(wanted));
  });

  it('lets a score be nothing but a double', async () => {
    const { rows } = await sql`
      select attname from pg_attribute where attrelid = 'gmsi.headlines'::regclass
        and attname ~ '_(score|positive|neutral|negative|probability)$' and atttypid <> 'float8'::regtype
    `.execute(warehouse.db);
    expect(rows).toEqual([]);
  });
});
