import { type Kysely, sql } from 'kysely';
import { version } from '../../src/package.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { Database } from '../../src/warehouse/database.ts';

/** What the tests' own sessions are called, other than those of programs that they start. */
export const sessionName = `gmsi ${version} (test)`;

/**
 * Empties a warehouse that a test leaves. Partitions stay, empty: making them is a sixth of what a small load costs.
 * @param fresh what `schemaOf` says of a new one
 * @returns false if it is not like a new one then, or is still in use: it must not be used again
 */
export async function emptyAgain(db: Warehouse, fresh: string): Promise<boolean> {
  try {
    return await db.transaction().execute(async (trx) => {
      const { rows } = await sql`
        select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
          and backend_type = 'client backend' and (application_name <> ${sessionName} or state <> 'idle')
        union all
        select from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database())
      `.execute(trx);
      if (rows.length > 0) return false;
      await sql.raw(empty).execute(trx);
      return (await schemaOf(trx)) === fresh;
    });
  } catch {
    return false;
  }
}

/** More partitions than these make every query that reads them all slower. */
const mostPartitions = 16;

/** Catalogs in which a change of a partition shows: all their rows about it are of the transaction that made it. */
const aboutPartition = [
  'from pg_attribute a where a.attrelid = p.oid and a.xmin <> p.xmin',
  'from pg_constraint c where c.conrelid = p.oid and c.xmin <> p.xmin',
  'from pg_trigger t where t.tgrelid = p.oid and t.xmin <> p.xmin',
  'from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = p.oid and (i.xmin <> p.xmin or c.xmin <> p.xmin)',
];

const empty = `
  set local session_replication_role = replica;
  set local lock_timeout = '5s';
  do $$
  declare
    part regclass;
    filled regclass;
    has_rows boolean;
    partitions int := (select count(*) from pg_class where relispartition and relkind = 'r');
  begin
    -- A partition stays if it is as the program makes it, and small: deleted rows take room.
    for part in
      select p.oid from pg_class p join pg_inherits on inhrelid = p.oid join pg_class whole on whole.oid = inhparent
      where p.relispartition and p.relkind = 'r' and (
        partitions > ${mostPartitions} or pg_table_size(p.oid) > 1000000
        or pg_get_expr(p.relpartbound, p.oid) <> (
          select format('FOR VALUES FROM (%L) TO (%L)', month, month + interval '1 month')
          from (select to_timestamp(right(p.relname, 7), 'YYYY_MM') as month) as named)
        or p.relowner <> whole.relowner or p.relacl is distinct from whole.relacl
        or ${aboutPartition.map((rows) => `exists (select ${rows})`).join('\n        or ')})
    loop
      execute 'drop table ' || part;
    end loop;
    -- Not Kysely's list of migrations.
    for filled in select oid from pg_class
      where oid >= 16384 and relkind = 'r' and pg_relation_size(oid) > 0
        and relname not like 'kysely_%' loop
      execute 'select exists (select from ' || filled || ')' into has_rows;
      if has_rows then execute 'delete from ' || filled; end if;
    end loop;
    perform setval(seqrelid::regclass, seqstart, false) from pg_sequence
      where pg_sequence_last_value(seqrelid) is not null;
  end $$`;

/** The first object id that is not PostgreSQL's own. A parameter, because statements with one are prepared. */
const firstOid = 16384;

/** Whatever a test can make of a database besides filling its tables and partitions, in one line. */
export async function schemaOf(db: Kysely<Database>): Promise<string> {
  const { rows } = await sql<{ state: string }>`
    with part as materialized (select oid, reltype, reltoastrelid from pg_class where relispartition and relkind = 'r'),
      stored as materialized (select oid from part union all select reltoastrelid from part),
      kept as materialized (
        select oid from stored union all select indexrelid from pg_index where indrelid in (select oid from stored)
        union all select reltype from part union all select typarray from pg_type where oid in (select reltype from part)
        union all select oid from pg_constraint where conrelid in (select oid from part)
      )
    select concat_ws(' ', count(*), sum(hashtextextended(part, 0))) as state from (
      select 'class ' || concat_ws(' ', oid, relname, relowner, relkind, relacl, reloptions, relrowsecurity) as part
        from pg_class where oid >= ${firstOid} and oid not in (select oid from kept)
      union all select 'column ' || concat_ws(' ', attrelid, attnum, xmin)
        from pg_attribute where attrelid >= 16384 and attrelid not in (select oid from kept)
      union all select 'function ' || concat_ws(' ', oid, xmin) from pg_proc where oid >= 16384
      union all select 'trigger ' || concat_ws(' ', oid, xmin)
        from pg_trigger where tgrelid not in (select oid from kept)
      union all select 'constraint ' || concat_ws(' ', oid, xmin)
        from pg_constraint where oid >= 16384 and oid not in (select oid from kept)
      union all select 'rule ' || concat_ws(' ', oid, xmin) from pg_rewrite where oid >= 16384
      union all select 'event trigger ' || concat_ws(' ', oid, xmin) from pg_event_trigger
      union all select 'policy ' || concat_ws(' ', oid, xmin) from pg_policy
      union all select 'defaults ' || concat_ws(' ', oid, xmin) from pg_default_acl
      union all select 'schema ' || concat_ws(' ', oid, nspname, nspowner, nspacl) from pg_namespace
        where nspname not like 'pg\_%'
      union all select 'type ' || oid from pg_type where oid >= 16384 and oid not in (select oid from kept)
      union all select 'extension ' || extname from pg_extension
      union all select 'comment ' || concat_ws(' ', objoid, objsubid, description)
        from pg_description where objoid >= 16384 and objoid not in (select oid from kept)
      union all select 'database ' || concat_ws(' ', datdba, datconnlimit, datacl) from pg_database
        where datname = current_database()
      union all select 'setting ' || concat_ws(' ', setdatabase, setrole, setconfig) from pg_db_role_setting
        where setdatabase = 0 or setdatabase = (select oid from pg_database where datname = current_database())
      union all select 'migration ' || m from (select m::text from gmsi.kysely_migration m) as done
    ) as parts`.execute(db);
  return rows[0]!.state;
}
