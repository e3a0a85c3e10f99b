import { type Kysely, sql } from 'kysely';
import type { Feed } from '../../feeds/feed.ts';
import type { Database } from '../tables/database.ts';

/** How old rows of a feed are when they change or come late. */
export interface ChangeAges {
  readonly changes: number;
  /** Calendar days (UTC) within which 99% of them were seen; `null` where there were none. */
  readonly days: number | null;
}

/** As measured in the last day; `undefined` where it is to be measured again. */
export async function storedChangeAges(
  db: Kysely<Database>,
  feed: string,
  now: Date,
): Promise<ChangeAges | undefined> {
  const { rows } = await sql<ChangeAges>`
    select changes, days from gmsi.change_ages
    where feed = ${feed} and measured_at > ${now}::timestamptz - interval '1 day' and measured_at <= ${now}
  `.execute(db);
  return rows[0];
}

/**
 * Measures them over the last 90 days, and remembers it. Versions that the service replaced count, and rows that were
 * seen a day or more after their publication; of series that were ever left out of a sync the late rows do not: those
 * were late by our own doing. A change is as old as it was when seen, so days that are drained again seldom make it
 * look older, never younger.
 */
export async function measureChangeAges(
  db: Kysely<Database>,
  { name, table }: Feed,
  now: Date,
): Promise<ChangeAges> {
  const time = table.key.find((column) => table.columns[column] === 'timestamptz');
  if (time === undefined) return { changes: 0, days: null };
  const dayOf = (instant: unknown) => sql`(${instant} at time zone 'UTC')::date`;
  const recent = sql`between ${now}::timestamptz - interval '90 days' and ${now}`;
  const changed =
    table.name === 'headlines'
      ? sql`select ${dayOf(sql`known_to`)} - ${dayOf(sql`published_at`)} as days from gmsi.headline_revisions
            where reason in ('rescored', 'text changed') and known_to ${recent}`
      : sql`select ${dayOf(sql`known_to`)} - ${dayOf(sql`(version ->> ${time})::timestamptz`)} as days
            from gmsi.revisions where table_name = ${table.name} and reason = 'changed' and known_to ${recent}`;
  const ofItsSeries = Object.entries(table.series).flatMap(([column, part]) =>
    typeof part === 'string'
      ? [sql`${sql.ref(`k.${part === 'matchType' ? 'match_type' : part}`)} = ${sql.ref(`r.${column}`)}`]
      : [],
  );
  const at = sql.ref(`r.${time}`);
  const { rows } = await sql<ChangeAges>`
    with late as (
      select ${dayOf(sql`r.first_seen_at`)} - ${dayOf(at)} as days from gmsi.${sql.ref(table.name)} r
      where ${at} ${recent} and not r.is_backfilled and r.first_seen_at > ${at} + interval '1 day'
        and not exists (select from gmsi.cadence k where k.feed = ${name} and k.left_out > 0
                          and ${sql.join([sql`true`, ...ofItsSeries], sql` and `)})
    ), seen as (${changed} union all select days from late)
    insert into gmsi.change_ages (feed, measured_at, changes, days)
    select ${name}, ${now}, count(*), percentile_disc(0.99) within group (order by days) from seen
    on conflict (feed) do update
      set measured_at = excluded.measured_at, changes = excluded.changes, days = excluded.days
    returning changes, days
  `.execute(db);
  return rows[0]!;
}
