import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { inPackage } from '../package.ts';
import type { Database } from './database.ts';

/** Written by a test from a fresh schema. */
const expected = join(inPackage('migrations'), 'objects.txt');

/** The hash of a definition ends its line, so that a changed object has another line. */
const hash = (definition: string) => sql.raw(`' ' || left(md5(${definition}), 12)`);
const hashed = / [0-9a-f]{12}$/;

/** Returns what is in the schema, a line for each object; without partitions and what belongs to them. */
export async function schemaObjects(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ object: string }>`
    with tables as (
      select oid, relname, relkind from pg_class
      where relnamespace = to_regnamespace('gmsi') and relkind in ('r', 'p', 'v', 'm') and not relispartition
        -- The one table that no migration makes.
        and relname <> 'kysely_migration'
    )
    select 'table ' || relname as object from tables where relkind in ('r', 'p')
    union all
    -- By what it uses: its text has other casts after pg_restore, and other names in other versions of PostgreSQL.
    select 'view ' || relname || ${hash(`string_agg(distinct used.identity collate "C", ' ')`)}
    from tables join pg_rewrite on ev_class = tables.oid
    join pg_depend on classid = 'pg_rewrite'::regclass and objid = pg_rewrite.oid
    cross join lateral pg_identify_object(refclassid, refobjid, refobjsubid) as used
    where relkind in ('v', 'm') group by relname
    union all
    select format('column %s.%s %s', relname, attname, format_type(atttypid, atttypmod))
      || case when attnotnull and relkind in ('r', 'p') then ' not null' else '' end
      || coalesce(${hash('attgenerated::text || pg_get_expr(adbin, adrelid)')}, '')
    from tables join pg_attribute on attrelid = tables.oid left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where attnum > 0 and not attisdropped
    union all
    select format('index %s on %s', i.relname, tables.relname) || case when indisvalid then '' else ' (invalid)' end
      || ${hash('pg_get_indexdef(indexrelid)')}
    from tables join pg_index on indrelid = tables.oid join pg_class i on i.oid = indexrelid
    union all
    select format('constraint %s on %s', conname, relname) || case when convalidated then '' else ' (not valid)' end
      || ${hash('pg_get_constraintdef(pg_constraint.oid)')}
    from tables join pg_constraint on conrelid = tables.oid where contype in ('p', 'u', 'f', 'c', 'x')
    union all
    select format('trigger %s on %s', tgname, relname) || case when tgenabled = 'O' then '' else ' (disabled)' end
      || ${hash('pg_get_triggerdef(pg_trigger.oid)')}
    from tables join pg_trigger on tgrelid = tables.oid where not tgisinternal
    union all
    select format('function %s(%s)', proname, pg_get_function_identity_arguments(oid))
      -- An owner may replace as_of_delay, and an aggregate has no definition.
      || case when proname = 'as_of_delay' or prokind = 'a' then '' else ${hash('pg_get_functiondef(oid)')} end
    from pg_proc where pronamespace = to_regnamespace('gmsi')
  `.execute(db);
  return rows.map(({ object }) => object).toSorted();
}

/** Returns how the schema differs from a fresh one: objects that are gone or changed, and objects that somebody added. */
export async function schemaDrift(db: Kysely<Database>): Promise<{ gone: string[]; added: string[] }> {
  const fresh = (await readFile(expected, 'utf8')).trimEnd().split('\n');
  const found = await schemaObjects(db);
  const named = (objects: string[]) => objects.map((object) => object.replace(hashed, ''));
  const gone = named(fresh.filter((object) => !found.includes(object)));
  const added = named(found.filter((object) => !fresh.includes(object)));
  return { gone, added: added.filter((name) => !gone.includes(name)) };
}
