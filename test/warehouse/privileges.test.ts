import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { aLogin } from '../support/a-login.ts';
import { cases } from '../support/cases.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aWindowIn, sqlIn } from '../support/warehouse-state.ts';
import { aRow, upsert } from './a-row.ts';

/** A headline in a warehouse, and people who may read it, load into it, or only connect. */
const warehouse = await aWarehouseForAll();
let reader: pg.Client;
let loader: pg.Client;
let stranger: pg.Client;
const logins: Awaited<ReturnType<typeof aLogin>>[] = [];

beforeAll(async () => {
  await upsert(warehouse.db, [aRow({ directional_score: 0.5 })]);
  reader = await someoneWith('gmsi_reader');
  loader = await someoneWith('gmsi_loader');
  stranger = await someoneWith();
});
afterAll(async () => {
  await Promise.all([reader, loader, stranger].map((client) => client?.end()));
  for (const login of logins) await login[Symbol.asyncDispose]();
});

/** A login of its own, as a person has one: `set role` alone would still be the superuser's session. */
async function someoneWith(role?: string): Promise<pg.Client> {
  const login = await aLogin(warehouse, role);
  logins.push(login);
  const client = new pg.Client({ connectionString: login.url });
  await client.connect();
  return client;
}

async function rowsOf(query: string): Promise<string[]> {
  const { rows } = await sql.raw<Record<string, string>>(query).execute(warehouse.db);
  return rows.map((row) => Object.values(row).join(' '));
}

/** What a statement is refused with; `undefined` if it is not refused. What it did is undone. */
async function refusalOf(who: pg.Client, statement: string): Promise<string | undefined> {
  await who.query('begin');
  try {
    await who.query(statement);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await who.query('rollback');
  }
}

const feedTables = [...catalog.values()].map(({ table }) => table.name);
const named = (...names: string[]) =>
  names
    .flatMap((name) => name.split(' '))
    .toSorted()
    .join(' ');
/** Who may do what in the schema, besides functions. Change it only with the paragraph on privileges in docs/operating.md. */
const expectedGrants = [
  'gmsi_loader: delete+insert+select+update on table api_usage check_results daily_sums drain_sightings hourly_sums jobs known_findings live_sightings moments processes queue readings rejected_records',
  `gmsi_loader: insert+select+update on table ${named(
    'alerts closes countries headline_revisions imported_files learned_facts',
    'loads lookups origin request_rate revisions schedules series series_days service_descriptions topics turns wire_fields',
    ...feedTables,
  )}`,
  'gmsi_loader: select on table arrival_delays coverage coverage_by_day coverage_gaps headlines_point_in_time index_daily kysely_migration market_closes markets rescorings sentiment_by_day sentiment_daily sentiment_hourly series_states topic_guide watched windows',
  'gmsi_loader: usage on schema gmsi',
  'gmsi_loader: usage on table reading_ids',
  `gmsi_reader: select on table ${named(
    'arrival_delays check_results closes countries coverage coverage_by_day coverage_gaps headline_revisions headlines_point_in_time',
    'imported_files index_daily known_findings kysely_migration learned_facts loads lookups market_closes markets moments origin processes queue readings rejected_records rescorings revisions sentiment_by_day',
    'sentiment_daily sentiment_hourly series series_days series_states service_descriptions topic_guide topics watched windows wire_fields',
    ...feedTables,
  )}`,
  'gmsi_reader: usage on schema gmsi',
];

/** Functions, as the catalog says what they are and who may run them. */
const functions = `
  select replace(p.oid::regprocedure::text, 'gmsi.', '') as name, p.prosecdef as is_definer,
         p.prorettype = 'trigger'::regtype as is_trigger, coalesce(array_to_string(p.proconfig, ', '), '') as settings,
         has_function_privilege('gmsi_reader', p.oid, 'execute') as for_reader,
         has_function_privilege('gmsi_loader', p.oid, 'execute') as for_loader,
         exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a where a.grantee = 0) as for_all
  from pg_proc p where p.pronamespace = 'gmsi'::regnamespace`;

describe('the catalog', () => {
  test('two functions run with their owner’s rights and a fixed search_path, and no reader may run them', async () => {
    expect(
      await rowsOf(
        `select name, settings, for_reader, for_loader, for_all from (${functions}) f where is_definer order by name`,
      ),
    ).toEqual([
      'ensure_month_partition(text,date) search_path=pg_catalog, pg_temp false true false',
      'refuse_moved() search_path=pg_catalog, pg_temp false false false',
    ]);
  });

  test('everybody may run what asks with their own rights, loaders some more, and nobody a trigger’s', async () => {
    const forAll = await rowsOf(`select name from (${functions}) f where for_all or for_reader`);
    expect(forAll.toSorted()).toEqual(
      [
        'as_of_delay()',
        'cause_of(text,daterange,datemultirange)',
        'day_facts(integer[],daterange)',
        'days_at(integer,timestamp with time zone)',
        'derive_days(integer)',
        'known_state(daterange,timestamp with time zone,timestamp with time zone,datemultirange,datemultirange,datemultirange,boolean,boolean,boolean)',
        'loss(bigint,bigint)',
        'losses(text)',
        'refuse_future(timestamp with time zone)',
        'refuse_days(date,date)',
        'refuse_unknown(text,text,text)',
        'sentiment_daily_as_known(date,date,text,text,text,interval,text,boolean,text)',
        'signals(timestamp with time zone[],text,text,text,interval,text,boolean,text,interval,double precision,boolean,text)',
        'novelty(date,date,text,text,text,interval)',
        'published_by(timestamp with time zone,text)',
        'series_days(text,text,text,text,text,text)',
        'moment(text)',
        'state_of(daterange,datemultirange,datemultirange,datemultirange,boolean)',
        'story_key(text)',
        'summable(double precision)',
        ...feedTables.map((table) => `${table}_as_of(timestamp with time zone)`),
      ].toSorted(),
    );
    expect(
      await rowsOf(`select name from (${functions}) f where for_loader and not for_all order by 1`),
    ).toEqual([
      'bound_transaction(timestamp with time zone)',
      'compact(interval,integer,integer)',
      'ensure_month_partition(text,date)',
      'losses_with(text,bigint,bigint)',
      'rebuild_rollups(date,date)',
      'refuse_late_commit()',
      'roll_up(text,text,text,timestamp with time zone,timestamp with time zone,boolean)',
      'series_to_roll_up(date,date)',
      'sync_from(date,datemultirange,date)',
      'wait_for_turn(text)',
    ]);
    expect(
      await rowsOf(`select name from (${functions}) f where is_trigger and (for_all or for_loader)`),
    ).toEqual([]);
  });

  test('every function is parsed, or looks names up in pg_catalog, and in the session’s own schema last', async () => {
    // Texts of SQL whose names all have their schemas, which the attack below shows.
    const asOf = feedTables.filter((table) => table !== 'headlines').map((table) => `${table}_as_of`);
    expect(
      await rowsOf(
        `select proname from pg_proc where pronamespace = 'gmsi'::regnamespace and prosqlbody is null
           and coalesce(array_to_string(proconfig, ', '), '') !~ '(^|, )search_path=pg_catalog, pg_temp(, [a-z_]+=|$)'
         order by proname collate "C"`,
      ),
    ).toEqual(asOf.toSorted());
  });

  test('no function waits for a lock that anybody may keep', async () => {
    expect(
      await rowsOf(
        `select proname from pg_proc where pronamespace = 'gmsi'::regnamespace and prosrc ~ 'advisory'`,
      ),
    ).toEqual([]);
  });

  test('nothing in the schema is granted to anybody but what is listed here', async () => {
    // Partitions have what their table has, and functions are listed above. The owner's own rights do not matter.
    const granted = await rowsOf(`
      with held (kind, name, owner, acl) as (
        select 'schema', nspname::text, nspowner, nspacl from pg_namespace where nspname = 'gmsi'
        union all
        select 'table', relname, relowner, relacl from pg_class
        where relnamespace = 'gmsi'::regnamespace and not relispartition
        union all
        select 'column', format('%s.%s', relname, attname), relowner, attacl
        from pg_class c join pg_attribute on attrelid = c.oid where relnamespace = 'gmsi'::regnamespace
        union all
        select 'type', typname, typowner, typacl from pg_type where typnamespace = 'gmsi'::regnamespace
        union all
        select 'default', defaclobjtype::text, defaclrole, defaclacl from pg_default_acl
      ), granted as (
        select kind, name, case when grantee = 0 then 'PUBLIC' else grantee::regrole::text end as grantee,
               string_agg(lower(privilege_type), '+' order by privilege_type) || case when bool_or(is_grantable) then ' to pass on' else '' end as privileges
        from held cross join aclexplode(acl) where grantee <> owner group by 1, 2, 3
      )
      select grantee || ': ' || privileges || ' on ' || kind, string_agg(name, ' ' order by name collate "C")
      from granted group by grantee, privileges, kind order by 1`);
    expect(granted).toEqual(expectedGrants);
  });

  test('a partition has what its table has, also one of a role with an odd name', async () => {
    const odd = sql.id(`someone_"odd" 'name', public`);
    await sqlIn(warehouse.db)`create role ${odd}; grant select, trigger on gmsi.headlines to ${odd}`;
    await loader.query(`select gmsi.ensure_month_partition('headlines', '2031-02-03')`);
    const granted = (table: string) =>
      rowsOf(`select grantee::regrole, privilege_type from pg_class, aclexplode(relacl)
              where oid = 'gmsi.${table}'::regclass and grantee <> relowner order by 1, 2`);
    expect(await granted('headlines_2031_02')).toEqual(await granted('headlines'));
    expect((await granted('headlines_2031_02')).length).toBe(6);
    await sqlIn(warehouse.db)`drop owned by ${odd} cascade; drop role ${odd}`;
  });
});

/** A temporary table that looks like gmsi.headlines to a trigger, whose first column becomes a text by somebody's own code. */
const bait = `
  create type pg_temp.odd as (number int);
  create function pg_temp.run(pg_temp.odd) returns text language plpgsql as $f$
    begin execute 'create table gmsi.taken ()'; return 'US'; end $f$;
  create cast (pg_temp.odd as text) with function pg_temp.run(pg_temp.odd) as implicit;
  create temporary table bait (country pg_temp.odd, topic text, match_type text, published_at timestamptz);`;

/** What is refused, each as it would be tried: the first part may well be allowed. */
const attacks: Record<string, { refused: RegExp; statements: readonly string[] }> = {
  'run code by a trigger function of the program, attached to a table of their own': {
    refused: /permission denied for function .*(roll_up_changes|keep_headline_revisions)/,
    statements: [
      `${bait} create trigger t after insert on bait referencing new table as new_rows
         for each statement execute function gmsi.roll_up_changes();
       insert into bait values (row(1), 'Inflation-Food', 'COMBINED', now());`,
      `${bait} create trigger t after truncate on bait for each statement execute function gmsi.roll_up_changes(); truncate bait`,
      `create temporary table mine (like gmsi.headlines);
       create trigger t after update on mine referencing old table as old_rows new table as new_rows
         for each statement execute function gmsi.keep_headline_revisions()`,
    ],
  },
  'get out of the database, turn triggers off, or become the owner': {
    refused:
      /permission denied (for function pg_read_file|to COPY|to set (parameter|role))|must be superuser/,
    statements: [
      `select pg_read_file('/etc/passwd')`,
      `copy (select 1) to program 'true'`,
      'set session_replication_role = replica',
      `do $$ begin execute format('set role %s', (select nspowner::regrole from pg_namespace where nspname = 'gmsi')); end $$`,
    ],
  },
};

describe.each(['reader', 'loader'] as const)('a %s cannot', (who) => {
  test.for(Object.entries(attacks))('%s', async ([, { refused, statements }]) => {
    const client = who === 'reader' ? reader : loader;
    for (const statement of statements)
      expect(await refusalOf(client, statement), statement).toMatch(refused);
  });
});

const noPartition = cases`
  of a table that is not partitioned | 'windows' | '2026-01-01' | gmsi\.windows is not a partitioned table
  of a partition | 'headlines_2026_09' | '2026-01-01' | is not a partitioned table
  of a table elsewhere | 'pg_class' | '2026-01-01' | is not a partitioned table
  of a name with SQL in it | 'headlines" cascade; --' | '2026-01-01' | is not a partitioned table
  of nothing | null | '2026-01-01' | is not a partitioned table
  before 1900 | 'headlines' | '1899-12-31' | not between 1900 and 2100
  after 2100 | 'headlines' | '2101-01-01' | not between 1900 and 2100
  at the end of time | 'headlines' | 'infinity' | not between 1900 and 2100
  at its beginning | 'headlines' | '-infinity' | not between 1900 and 2100
  before Christ | 'headlines' | '0044-03-15 BC' | not between 1900 and 2100
  of no month | 'headlines' | null | not between 1900 and 2100
`;

test.for(noPartition)('a loader makes no partition %s', async ([, parent, month, reason]) => {
  expect(await refusalOf(loader, `select gmsi.ensure_month_partition(${parent}, ${month})`)).toMatch(
    new RegExp(reason!),
  );
});

test('a loader makes one partition a month, whatever the day, and none of another owner’s table', async () => {
  await loader.query(`select gmsi.ensure_month_partition('ticker_headlines', d::date)
                      from unnest(array['2030-04-01', '2030-04-30', '2030-04-15']) as d`);
  expect(
    await rowsOf(
      `select relname, pg_get_expr(relpartbound, oid) from pg_class where relname ~ '^ticker_headlines_2030' and relkind = 'r'`,
    ),
  ).toEqual([
    `ticker_headlines_2030_04 FOR VALUES FROM ('2030-04-01 00:00:00+00') TO ('2030-05-01 00:00:00+00')`,
  ]);
  const name = `t${'x'.repeat(57)}`;
  await sqlIn(warehouse.db)`create table gmsi.foreigner (at timestamptz) partition by range (at);
                 alter table gmsi.foreigner owner to ${sql.raw(logins[1]!.name)};
                 create table gmsi.${sql.raw(name)} (at timestamptz) partition by range (at)`;
  try {
    expect(await refusalOf(loader, `select gmsi.ensure_month_partition('foreigner', '2026-01-01')`)).toMatch(
      /is not a partitioned table/,
    );
    expect(await refusalOf(loader, `select gmsi.ensure_month_partition('${name}', '2026-01-01')`)).toMatch(
      /too long/,
    );
  } finally {
    await sql.raw(`drop table gmsi.foreigner, gmsi.${name}`).execute(warehouse.db);
  }
});

test('granting again takes back what has been opened, and leaves what others have added to the schema alone', async () => {
  const other = logins[2]!.name;
  await sqlIn(warehouse.db)`
    create function gmsi.opened() returns int language sql security definer return 1;
    grant insert, update, delete on gmsi.kysely_migration to gmsi_loader;
    grant create on schema gmsi to ${sql.raw(other)};
    set role ${sql.raw(other)};
    create view gmsi.theirs as select 1 as one;
    create function gmsi.also_theirs() returns int language sql return 1;
    reset role`;
  try {
    expect(
      await rowsOf(`select has_function_privilege('${logins[0]!.name}', 'gmsi.opened()', 'execute')`),
    ).toEqual(['true']);
    await migrate(warehouse.db, { again: true });
    expect(
      await rowsOf(`select has_function_privilege('${logins[0]!.name}', 'gmsi.opened()', 'execute')`),
    ).toEqual(['false']);
    expect(await refusalOf(loader, `delete from gmsi.kysely_migration`)).toMatch(/permission denied/);
  } finally {
    await sqlIn(warehouse.db)`
      drop function gmsi.opened(); drop view gmsi.theirs; drop function gmsi.also_theirs();
      revoke create on schema gmsi from ${sql.raw(other)}`;
  }
});

test('a loader writes headlines, and the rollups follow with the loader’s own rights', async () => {
  await loader.query(`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, directional_score, is_backfilled, load_id)
    values (gen_random_uuid(), 'US', 'Loaded', 'COMBINED', '2026-09-02T10:00Z', 0.25, false, 1);
    update gmsi.headlines set retracted_at = now(), changed_at = clock_timestamp() where topic = 'Loaded' and false;
    update gmsi.headlines set directional_score = 0.75, changed_at = clock_timestamp() where topic = 'Loaded'`);
  expect(
    await rowsOf(
      `select headline_count, sentiment_sum from gmsi.sentiment_hourly where topic = 'Loaded' order by sentiment_type`,
    ),
  ).toEqual(['1 0.75', '0 0']);
  await loader.query(
    `update gmsi.headlines set retracted_at = now(), changed_at = clock_timestamp() where topic = 'Loaded'`,
  );
  expect(
    await rowsOf(
      `select 1 from gmsi.sentiment_hourly where topic = 'Loaded'
       union all select 1 from gmsi.sentiment_daily where topic = 'Loaded'`,
    ),
  ).toEqual([]);
});

/**
 * What somebody who may create in `public` can put in the way: what PostgreSQL has of itself, found first, and functions that fit a
 * type more closely. Of functions, those that a text in the schema could mean.
 */
const traps = `
  create function public.sprung() returns text language plpgsql as 'begin raise exception ''trapped''; end';
  do $$
  declare
    held record;
  begin
    for held in
      select proname, pg_get_function_identity_arguments(p.oid) as args, pg_get_function_result(p.oid) as result
      from pg_proc p
      where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f'
        and (p.oid in (select oprcode from pg_operator)
          or exists (select from pg_proc g where g.pronamespace = 'gmsi'::regnamespace and g.prosqlbody is null
                     and g.prosrc ~ ('\\m' || p.proname || '\\M')))
        and not exists (select from unnest(proargtypes || prorettype) as a (type) join pg_type t on t.oid = a.type
                        where typname !~ '^(text|date|timestamptz|interval|int[48]|float8|bool|uuid|jsonb|any(element|array|nonarray|range|multirange))$')
    loop
      execute format('create function public.%I(%s) returns %s language plpgsql as %L', held.proname, held.args, held.result,
                     'begin perform public.sprung(); end');
    end loop;
    for held in
      select oprname as name, oprleft::regtype as l, oprright::regtype as r, p.proname as trap
      from pg_operator join pg_proc p on p.oid = oprcode
      join pg_proc t on t.pronamespace = 'public'::regnamespace and t.proname = p.proname and t.proargtypes = p.proargtypes
      where oprnamespace = 'pg_catalog'::regnamespace and oprleft <> 0
    loop
      execute format('create operator public.%s (function = public.%I, leftarg = %s, rightarg = %s)', held.name, held.trap,
                     held.l, held.r);
    end loop;
  end $$;
  create function public.lower(datemultirange) returns date language sql as 'select public.sprung()::date';
  create function public.upper(datemultirange) returns date language sql as 'select public.sprung()::date';`;

/** Fills every feed's table but the headlines with a row and another version of it, and what the rollups' states are read from. */
const filled = `
  do $$
  declare
    held record;
  begin
    for held in
      select c.relname as name, c.relkind = 'p' as has_months, string_agg(quote_ident(attname), ', ') as columns,
             string_agg(case atttypid::regtype::text when 'text' then quote_literal('x') when 'uuid' then 'gen_random_uuid()'
               when 'timestamp with time zone' then quote_literal('2026-01-01') when 'boolean' then 'true' else '1' end, ', ') as row
      from pg_trigger t join pg_class c on c.oid = tgrelid
      join pg_attribute a on attrelid = c.oid and attnum > 0 and attnotnull and attgenerated = ''
      where tgfoid = 'gmsi.keep_row_revisions()'::regprocedure and tgparentid = 0 and not relispartition group by 1, 2
    loop
      if held.has_months then perform gmsi.ensure_month_partition(held.name, '2026-01-01'); end if;
      execute format('insert into gmsi.%I (%s) values (%s)', held.name, held.columns, held.row);
      execute format('update gmsi.%I set changed_at = %L', held.name, '2026-03-01');
    end loop;
  end $$;
  insert into gmsi.moments (name, at, taken_by) values ('then', '2026-02-01', 'x');`;

test('views and functions for analysts call nothing that somebody has put in the way, also for a superuser', async () => {
  await using other = await aWarehouse({ isNew: true });
  const { db } = other;
  for (const score of [0.5, 0.25])
    await upsert(db, [aRow({ headline: 'Prices rise', directional_score: score })]);
  await sql.raw(filled).execute(db);
  await aWindowIn(db, '2026-09-01', '2026-09-02', { first_unsettled: '2026-09-02' });
  const rows = await sqlIn(db)<{ source: string }>`
    select format('gmsi.%I', relname) as source from pg_class where relnamespace = 'gmsi'::regnamespace and relkind = 'v'
    union all
    select format('gmsi.%I(%L)', proname, moment) from pg_proc, unnest(array['2026-02-01', '2026-11-01']) as moment
    where pronamespace = 'gmsi'::regnamespace and proname ~ '_as_of$'`;
  expect(rows.length).toBeGreaterThan(30);
  const series = `'US', 'Inflation-Food'`;
  const sources = [
    ...rows.map(({ source }) => source),
    `gmsi.signals(array['2026-09-02'::timestamptz], ${series})`,
    `gmsi.novelty('2026-01-01', '2026-11-01', ${series})`,
    `gmsi.sentiment_daily_as_known('2026-09-01', '2026-09-02', ${series})`,
    `gmsi.series_days('gmsi-headlines', ${series}, '', 'COMBINED', '')`,
    `gmsi.state_of('[2026-09-01,2026-09-02)', '{[2026-09-01,2026-09-02)}', '{}', '{}', true)`,
    `gmsi.moment('then')`,
  ];
  await sql.raw(traps).execute(db);
  const client = new pg.Client({ connectionString: other.url });
  await client.connect();
  const refusal = (query: string) =>
    client.query(query).then(
      () => undefined,
      (error: Error) => error.message,
    );
  try {
    await client.query('set search_path = public, pg_catalog');
    expect(await refusal(`select from gmsi.windows where state = 'drained'`)).toBe('trapped');
    expect(await refusal('select lower(days) from gmsi.coverage')).toBe('trapped');
    const trapped: string[] = [];
    for (const source of sources) {
      const why = await refusal(`select * from ${source}`);
      if (why !== undefined) trapped.push(`${source}: ${why}`);
    }
    expect(trapped).toEqual([]);
  } finally {
    await client.end();
  }
});
