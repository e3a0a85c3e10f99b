import { Temporal } from 'temporal-polyfill';

/** What the polls of a series have shown so far. */
export interface PollHistory {
  readonly polledAt: Date;
  /** When a poll last brought something new; if none has, the time of the first poll. */
  readonly newsAt: Date;
  /** Polls in a row that brought nothing. */
  readonly quietPolls: number;
}

/** How far apart a job allows the polls of a quiet series to be, in days. */
export interface CadenceBounds {
  readonly longestDays: number;
  /** A series is polled at the latest on the day on which its first uncovered day gets this old. */
  readonly maxUncoveredDays: number;
}

/** Polls without news after which a series counts as quiet. */
const patience = 3;

/** The wait until the next poll of a quiet series, as a share of its silence so far. */
const shareOfSilence = 1 / 4;

const dayMs = 24 * 3600 * 1000;

/**
 * How long the next poll of a series may wait, in milliseconds: 0, every sync, while it has news; then a quarter of its
 * silence, so that the headline that ends the silence is late by at most a quarter of it, and never by more than the bound.
 */
export function pollInterval({ polledAt, newsAt, quietPolls }: PollHistory, longestDays: number): number {
  if (quietPolls < patience) return 0;
  const silence = Math.max(0, polledAt.getTime() - newsAt.getTime());
  return Math.min(silence * shareOfSilence, longestDays * dayMs);
}

/**
 * When a series is to be polled next.
 * @param firstUncovered its first day (UTC) that is not covered yet
 */
export function nextPollDue(
  history: PollHistory,
  firstUncovered: Temporal.PlainDate,
  { longestDays, maxUncoveredDays }: CadenceBounds,
): Date {
  const byHabit = history.polledAt.getTime() + pollInterval(history, longestDays);
  return new Date(Math.min(byHabit, startOf(firstUncovered.add({ days: maxUncoveredDays }))));
}

/** The days that decide where a poll begins. */
export interface PollDays {
  readonly today: Temporal.PlainDate;
  readonly firstUncovered: Temporal.PlainDate;
  /** First day that may still change, by the job's lookback. */
  readonly unsettledFrom: Temporal.PlainDate;
  /** Day of the poll before. */
  readonly polledOn: Temporal.PlainDate;
  /** How many days before today every poll drains again; at most the job's lookback. */
  readonly recheckDays: number;
}

/**
 * The first day that a poll drains. Every poll goes back over the days in which nearly all changes happen, and to the poll
 * before. The rest of the lookback waits for a poll that settles: one that goes back to the first uncovered day, before that
 * day is too old. A poll that does not settle drains unsettled days only, so it covers none.
 */
export function pollFrom(days: PollDays, { maxUncoveredDays }: CadenceBounds): Temporal.PlainDate {
  const { today, firstUncovered, unsettledFrom, polledOn, recheckDays } = days;
  const recent = earlier(polledOn, today.subtract({ days: recheckDays }));
  const isOverdue = !isBefore(today, firstUncovered.add({ days: maxUncoveredDays }));
  return isOverdue || !isBefore(unsettledFrom, recent) ? firstUncovered : recent;
}

/** How many changes must have been seen before their age is used. */
const leastChanges = 100;

/**
 * How many days back every poll looks for changes: those within which 99% of the changes were seen, at least one, at most
 * the job's lookback; the whole lookback if too few changes were seen.
 */
export function recheckDays(
  seen: { readonly changes: number; readonly days: number | null } | undefined,
  lookbackDays: number,
): number {
  if (!seen || seen.days === null || seen.changes < leastChanges) return lookbackDays;
  return Math.min(Math.max(seen.days, 1), lookbackDays);
}

function startOf(day: Temporal.PlainDate): number {
  return day.toZonedDateTime('UTC').epochMilliseconds;
}

function isBefore(a: Temporal.PlainDate, b: Temporal.PlainDate): boolean {
  return Temporal.PlainDate.compare(a, b) < 0;
}

function earlier(a: Temporal.PlainDate, b: Temporal.PlainDate): Temporal.PlainDate {
  return isBefore(a, b) ? a : b;
}
