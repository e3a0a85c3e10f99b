import { Temporal } from 'temporal-polyfill';

export interface PollHistory {
  readonly polledAt: Date;
  /** When a poll last found something new; if none has, the time of the first poll. */
  readonly newsAt: Date;
  /** Polls in a row that found nothing new. */
  readonly quietPolls: number;
}

/** How many days a job allows between polls of a quiet series. */
export interface CadenceBounds {
  readonly longestDays: number;
  /** A series is polled at the latest when its first uncovered day is this old. */
  readonly maxUncoveredDays: number;
}

/** Polls without news after which a series counts as quiet. */
const patience = 3;

/** How long the next poll of a quiet series waits, as a share of its silence so far. */
const shareOfSilence = 1 / 4;

const dayMs = 24 * 3600 * 1000;

/**
 * Returns how many milliseconds the next poll of a series may wait: 0 (every sync) while it has news, then a quarter of its
 * silence. So the headline that ends the silence is late by at most a quarter of it, and by at most `longestDays`.
 */
export function pollInterval({ polledAt, newsAt, quietPolls }: PollHistory, longestDays: number): number {
  if (quietPolls < patience) return 0;
  const silence = Math.max(0, polledAt.getTime() - newsAt.getTime());
  return Math.min(silence * shareOfSilence, longestDays * dayMs);
}

/**
 * Returns when a series is due for its next poll.
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
  /** By the job's lookback. */
  readonly firstUnsettled: Temporal.PlainDate;
  /** Day of the last poll. */
  readonly polledOn: Temporal.PlainDate;
  /** How many days before today every poll drains again; at most the job's lookback. */
  readonly recheckDays: number;
}

/**
 * Returns the first day that a poll drains. Every poll goes back to the last poll, and at least over the recent days in which
 * nearly all changes happen. Only now and then, before the first uncovered day is too old, does a poll go back to that day.
 * Other polls drain only unsettled days, so they cover none.
 */
export function pollFrom(days: PollDays, { maxUncoveredDays }: CadenceBounds): Temporal.PlainDate {
  const { today, firstUncovered, firstUnsettled, polledOn, recheckDays } = days;
  const recent = earlier(polledOn, today.subtract({ days: recheckDays }));
  const isOverdue = !isBefore(today, firstUncovered.add({ days: maxUncoveredDays }));
  return isOverdue || !isBefore(firstUnsettled, recent) ? firstUncovered : recent;
}

/** With fewer observed changes, their age is not used. */
const leastChanges = 100;

/**
 * Returns how many days back every poll looks for changes: enough for 99% of observed changes, at least one, at most the
 * job's lookback; the whole lookback if too few changes were observed.
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
