import { type Kysely, sql } from 'kysely';
import type { Database, Day } from '../tables/database.ts';
import { askedSeries, coverageOfAsked, inScope, period, type WindowScope } from './window-scope.ts';

/** What tells the series of one job apart. */
export interface SeriesKey {
  readonly country: string;
  readonly topic: string;
  readonly ticker: string;
  readonly variant: string;
}

export interface PlannedWindow extends SeriesKey {
  readonly first_day: Day;
  readonly last_day: Day;
}

/** Days that are neither covered nor in a window that is open or refused. */
export interface Gap extends SeriesKey {
  readonly from: Day;
  readonly to: Day;
}

/** Serialises planning of a feed, so that two runs do not both plan the same days; held until the transaction ends. */
export async function lockPlanning(db: Kysely<Database>, feed: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext('gmsi.plan'), hashtext(${feed}))`.execute(db);
}

/** Wanted days less covered days less days that a window stands for, per series, in the order of time. */
export async function findGaps(
  db: Kysely<Database>,
  scope: WindowScope,
  options: { ignoreCoverage: boolean },
): Promise<Gap[]> {
  const { rows } = await sql<Gap>`
    with standing as (
      select w.country, w.topic, w.ticker, w.variant, range_agg(w.days) as days
      from gmsi.windows w where ${inScope(scope)} and w.state in ('pending', 'draining', 'failed', 'refused')
      group by 1, 2, 3, 4
    )
    select asked.*, lower(gap)::text as from, (upper(gap) - 1)::text as to
    from ${askedSeries(scope)}
    left join standing on (standing.country, standing.topic, standing.ticker, standing.variant)
      = (asked.country, asked.topic, asked.ticker, asked.variant)
    left join ${coverageOfAsked(scope)}
    cross join lateral unnest(
      datemultirange(${period(scope)}) - coalesce(standing.days, '{}')
        - case when ${options.ignoreCoverage}::boolean then '{}' else coalesce(c.days, '{}') end
    ) as gap
    order by asked.country, asked.topic, asked.ticker, asked.variant, gap
  `.execute(db);
  return rows;
}

/** Takes back windows that nobody has begun and that are longer than a window may now be: they are planned afresh. */
export async function dropLongWindows(
  db: Kysely<Database>,
  scope: WindowScope,
  maxDays: number,
): Promise<void> {
  await sql`
    delete from gmsi.windows w
    where ${inScope(scope)} and w.state = 'pending' and w.pages = 0 and w.last_day - w.first_day + 1 > ${maxDays}::int
  `.execute(db);
}

export async function insertWindows(
  db: Kysely<Database>,
  scope: WindowScope,
  windows: readonly PlannedWindow[],
): Promise<void> {
  const column = (name: keyof PlannedWindow) => windows.map((window) => window[name]);
  await sql`
    insert into gmsi.windows (feed, match_type, country, topic, ticker, variant, first_day, last_day)
    select ${scope.feed}, ${scope.matchType}, planned.*
    from unnest(${column('country')}::text[], ${column('topic')}::text[], ${column('ticker')}::text[],
                ${column('variant')}::text[], ${column('first_day')}::date[], ${column('last_day')}::date[]) as planned
  `.execute(db);
}

/** Makes refused windows of a job pending again. */
export async function reopenRefused(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  await sql`update gmsi.windows w set state = 'pending' where ${inScope(scope)} and w.state = 'refused'`.execute(
    db,
  );
}
