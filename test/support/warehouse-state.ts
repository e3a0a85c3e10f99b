import { type Kysely, sql } from 'kysely';
import { expect, vi } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { Database } from '../../src/warehouse/database.ts';
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

/** Days of one window of the usual series, drained unless it is said otherwise. */
export async function aWindowIn(db: Warehouse, first_day: string, last_day: string, values: object = {}) {
  const window = { ...series, first_day, last_day, state: 'drained' as const, ...values };
  await db.insertInto('gmsi.windows').values(window).execute();
}

/** Lets days of the usual series count as covered. */
export async function coverIn(db: Warehouse, days: string, values: object = {}): Promise<void> {
  await db
    .insertInto('gmsi.coverage')
    .values({ ...series, days, ...values })
    .execute();
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

/** Lets days of the usual series count as watched, each from its moment on. */
export async function watchIn(db: Warehouse, days: Readonly<Record<string, string>>): Promise<void> {
  for (const [day, from] of Object.entries(days))
    await sqlIn(db)`
      insert into gmsi.watched (feed, country, topic, ticker, match_type, variant, day, watched_from)
      values (${series.feed}, ${series.country}, ${series.topic}, '', ${series.match_type}, '', ${day}, ${from})`;
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
