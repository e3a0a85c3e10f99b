import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSandbox } from '#sandbox';
import { catalog } from '../../src/feeds/catalog.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { checkAll } from '../check/loaded.ts';
import { accessTo, aFolder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { jobFor } from '../cli/jobs.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { anEmptyDatabase, type TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { aRow, upsert } from './a-row.ts';
import { newConnections, setOddly, traps } from './odd-database.ts';

/** What desks add to a table of theirs; the last names are those that queries of the program use for something else. */
const added = `
  -- Or PostgreSQL refuses the indexes of this session.
  set default_tablespace = '';
  alter table gmsi.headlines
    add column desk_note text,
    add column region text not null default 'EMEA',
    add column title_length integer generated always as (length(headline)) stored,
    add column "Odd "" näme" double precision default 0.5,
    add column day date generated always as ((published_at at time zone 'UTC')::date) stored,
    add column hour integer not null default 7,
    add column setting text[] default '{a,b}',
    add column kept jsonb default '{"a": 1}',
    add column tolerance double precision default 3, add column share numeric default 0.25,
    add column least integer default 9, add column weight double precision,
    add check (hour < 24);
  create index on gmsi.headlines (lower(headline) text_pattern_ops) where language is not null;
  create unique index on gmsi.headlines (country, topic, match_type, published_at, headline_id, source);
  create index on gmsi.headlines using brin (first_seen_at);
  create index on gmsi.headline_revisions (reason);
  alter table gmsi.headline_revisions add column desk_note text, add column region text not null default 'none';
  create statistics gmsi.desk on country, topic from gmsi.headlines;
  create view gmsi.desk_headlines as select * from gmsi.headlines;
  create view public.desk_headlines as
    select h.*, length(h.headline) as longer from gmsi.headlines h join gmsi.headlines_point_in_time p using (headline_id);
  create view public.desk_then as select * from gmsi.headlines_as_of('2026-11-01');
  create materialized view public.desk_daily as select * from gmsi.sentiment_daily;
  create rule desk as on delete to gmsi.desk_headlines do instead nothing;
  alter table gmsi.series add column desk text; alter table gmsi.series_days add column desk text;
  alter table gmsi.readings add column desk text; alter table gmsi.queue add column desk text default 'x';`;

/** Of newer servers: values that are made when read (18), and numbers of partitioned tables (17). */
const newer: [from: number, statement: string][] = [
  [
    180_000,
    'alter table gmsi.headlines add column is_long boolean generated always as (length(headline) > 80) virtual',
  ],
  [170_000, 'alter table gmsi.headlines add column number bigint generated always as identity'],
];

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-11-19' };
const job = aJobFor(scope, { end_date: 'today', lookback: 'P3D', step: 'P30D' });

describe('with columns, indexes and views that somebody has added, odd settings, and functions in the way', () => {
  let warehouse: TestWarehouse;
  let db: Warehouse;
  let now = new Date('2026-11-05T12:00:00Z');
  let before: string;

  /** Loads while there is a partition already, changes, syncs and drains again. */
  beforeAll(async () => {
    // Not one that an earlier test has left: what its connections prepared would not know the columns.
    warehouse = await anEmptyDatabase();
    await sql.raw(traps).execute(warehouse.db);
    await setOddly(warehouse);
    db = newConnections(warehouse);
    await migrate(db);
    await sql.raw(`select gmsi.ensure_month_partition('headlines', '2026-10-01')`).execute(db);
    await sql.raw(added).execute(db);
    const { rows } = await sql<{ number: number }>`
      select current_setting('server_version_num')::int as number`.execute(db);
    for (const [from, statement] of newer) if (rows[0]!.number >= from) await sql.raw(statement).execute(db);
    const changes = { revised: 0.3, withdrawn: 0.1 };
    await using sandbox = await startSandbox({ limits: null, volume: 0.3, clock: () => now, changes });
    const run = { job, db, sandbox, clock: () => now };
    expect(await runBackfill(run)).toMatchObject({ outcome: 'done' });
    before = (await sql<{ at: string }>`select clock_timestamp()::text as at`.execute(db)).rows[0]!.at;
    now = new Date('2026-11-20T12:00:00Z');
    expect(await runSync(run)).toMatchObject({ outcome: 'done' });
    expect(await runBackfill({ ...run, plan: refresh })).toMatchObject({
      outcome: 'done',
    });
    const settled = { ...scope, to: '2026-11-10' };
    expect(await heldBy(db, settled)).toEqual(servedBy(sandbox, settled));
    expect((await heldBy(db, settled)).length).toBeGreaterThan(100);
  }, 120_000);
  afterAll(async () => {
    await db.destroy();
    await warehouse[Symbol.asyncDispose]();
  });

  test('loads, revisions and retractions are what they are without', async () => {
    const { rows } = await sql<Record<string, number>>`
      select count(*) filter (where reason = 'retracted') as retracted, count(*) filter (where reason <> 'retracted') as changed,
             (select count(*) from gmsi.headlines where retracted_at is not null) as gone,
             (select count(*) from gmsi.headlines where region <> 'EMEA' or title_length <> length(headline)) as wrong
      from gmsi.headline_revisions`.execute(db);
    expect(rows[0]!.retracted).toBeGreaterThan(0);
    expect(rows[0]).toMatchObject({ gone: rows[0]!.retracted, wrong: 0 });
    expect(rows[0]!.changed).toBeGreaterThan(0);
  });

  test('the table as of a past moment is what it was then', async () => {
    const { rows } = await sql<{ then: number; revised: number; columns: number }>`
      select count(*) as then, count(*) filter (where h.changed_at > ${before}::timestamptz) as revised,
             (select count(*) from gmsi.headlines where first_seen_at <= ${before}::timestamptz) as columns
      from gmsi.headlines_as_of(${before}::timestamptz) as t join gmsi.headlines h using (headline_id)`.execute(
      db,
    );
    expect(rows[0]!.then).toBe(rows[0]!.columns);
    expect(rows[0]!.revised).toBeGreaterThan(0);
    expect((await sql`select from public.desk_then limit 1`.execute(db)).rows.length).toBeLessThan(2);
  });

  test('a partition of a month to come has all of it', async () => {
    await upsert(db, [aRow({ published_at: '2027-05-01T00:00:00Z', headline: 'Later' })]);
    const { rows } = await sql`
      select tableoid::regclass::text as part, region, title_length, day from gmsi.headlines where headline = 'Later'`.execute(
      db,
    );
    expect(rows).toEqual([
      { part: 'gmsi.headlines_2027_05', region: 'EMEA', title_length: 5, day: '2027-05-01' },
    ]);
    const { rows: indexes } = await sql<{ parts: number }>`
      select count(*) as parts from pg_index where indrelid = 'gmsi.headlines_2027_05'::regclass`.execute(db);
    const { rows: parents } = await sql<{ parts: number }>`
      select count(*) as parts from pg_index where indrelid = 'gmsi.headlines'::regclass`.execute(db);
    expect(indexes).toEqual(parents);
    await sql`delete from gmsi.headlines where headline = 'Later'`.execute(db);
  });

  test('the rollups are what the headlines add up to', async () => {
    const { rows } = await sql<{ headlines: number; summed: number; wrong: number }>`
      select (select count(*) from gmsi.headlines where retracted_at is null and directional_score is not null) as headlines,
             (select sum(headline_count) from gmsi.sentiment_hourly where sentiment_type = 'directional') as summed,
             gmsi.rebuild_rollups() as wrong`.execute(db);
    expect(rows[0]).toMatchObject({ summed: rows[0]!.headlines, wrong: 0 });
    expect((await sql`select from gmsi.sentiment_daily`.execute(db)).rows.length).toBeGreaterThan(50);
  });

  test('every check runs, and finds what it finds without', async () => {
    const found = await checkAll(db, job);
    expect(found.map(({ check, result }) => `${check.name} ${result}`)).toEqual(
      expect.arrayContaining([
        'gaps passed',
        'rollups passed',
        'volume passed',
        'silent-days passed',
        'score-sums passed',
      ]),
    );
    expect(found.filter(({ result }) => result === 'failed').map(({ check }) => check.name)).toEqual([]);
  });

  test('the commands work: export with the columns, as of a moment without them, repair, migrate', async () => {
    await using sandbox = await startSandbox({ limits: null, clock: () => now });
    await using folder = await aFolder();
    await folder.write('job.yaml', jobFor({ ...scope, to: '2026-10-31' }));
    const setting = { cwd: folder.path, env: accessTo(warehouse, sandbox) };
    for (const args of [
      ['export', 'job.yaml', '--out', 'now', '--format', 'csv'],
      ['check', '--repair', 'rollups'],
      ['check', '--repair', 'records', 'job.yaml'],
      ['migrate'],
      ['export', 'job.yaml', '--out', 'then', '--format', 'csv', '--as-of', new Date(before).toISOString()],
    ]) {
      // Nothing is written any more when a past moment is asked for.
      if (args.includes('--as-of')) await setAsOfDelay(db, 0);
      const { code, stderr, stdout } = await gmsiHere(args, setting);
      expect([args.join(' '), code, code === 0 ? '' : stdout + stderr]).toEqual([args.join(' '), 0, '']);
    }
    const head = async (name: string) => {
      const [file] = await readdir(`${folder.path}/${name}`, { recursive: true }).then((all) =>
        all.filter((path) => path.endsWith('.csv')),
      );
      return (await readFile(`${folder.path}/${name}/${file}`, 'utf8')).split('\n')[0]!;
    };
    expect(await head('now')).toContain('desk_note,region,title_length');
    expect(await head('then')).toMatch(/^headline_id,.*window_id/);
    expect(await head('then')).not.toMatch(/desk_note|region|title_length/);
  });
});

test('views of somebody’s on all of it stay when the schema is upgraded and gets new columns', async () => {
  await using database = await anEmptyDatabase();
  const { db } = database;
  await migrate(db);
  const { rows: relations } = await sql<{ name: string; source: string }>`
    select relname as name, format('gmsi.%I', relname) as source from pg_class
    where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p', 'v')
      and has_table_privilege('gmsi_reader', oid, 'select')
    union all
    select proname, format('gmsi.%I(''2026-01-01'')', proname) from pg_proc
    where pronamespace = 'gmsi'::regnamespace and proname ~ '_as_of$'`.execute(db);
  expect(relations.length).toBeGreaterThan(30);
  for (const { name, source } of relations)
    await sql.raw(`create view public.on_${name} as select * from ${source}`).execute(db);
  await sql`create table public.kept as select version from gmsi.headlines_as_of(now()) as version`.execute(
    db,
  );
  await sql`alter table gmsi.headlines add column desk_note text`.execute(db);
  await upsert(db, [aRow()]);
  for (const { table } of catalog.values())
    await sql.raw(`alter table gmsi.${table.name} add column added_later double precision`).execute(db);
  await sql
    .raw(
      `alter table gmsi.headline_revisions add column added_later double precision;
       alter type gmsi.headline_version add attribute added_later double precision cascade`,
    )
    .execute(db);
  await migrate(db, { again: true });
  for (const { table } of catalog.values()) {
    const { rows } = await sql`
      select added_later from ${sql.table(`gmsi.${table.name}_as_of`)}(clock_timestamp())`.execute(db);
    expect(rows).toEqual(table.name === 'headlines' ? [{ added_later: null }] : []);
  }
  const change = (to: number) =>
    sql`update gmsi.headlines set added_later = ${to}, desk_note = 'x', changed_at = clock_timestamp()`.execute(
      db,
    );
  for (const score of [0.25, 0.5]) await change(score);
  const { rows: versions } = await sql`
    select v.added_later, v.reason, past.added_later as past, past.changed_at = v.known_from as is_it
    from gmsi.headlines_point_in_time v cross join lateral gmsi.headlines_as_of(v.known_from) as past
    order by v.known_from`.execute(db);
  expect(versions).toEqual([
    { added_later: null, reason: 'rescored', past: null, is_it: true },
    { added_later: 0.25, reason: 'rescored', past: 0.25, is_it: true },
    { added_later: 0.5, reason: null, past: 0.5, is_it: true },
  ]);
  for (const { name } of relations) await sql.raw(`select * from public.on_${name}`).execute(db);
});
