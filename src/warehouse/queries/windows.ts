import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database, Day, SeriesColumns, WindowState } from '../tables/database.ts';

/** Which windows belong to a job: its series and its period. */
export interface WindowScope {
  readonly feed: string;
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly matchType: string;
  readonly from: Day;
  readonly to: Day;
}

/** A window that this load alone may drain, for as long as the load shows signs of life. */
export interface ClaimedWindow {
  readonly window_id: number;
  readonly country: string;
  readonly topic: string;
  readonly match_type: string;
  readonly first_day: Day;
  readonly last_day: Day;
  readonly request_start: Day | null;
  readonly request_end: Day | null;
  readonly page_size: number | null;
  readonly next_token: string | null;
  readonly pages: number;
  readonly attempts: number;
}

export interface PlannedWindow {
  readonly country: string;
  readonly topic: string;
  readonly first_day: Day;
  readonly last_day: Day;
}

/** Days that are neither covered nor in a window that is open or refused. */
export interface Gap {
  readonly country: string;
  readonly topic: string;
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
      select w.country, w.topic, range_agg(w.days) as days
      from gmsi.windows w where ${inScope(scope)} and w.state in ('pending', 'draining', 'failed', 'refused')
      group by w.country, w.topic
    )
    select asked.country, asked.topic, lower(gap)::text as from, (upper(gap) - 1)::text as to
    from (select country, topic from unnest(${[...scope.countries]}::text[]) as country
          cross join unnest(${[...scope.topics]}::text[]) as topic) as asked
    left join standing on standing.country = asked.country and standing.topic = asked.topic
    left join gmsi.coverage c on c.feed = ${scope.feed} and c.match_type = ${scope.matchType}
      and c.country = asked.country and c.topic = asked.topic
    cross join lateral unnest(
      datemultirange(${period(scope)}) - coalesce(standing.days, '{}')
        - case when ${options.ignoreCoverage}::boolean then '{}' else coalesce(c.days, '{}') end
    ) as gap
    order by 1, 2, gap
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
    insert into gmsi.windows (feed, match_type, country, topic, first_day, last_day)
    select ${scope.feed}, ${scope.matchType}, planned.*
    from unnest(${column('country')}::text[], ${column('topic')}::text[],
                ${column('first_day')}::date[], ${column('last_day')}::date[]) as planned
  `.execute(db);
}

/** Makes refused windows of a job pending again. */
export async function reopenRefused(db: Kysely<Database>, scope: WindowScope): Promise<void> {
  await sql`update gmsi.windows w set state = 'pending' where ${inScope(scope)} and w.state = 'refused'`.execute(
    db,
  );
}

/**
 * Claims the next window of a job: half-drained ones first, then in the order asked for, all series in turn. Free are
 * pending windows, windows that another run failed at, and those of a run that has been silent for longer than the lease.
 */
export async function claimWindow(
  db: Kysely<Database>,
  scope: WindowScope,
  run: { loadId: number; leaseSeconds: number; order: 'newest-first' | 'oldest-first' },
): Promise<ClaimedWindow | undefined> {
  const direction = sql.raw(run.order === 'newest-first' ? 'desc' : 'asc');
  // Two steps, so that each is the head of an index scan, however many windows are pending.
  for (const step of [sql`w.next_token is not null`, sql`w.next_token is null`]) {
    const { rows } = await sql<ClaimedWindow>`
      update gmsi.windows set state = 'draining', load_id = ${run.loadId}, attempts = attempts + 1, restarts = 0
      where window_id = (
        select w.window_id from gmsi.windows w
        where ${inScope(scope)} and ${isOpen} and ${step} and ${isFree(run)}
        order by w.last_day ${direction}, w.country ${direction}, w.topic ${direction}
        limit 1 for update of w skip locked
      )
      returning window_id, country, topic, match_type, first_day, last_day, request_start, request_end,
                page_size, next_token, pages, attempts
    `.execute(db);
    if (rows[0]) return rows[0];
  }
  return undefined;
}

/** Windows of a job that are still to be drained: free ones, and ones that another living run holds. */
export async function countOpen(
  db: Kysely<Database>,
  scope: WindowScope,
  run: { loadId: number; leaseSeconds: number },
): Promise<{ free: number; held: number }> {
  const { rows } = await sql<{ free: number; held: number }>`
    select count(*) filter (where ${isFree(run)}) as free,
           count(*) filter (where w.state = 'draining' and w.load_id <> ${run.loadId} and not ${isFree(run)}) as held
    from gmsi.windows w where ${inScope(scope)} and ${isOpen}
  `.execute(db);
  return rows[0]!;
}

export type WindowsByState = Record<WindowState, number>;

/** How many windows of a job are in which state. */
export async function countByState(db: Kysely<Database>, scope: WindowScope): Promise<WindowsByState> {
  const { rows } = await sql<{ state: WindowState; windows: number }>`
    select w.state, count(*) as windows from gmsi.windows w where ${inScope(scope)} group by w.state
  `.execute(db);
  const none = { pending: 0, draining: 0, drained: 0, failed: 0, refused: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ state, windows }) => [state, windows])) };
}

/** Open windows of a job by their length in days; with `refused`, those that were refused as well. */
export async function countByLength(
  db: Kysely<Database>,
  scope: WindowScope,
  include: { refused: boolean },
): Promise<{ days: number; windows: number }[]> {
  const { rows } = await sql<{ days: number; windows: number }>`
    select w.last_day - w.first_day + 1 as days, count(*) as windows from gmsi.windows w
    where ${inScope(scope)} and (${isOpen} or (${include.refused}::boolean and w.state = 'refused')) group by 1
  `.execute(db);
  return rows;
}

/** Fixes what is asked of the service, at the first page of a drain; the counters begin again. */
export async function beginDrain(
  db: Kysely<Database>,
  at: { windowId: number; loadId: number },
  request: { start: Day; end: Day; pageSize: number; settledBefore: Day; isRestart: boolean },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('windows')
    .set((eb) => ({
      request_start: request.start,
      request_end: request.end,
      page_size: request.pageSize,
      settled_before: request.settledBefore,
      drain_started_at: sql<Date>`now()`,
      next_token: null,
      ...{ pages: 0, records: 0, rows_inserted: 0, rows_changed: 0, records_rejected: 0 },
      ...(request.isRestart ? { restarts: eb('restarts', '+', 1) } : {}),
    }))
    .where('window_id', '=', at.windowId)
    .where('state', '=', 'draining')
    .where('load_id', '=', at.loadId)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** Leaves a window at its checkpoint: `failed` and `refused` say why, `pending` gives it back. */
export async function leaveWindow(
  db: Kysely<Database>,
  at: { windowId: number; loadId: number },
  left: { state: 'failed' | 'refused'; error: string } | { state: 'pending' },
): Promise<void> {
  await db
    .updateTable('windows')
    .set({
      state: left.state,
      ...(left.state === 'pending' ? {} : { last_error: left.error, finished_at: sql<Date>`now()` }),
    })
    .where('window_id', '=', at.windowId)
    .where('state', '=', 'draining')
    .where('load_id', '=', at.loadId)
    .execute();
}

/**
 * Marks the windows of a job that begin on a day or before it refused, without asking for them.
 * @returns how many, less those that this load had already failed at
 */
export async function refuseUpTo(
  db: Kysely<Database>,
  scope: WindowScope,
  firstDay: Day,
  by: { loadId: number; error: string },
): Promise<number> {
  const { rows } = await sql<{ marked: number }>`
    with old as (
      select w.window_id, w.state = 'failed' and w.load_id = ${by.loadId} as is_counted from gmsi.windows w
      where ${inScope(scope)} and w.state in ('pending', 'failed') and w.next_token is null
        and w.first_day <= ${firstDay}::date
      for update
    ), marked as (
      update gmsi.windows w set state = 'refused', last_error = ${by.error}, finished_at = now()
      from old where old.window_id = w.window_id returning old.is_counted
    )
    select count(*) filter (where not is_counted) as marked from marked
  `.execute(db);
  return rows[0]!.marked;
}

/** What the feed has answered around a window: younger days of the same series, and equally old days of any series. */
export async function answeredAround(
  db: Kysely<Database>,
  window: SeriesColumns & { first_day: Day; last_day: Day },
): Promise<{ younger: boolean; asOld: boolean }> {
  const { feed, country, topic, match_type, first_day, last_day } = window;
  const { rows } = await sql<{ younger: boolean; asOld: boolean }>`
    select exists (select from gmsi.windows where feed = ${feed} and country = ${country} and topic = ${topic}
                     and match_type = ${match_type} and first_day > ${last_day}::date and pages > 0) as younger,
           exists (select from gmsi.windows where feed = ${feed} and first_day <= ${first_day}::date and pages > 0) as "asOld"
  `.execute(db);
  return rows[0]!;
}

/** True where a load still holds a window that it has claimed. */
export async function holdsWindow(db: Kysely<Database>, windowId: number, loadId: number): Promise<boolean> {
  const row = await db
    .selectFrom('windows')
    .select('window_id')
    .where('window_id', '=', windowId)
    .where('load_id', '=', loadId)
    .where('state', '=', 'draining')
    .executeTakeFirst();
  return row !== undefined;
}

function inScope(scope: WindowScope): RawBuilder<boolean> {
  return sql`(w.feed = ${scope.feed} and w.match_type = ${scope.matchType} and w.days && ${period(scope)}
    and w.country = any(${[...scope.countries]}::text[]) and w.topic = any(${[...scope.topics]}::text[]))`;
}

/** Said in the words of the partial indexes, so that they are used. */
const isOpen = sql<boolean>`w.state in ('pending', 'draining', 'failed')`;

function isFree(run: { loadId: number; leaseSeconds: number }): RawBuilder<boolean> {
  return sql`(w.state = 'pending'
    or (w.state = 'failed' and w.load_id is distinct from ${run.loadId})
    or (w.state = 'draining' and w.load_id <> ${run.loadId} and not exists (
      select from gmsi.loads l where l.load_id = w.load_id and l.finished_at is null
        and l.heartbeat_at > now() - make_interval(secs => ${run.leaseSeconds}))))`;
}

function period(scope: WindowScope): RawBuilder<unknown> {
  return sql`daterange(${scope.from}::date, ${scope.to}::date, '[]')`;
}
