import { sql } from 'kysely';
import type { Warehouse } from '../../src/warehouse/connect.ts';

/** Every row of every table of the warehouse, as text. */
export async function allText(db: Warehouse): Promise<string> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'gmsi'`.execute(
    db,
  );
  const texts = await Promise.all(
    tables.map(async ({ name }) => {
      const { rows } = await sql<{ text: string | null }>`
        select string_agg(t::text, ' ') as text from ${sql.raw(name)} as t`.execute(db);
      return rows[0]!.text ?? '';
    }),
  );
  return texts.join('\n');
}
