/** A calendar day in UTC, as the number of days since 1970-01-01. */
export type Day = number;

/** Both days are included; the range is empty if `last` is before `first`. */
export interface DayRange {
  readonly first: Day;
  readonly last: Day;
}

export const MS_PER_DAY = 86_400_000;

export function dayOf(ms: number): Day {
  return Math.floor(ms / MS_PER_DAY);
}

/** Returns `YYYY-MM-DD`. */
export function formatDay(day: Day): string {
  return new Date(day * MS_PER_DAY).toISOString().slice(0, 10);
}

/** Reads `YYYY-MM-DD`. @returns `null` if there is no such day */
export function parseDay(text: string): Day | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00Z`);
  if (Number.isNaN(ms)) return null;
  const day = dayOf(ms);
  return formatDay(day) === text ? day : null;
}

/** Returns true for Saturday and Sunday. 1970-01-01 was a Thursday. */
export function isWeekend(day: Day): boolean {
  return (day + 4) % 7 === 0 || (day + 4) % 7 === 6;
}
