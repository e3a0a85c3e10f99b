import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { CauseCode } from '../../errors.ts';
import type { FeedTable, Series } from '../../feeds/feed.ts';
import type { Database, Day, WindowState } from '../database.ts';
import { isJoined } from './planning.ts';
import { hasLivingProcess } from './processes.ts';
import { type AskedDays, beginAgain, leaveQueue } from './readings.ts';
import { nextToAskAgain } from './refusals.ts';
import { hasRowsOf } from './retract.ts';
import {
  inScope,
  isOpen,
  jobsWanting,
  queued,
  seriesOf,
  type WantedScope,
  type WindowScope,
} from './series.ts';

/** The load that wants a window. */
interface Claimant {
  readonly loadId: number;
  /** Seconds of silence after which another load's windows are free. */
  readonly leaseSeconds: number;
}

/** A window that only this load may drain, as long as its process sends heartbeats. */
export interface ClaimedWindow extends Series {
  readonly window_id: number;
  readonly first_day: Day;
  readonly last_day: Day;
  readonly request_start: Day | null;
  readonly request_end: Day | null;
  readonly page_size: number | null;
  readonly next_token: string | null;
  readonly pages: number;
  /** True if its days had rows when this drain began; at its end, rows that no page had are retracted. */
  readonly is_compared: boolean;
  /** Distinct rows of this drain so far on each day of the window; `null` if they are not counted. */
  readonly rows_met: readonly number[] | null;
  /** Records of this drain so far, those among them that could not be read, and those of other days. */
  readonly records: number;
  readonly records_rejected: number;
  readonly records_outside: number;
  /** When its drain began, by the database's clock, and on which day; `null` before the first one. */
  readonly asked_at: string | null;
  readonly asked_on: Day | null;
}

/**
 * The order of draining. It has ranks, so that each rank is the head of an index scan, no matter how many windows are
 * pending. Windows that failed before come last: otherwise a load that ends after many failures would always try the same
 * windows.
 */
const claimRanks: readonly RawBuilder<boolean>[] = [
  sql`w.next_token is not null`,
  sql`w.next_token is null and w.state <> 'failed'`,
  sql`w.next_token is null and w.state = 'failed'`,
];

/**
 * Claims the next free window of a job: half-drained windows first, then in the job's order, all series in turn, and last
 * those that failed before. A window is free if it is pending, if it failed before this load began, or if its load's process
 * has been silent for longer than the lease.
 */
export async function claimWindow(
  db: Kysely<Database>,
  scope: WindowScope,
  claimant: Claimant & { order: 'newest-first' | 'oldest-first' },
): Promise<ClaimedWindow | undefined> {
  const direction = sql.raw(claimant.order === 'newest-first' ? 'desc' : 'asc');
  // PostgreSQL looks for a rank's window only if the ranks before it have none.
  const next = claimRanks.map(
    (rank) => sql`(
      select w.window_id from ${queued}
      where ${inScope(scope)} and ${isOpen} and ${rank} and ${isFree(claimant)}
      order by w.last_day ${direction}, w.series_id ${direction}
      limit 1 for update of w skip locked)`,
  );
  const { rows } = await sql<ClaimedWindow>`
    update gmsi.queue w set state = 'draining', load_id = ${claimant.loadId}, attempts = attempts + 1
    from gmsi.series s
    where w.window_id = coalesce(${sql.join(next)}) and s.series_id = w.series_id
    returning w.window_id, ${seriesOf('s')}, w.first_day, w.last_day, w.request_start, w.request_end, w.page_size, w.next_token,
      w.pages, w.is_compared, w.rows_met, w.records, w.records_rejected, w.records_outside, w.asked_at::text, w.asked_on
  `.execute(db);
  return rows[0];
}

/** Counts the open windows of a job: free ones, and ones that another load with a living process has claimed. */
export async function countOpen(
  db: Kysely<Database>,
  scope: WindowScope,
  claimant: Claimant,
): Promise<{ free: number; held: number }> {
  const { rows } = await sql<{ free: number; held: number }>`
    select count(*) filter (where ${isFree(claimant)}) as free,
           count(*) filter (where w.state = 'draining' and w.load_id <> ${claimant.loadId} and not ${isFree(claimant)}) as held
    from ${queued} where ${inScope(scope)} and ${isOpen}
  `.execute(db);
  return rows[0]!;
}

/**
 * Begins a drain at its first page: stores the parameters of its requests and resets the counters. Pages of a drain before become a
 * reading that is not whole.
 * @returns whether the drain retracts rows that no page has, and when it began, by the database's clock; `undefined` if another
 * load has the window
 */
export async function beginDrain(
  db: Kysely<Database>,
  at: Claimed,
  rows: { table: FeedTable; series: Series },
  request: { startDate: Day; endDate: Day | null; pageSize: number; asked: AskedDays; isAgain: boolean },
): Promise<{ isCompared: boolean; askedAt: string } | undefined> {
  const { asked } = request;
  if (request.isAgain) await beginAgain(isClaimed(at)).execute(db);
  const { rows: begun } = await sql<{ isCompared: boolean; askedAt: string }>`
    with begun as (
      update gmsi.queue w
      set request_start = ${request.startDate}::date, request_end = ${request.endDate}::date, page_size = ${request.pageSize},
          asked_at = clock_timestamp(), asked_on = ${asked.askedOn}::date, settled_before = ${asked.settledBefore}::date,
          next_token = null, pages = 0, records = 0, rows_inserted = 0, rows_changed = 0, rows_retracted = 0, records_rejected = 0,
          records_outside = 0,
          rows_met = array_fill(0, array[last_day - first_day + 1]),
          is_compared = ${hasRowsOf(rows.table, rows.series)}
      where ${isClaimed(at)}
      returning is_compared, asked_at
    ), forgotten as (
      -- Only if this load has the window: otherwise the load that took it over would lose its sightings, and retract these
      -- rows.
      delete from gmsi.drain_sightings where window_id = ${at.windowId} and exists (select from begun)
    )
    select is_compared as "isCompared", asked_at::text as "askedAt" from begun
  `.execute(db);
  return begun[0];
}

/** A window that a load has claimed. */
interface Claimed {
  readonly windowId: number;
  readonly loadId: number;
}

function isClaimed({ windowId, loadId }: Claimed): RawBuilder<boolean> {
  return sql`window_id = ${windowId} and state = 'draining' and load_id = ${loadId}`;
}

/** Removes the cursor of a claimed window, so that its next drain begins at the first page. */
export async function forgetCursor(db: Kysely<Database>, at: Claimed): Promise<void> {
  await sql`update gmsi.queue set next_token = null where ${isClaimed(at)}`.execute(db);
}

/** How a load leaves a window before its end; for a refused window, see `leaveRefused`. */
export type Leaving =
  | { readonly state: 'failed'; readonly cause: CauseCode; readonly error: string }
  | { readonly state: 'pending' };

/** Leaves a claimed window at its checkpoint. */
export async function leaveWindow(db: Kysely<Database>, at: Claimed, leaving: Leaving): Promise<void> {
  const failed =
    leaving.state === 'failed'
      ? sql`, cause = ${leaving.cause}, last_error = ${leaving.error}, refused_with = null, left_at = now()`
      : sql``;
  await sql`update gmsi.queue set state = ${leaving.state} ${failed} where ${isClaimed(at)}`.execute(db);
}

/** Leaves all windows of a load at their checkpoints. @returns how many */
export async function leaveWindows(db: Kysely<Database>, loadId: number): Promise<number> {
  const { numAffectedRows } = await sql`
    update gmsi.queue set state = 'pending' where load_id = ${loadId} and state = 'draining'`.execute(db);
  return Number(numAffectedRows);
}

/** Returns true if a window is still claimed by this load. */
export async function ownsWindow(db: Kysely<Database>, at: Claimed): Promise<boolean> {
  return (await sql`select from gmsi.queue where ${isClaimed(at)}`.execute(db)).rows.length > 0;
}

function isFree(claimant: Claimant): RawBuilder<boolean> {
  return sql`(w.state = 'pending'
    -- Not if it failed since this load began: another load has just tried it. A time in the future is not believed.
    or (w.state = 'failed' and w.load_id is distinct from ${claimant.loadId} and w.left_at not between coalesce(
      (select began.started_at from gmsi.loads began where began.load_id = ${claimant.loadId}), 'infinity') and now())
    or (w.state = 'draining' and w.load_id <> ${claimant.loadId} and ${isSilent(claimant)}))`;
}

/**
 * Returns the condition that the load of a window `w` has ended, or no living process runs it. A load that began and claimed
 * the window since the statement began is not seen, but is younger than this one.
 */
function isSilent({ loadId, leaseSeconds }: Claimant): RawBuilder<boolean> {
  return sql`coalesce(
      (select l.finished_at is not null or not ${hasLivingProcess('l.process_id', leaseSeconds)}
       from gmsi.loads l where l.load_id = w.load_id),
      w.load_id < ${loadId})`;
}

export type WindowsByState = Record<WindowState, number>;

export const noWindows: WindowsByState = { pending: 0, draining: 0, failed: 0, refused: 0 };

/** Returns how many windows of a job are in each state; drained ones have left the queue. */
export async function countByState(db: Kysely<Database>, scope: WindowScope): Promise<WindowsByState> {
  const { rows } = await sql<{ state: WindowState; windows: number }>`
    select w.state, count(*) as windows from ${queued} where ${inScope(scope)} group by w.state
  `.execute(db);
  return { ...noWindows, ...Object.fromEntries(rows.map(({ state, windows }) => [state, windows])) };
}

/**
 * Counts the windows that a load drains as they are, by their length in days: the open ones, and a few or all of the refused
 * ones.
 */
export async function countByLength(
  db: Kysely<Database>,
  scope: WindowScope,
  refused: 'a few' | 'all',
): Promise<{ days: number; windows: number }[]> {
  const { rows } = await sql<{ days: number; windows: number }>`
    select w.last_day - w.first_day + 1 as days, count(*) as windows from ${queued}
    where ${inScope(scope)} and not ${isJoined(scope)} and (${isOpen} or (w.state = 'refused'
      and (${refused} = 'all' or w.window_id in (select window_id from ${nextToAskAgain(scope)} as next))))
    group by 1
  `.execute(db);
  return rows;
}

/** Returns the condition that a window `w` waits for a load: it is pending, or the load that drained it is silent. */
export function isWaiting(leaseSeconds: number): RawBuilder<boolean> {
  return sql`(w.state = 'pending' or (w.state = 'draining' and ${isSilent({ loadId: 0, leaseSeconds })}))`;
}

/**
 * Removes windows that no job wants from the queue, whatever their state, unless a living load drains them. Pages that they have committed
 * become a reading that is not whole. If a job wants their days later, these are planned like days that were never requested.
 * @returns how many
 */
export async function forgetUnwanted(
  db: Kysely<Database>,
  wanted: readonly WantedScope[],
  leaseSeconds: number,
): Promise<number> {
  const isLeft = sql`(w.state <> 'draining' or ${isWaiting(leaseSeconds)})`;
  const { rows } = await sql<{ id: number }>`
    select w.window_id as id from ${queued} where ${isLeft} and ${jobsWanting(wanted)} = '{}'`.execute(db);
  const unwanted = rows.map(({ id }) => id);
  // Asked again, because a load may have claimed some meanwhile.
  await leaveQueue(sql`window_id = any(${unwanted}::bigint[]) and ${isLeft}`).execute(db);
  return unwanted.length;
}
