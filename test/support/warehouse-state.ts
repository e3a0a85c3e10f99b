import { type Kysely, type SqlBool, sql } from 'kysely';
import { expect, vi } from 'vitest';
import type { Series } from '../../src/feeds/feed.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { idOfSeries, seriesColumns, seriesValues } from '../../src/warehouse/tables/series.ts';
import { series } from '../warehouse/a-row.ts';

/** Runs a statement, as in sqlIn(db)<Row>`select …`, and returns its rows. */
export function sqlIn(db: Kysely<Database>) {
  return async <Row = unknown>(...statement: Parameters<typeof sql>): Promise<Row[]> =>
    (await sql<Row>(...statement).execute(db)).rows;
}

/** Every window, in the order of planning. */
export function windowsOf(db: Warehouse) {
  return db.selectFrom('gmsi.windows').selectAll().orderBy('window_id').execute();
}

/** The covered days of each series, `country topic match_type` to a multirange such as `{[2026-09-01,2026-10-01)}`. */
export async function coverageOf(db: Warehouse): Promise<Record<string, string>> {
  const rows = await db.selectFrom('gmsi.coverage').selectAll().execute();
  const covered = rows.filter(({ days }) => days !== '{}');
  return Object.fromEntries(
    covered.map((row) => [`${row.country} ${row.topic} ${row.match_type}`, row.days]),
  );
}

/** Lists the usual country and topic, as `gmsi lookups` does: functions for analysts refuse names that nothing knows. */
export async function listIn(db: Kysely<Database>): Promise<void> {
  await sqlIn(db)`insert into gmsi.countries (country, name) values (${series.country}, 'United States')`;
  await sqlIn(db)`insert into gmsi.topics (topic) values (${series.topic})`;
}

type Values = Readonly<Record<string, unknown>>;

/** Returns the series that values name, the usual one by default. */
function partsOf(values: Values): Series {
  const parts = Object.entries(series).map(([part, usual]) => [part, values[part] ?? usual]);
  return Object.fromEntries(parts) as unknown as Series;
}

/** Returns the number of the series that values name, which gets one if it has none. */
async function seriesIdIn(db: Kysely<Database>, values: Values): Promise<number> {
  const of = partsOf(values);
  await sqlIn(
    db,
  )`insert into gmsi.series (${seriesColumns}) values (${seriesValues(of)}) on conflict do nothing`;
  const [{ id }] = (await sqlIn(db)<{ id: number }>`select ${idOfSeries(of)} as id`) as [{ id: number }];
  return id;
}

/** Records whole readings with these columns, but not yet what follows from them. */
async function readIn(db: Kysely<Database>, readings: readonly Values[]): Promise<number[]> {
  const whole = readings.map((columns) => ({
    load_id: 1,
    source: 'w',
    is_whole: true,
    is_first: true,
    ...columns,
  }));
  const rows = await db
    .insertInto('gmsi.readings')
    .values(whole as never)
    .returning('reading_id')
    .execute();
  return rows.map(({ reading_id }) => reading_id);
}

/** Derives the days of these series from their readings, or of all series. */
async function deriveIn(db: Kysely<Database>, ids: readonly number[] | null = null): Promise<void> {
  const isAsked = (alias: string) =>
    ids ? sql`${sql.ref(`${alias}.series_id`)} = any(${[...ids]}::int[])` : sql`true`;
  await sqlIn(db)`delete from gmsi.series_days c where ${isAsked('c')}`;
  await sqlIn(db)`
    insert into gmsi.series_days
    select d.series_id, d.touched, d.loaded, d.whole, d.covered, d.watch_here, d.watch_on, d.watch_from, now()
    from gmsi.series s cross join lateral gmsi.derive_days(s.series_id) as d
    where ${isAsked('s')} and exists (select from gmsi.readings r where r.series_id = s.series_id)`;
}

/** The columns of the ledger's tables, by the names that `gmsi.windows` has for them. */
const drainedNames = {
  drain_started_at: 'asked_at',
  first_unsettled: 'settled_before',
  finished_at: 'completed_at',
};
const openNames = { ...drainedNames, finished_at: 'left_at' };

function renamed(values: object, names: Readonly<Record<string, string>>): Record<string, unknown> {
  const renamed = Object.entries(values).map(([name, value]) => [names[name] ?? name, value]);
  return Object.fromEntries(renamed.filter(([name]) => !(name in series)));
}

/**
 * Adds windows, of the usual series and drained unless they say otherwise. A drained one was asked when it was complete, and all of
 * its days were settled, unless it says otherwise. @returns the ids of the windows
 */
export async function windowsIn(db: Kysely<Database>, windows: readonly object[]): Promise<number[]> {
  const ids: number[] = [];
  const named = new Map<string, number>();
  let drained: Values[] = [];
  const record = async () => {
    if (drained.length > 0) ids.push(...(await readIn(db, drained)));
    drained = [];
  };
  for (const window of windows as readonly Values[]) {
    const { state = 'drained', ...values } = window;
    const key = JSON.stringify(partsOf(values));
    const series_id = named.get(key) ?? (await seriesIdIn(db, values));
    named.set(key, series_id);
    if (state === 'drained') {
      const { window_id, is_compared, ...columns } = renamed(values, drainedNames);
      const after = new Date(Date.parse(`${columns.last_day}`) + 86_400_000).toISOString().slice(0, 10);
      const { completed_at = new Date().toISOString(), settled_before = after } = columns;
      const asked_on = after > `${settled_before}` ? after : settled_before;
      drained.push({
        ...{ series_id, asked_at: completed_at, asked_on, completed_at, settled_before },
        ...columns,
        ...(window_id ? { reading_id: window_id } : {}),
        ...(is_compared ? { rows_held: 1 } : {}),
      });
      // A statement has a limited number of values.
      if (drained.length === 500) await record();
      continue;
    }
    await record();
    const cause = { failed: 'temporary', refused: 'refused' }[state as string];
    const columns = { ...(cause ? { cause } : {}), ...renamed(values, openNames), state, series_id };
    const query = db.insertInto('gmsi.queue').values(columns).returning('window_id');
    ids.push((await query.executeTakeFirstOrThrow()).window_id);
  }
  await record();
  await deriveIn(db, [...named.values()]);
  return ids;
}

/** Adds one window. @returns its id */
export async function aWindowIn(
  db: Kysely<Database>,
  first_day: string,
  last_day: string,
  values: object = {},
): Promise<number> {
  return (await windowsIn(db, [{ first_day, last_day, ...values }]))[0]!;
}

const windowsWhere = (where: object) => {
  const conditions = Object.entries(where).map(([column, value]) => sql`${sql.ref(column)} = ${value}`);
  return sql`(select window_id from gmsi.windows where ${sql.join([sql`true`, ...conditions], sql` and `)})`;
};

/** Changes windows that are not drained. */
export async function changeWindowsIn(
  db: Kysely<Database>,
  values: object,
  where: object = {},
): Promise<void> {
  const query = db.updateTable('gmsi.queue').set(renamed(values, openNames));
  await query.where(sql<SqlBool>`window_id in ${windowsWhere(where)}`).execute();
}

/** Lets windows have ended so much earlier, such as `1 day`. */
export async function ageWindowsIn(db: Kysely<Database>, by: string, where: object = {}): Promise<void> {
  await sqlIn(db)`
    update gmsi.readings set asked_at = asked_at - ${by}::interval, completed_at = completed_at - ${by}::interval
    where reading_id in ${windowsWhere(where)}`;
  await sqlIn(db)`
    update gmsi.queue set left_at = left_at - ${by}::interval where window_id in ${windowsWhere(where)}`;
  await deriveIn(db);
}

/** Deletes windows that are not drained. */
export async function forgetOpenIn(db: Kysely<Database>): Promise<void> {
  await sqlIn(db)`delete from gmsi.queue`;
}

/** Deletes windows, and what they have covered. */
export async function forgetWindowsIn(db: Kysely<Database>, where: object = {}): Promise<void> {
  await sqlIn(db)`delete from gmsi.readings where reading_id in ${windowsWhere(where)}`;
  await sqlIn(db)`delete from gmsi.queue where window_id in ${windowsWhere(where)}`;
  await deriveIn(db);
}

/** Forgets what was read of all series. */
export async function forgetDaysIn(db: Kysely<Database>): Promise<void> {
  await sqlIn(db)`delete from gmsi.readings`;
  await deriveIn(db);
}

/** Forgets every window, and what is loaded. */
export async function forgetAllIn(db: Kysely<Database>): Promise<void> {
  await forgetOpenIn(db);
  await forgetDaysIn(db);
}

/** Lets days of the usual series, one range, count as covered by a file. */
export async function coverIn(db: Kysely<Database>, days: string, values: object = {}): Promise<void> {
  const ranges = await sqlIn(db)<{ first_day: string; last_day: string; end: string }>`
    select lower(d)::text as first_day, (upper(d) - 1)::text as last_day, upper(d)::text as end
    from unnest(${days}::datemultirange) as d`;
  const id = await seriesIdIn(db, values as Values);
  const about = { series_id: id, asked_at: new Date().toISOString(), source: 'f' };
  const of = (end: string) => ({
    ...about,
    asked_on: end,
    settled_before: end,
    ...renamed(values, drainedNames),
  });
  await readIn(
    db,
    ranges.map(({ end, ...range }) => ({ ...range, ...of(end) })),
  );
  await deriveIn(db, [id]);
}

/** Lets days of all series of a country no longer count as loaded. */
export async function uncoverIn(db: Kysely<Database>, days: string, { country = 'US' } = {}): Promise<void> {
  await sqlIn(db)`
    update gmsi.series_days
    set touched = touched - ${days}::datemultirange, loaded = loaded - ${days}::datemultirange,
        whole = whole - ${days}::datemultirange, covered = covered - ${days}::datemultirange
    where series_id in (select series_id from gmsi.series where country = ${country})`;
}

/** Lets the usual series have been polled, without news since `news_at`. */
export async function pollIn(
  db: Kysely<Database>,
  polls: { readonly polled_at: string; readonly news_at: string },
  values: object = {},
): Promise<void> {
  const id = await seriesIdIn(db, values as Values);
  for (const [asked_at, rows_inserted] of [
    [polls.news_at, 1],
    [polls.polled_at, 0],
  ] as const) {
    const day = new Date(asked_at).toISOString().slice(0, 10);
    const days = { first_day: day, last_day: day, asked_on: day, settled_before: day };
    await readIn(db, [{ series_id: id, ...days, asked_at, completed_at: asked_at, rows_inserted }]);
  }
  await deriveIn(db, [id]);
}

/**
 * Lets the usual series have been watched since the beginning of the first of these days, each of which was first read whole at its
 * moment; `null`: not since it was over.
 */
export async function watchIn(db: Warehouse, days: Readonly<Record<string, string | null>>): Promise<void> {
  const [begin] = Object.keys(days).sort();
  const id = await seriesIdIn(db, {});
  const read = (day: string, asked_on: string, completed_at: string) => ({
    ...{ series_id: id, first_day: day, last_day: day, settled_before: day },
    ...{ asked_on, asked_at: completed_at, completed_at },
  });
  const dayAfter = (day: string) => new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
  await readIn(db, [
    read(begin!, begin!, `${begin}T00:00:00Z`),
    ...Object.entries(days).map(([day, from]) =>
      from === null ? read(day, day, `${day}T23:59:00Z`) : read(day, dayAfter(day), from),
    ),
  ]);
  await deriveIn(db, [id]);
}

/** Lets a field `mood` have appeared in the last of two loads of headlines. */
export async function aNewField(db: Warehouse): Promise<void> {
  await sql`
    with loads as (
      insert into gmsi.loads (command, job, feed, run_by, started_at)
      select 'sync', 'j', 'gmsi-headlines', 'test', now() - days * interval '1 day' from unnest(array[30, 0]) as days
      returning load_id)
    insert into gmsi.wire_fields (feed, field, first_load_id, last_load_id, kept_in)
    select 'gmsi-headlines', field, case field when 'id' then min(load_id) else max(load_id) end, max(load_id), 'extra'
    from loads cross join unnest(array['id', 'mood']) as field group by field`.execute(db);
}

/** The rows of a table of the warehouse. */
export async function countRows(db: Warehouse, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) from ${sql.table(`gmsi.${table}`)}`.execute(
    db,
  );
  return rows[0]!.count;
}

/** Requests booked for all keys in all months. */
export async function requestsBooked(db: Warehouse): Promise<number> {
  const months = await db.selectFrom('gmsi.api_usage').select('requests').execute();
  return months.reduce((sum, { requests }) => sum + requests, 0);
}

/** Resolves once a session waits for the lock of another one. */
export async function untilOneWaits(db: Warehouse): Promise<void> {
  const waiting = sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const isSo = async () => expect((await waiting.execute(db)).rows).toHaveLength(1);
  await vi.waitFor(isSo, { timeout: 20_000, interval: 10 });
}
