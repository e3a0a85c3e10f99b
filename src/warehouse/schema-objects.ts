import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { inPackage } from '../package.ts';
import type { Database } from './database.ts';

/** Written by a test from a fresh schema. */
const expected = join(inPackage('migrations'), 'objects.txt');

/** Returns what is in the schema, a line for each object; without partitions and what belongs to them. */
export async function schemaObjects(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ object: string }>`
    with tables as (
      select oid, relname, relkind from pg_class
      where relnamespace = to_regnamespace('gmsi') and relkind in ('r', 'p', 'v', 'm') and not relispartition
    )
    select case when relkind in ('r', 'p') then 'table ' else 'view ' end || relname as object from tables
    union all
    select format('column %s.%s %s', relname, attname, format_type(atttypid, atttypmod))
      || case when attnotnull and relkind in ('r', 'p') then ' not null' else '' end
    from tables join pg_attribute on attrelid = tables.oid where attnum > 0 and not attisdropped
    union all
    select format('index %s on %s', i.relname, tables.relname) || case when indisvalid then '' else ' (invalid)' end
    from tables join pg_index on indrelid = tables.oid join pg_class i on i.oid = indexrelid
    union all
    select format('constraint %s on %s', conname, relname) || case when convalidated then '' else ' (not valid)' end
    from tables join pg_constraint on conrelid = tables.oid where contype in ('p', 'u', 'f', 'c', 'x')
    union all
    select format('trigger %s on %s', tgname, relname) || case when tgenabled = 'O' then '' else ' (disabled)' end
    from tables join pg_trigger on tgrelid = tables.oid where not tgisinternal
    union all
    select format('function %s(%s)', proname, pg_get_function_identity_arguments(oid))
    from pg_proc where pronamespace = to_regnamespace('gmsi')
  `.execute(db);
  return rows.map(({ object }) => object).toSorted();
}

/** Returns how the schema differs from a fresh one: objects that are gone or changed, and objects that somebody added. */
export async function schemaDrift(db: Kysely<Database>): Promise<{ gone: string[]; added: string[] }> {
  const fresh = (await readFile(expected, 'utf8')).trimEnd().split('\n');
  const found = await schemaObjects(db);
  return {
    gone: fresh.filter((object) => !found.includes(object)),
    added: found.filter((object) => !fresh.includes(object)),
  };
}
