import { Temporal } from 'temporal-polyfill';
import { ConfigError } from '../../errors.ts';
import type { Day } from '../../warehouse/database.ts';

/** First and last day, both included. */
export interface Days {
  readonly from: Day;
  readonly to: Day;
}

/** Folders of these names say days, and are no columns. */
export const periodFolders = ['year', 'month', 'date'];

/**
 * The days that a name says: the file is called `2023`, `2023-05` or `2023-05-14`, before its ending, or
 * `2023-01-01_2023-06-30`; or folders around it are `year=2023`, `year=2023/month=05`, `month=2023-05` or
 * `date=2023-05-14`. No other name says days.
 */
export function daysNamed(file: string, folders: ReadonlyMap<string, string>): Days | undefined {
  const stem = file.replace(/\.(csv|ndjson|jsonl|parquet)(\.gz)?$/i, '');
  const [, first, last] = /^(\d{4}-\d\d-\d\d)_(\d{4}-\d\d-\d\d)$/.exec(stem) ?? [];
  const [year, month, date] = ['year', 'month', 'date'].map((name) => folders.get(name));
  try {
    if (first && last) {
      const [from, to] = [first, last].map((day) => Temporal.PlainDate.from(day).toString()) as [Day, Day];
      return from <= to ? { from, to } : undefined;
    }
    const folder = year && month ? `${year}-${month.padStart(2, '0')}` : (year ?? month ?? date ?? '');
    return periodOf(stem) ?? periodOf(folder);
  } catch {
    // Digits that are no days say nothing.
    return undefined;
  }
}

function periodOf(text: string): Days | undefined {
  const [, year, month, day] = /^(19\d\d|20\d\d)(?:-(\d\d)(?:-(\d\d))?)?$/.exec(text) ?? [];
  if (year === undefined) return undefined;
  const from = Temporal.PlainDate.from(`${year}-${month ?? '01'}-${day ?? '01'}`);
  const length = day ? { days: 1 } : month ? { months: 1 } : { years: 1 };
  return { from: from.toString(), to: from.add(length).subtract({ days: 1 }).toString() };
}

/** What the user states of the days that all files hold completely. @throws ConfigError for half of it */
export function statedDays(from: Day | undefined, to: Day | undefined): Days | undefined {
  if (from === undefined && to === undefined) return undefined;
  if (from === undefined || to === undefined)
    throw new ConfigError(`--${from ? 'to' : 'from'} is missing.`, {
      hint: 'Say both: the first and the last day that the files hold completely; or neither.',
    });
  if (from > to)
    throw new ConfigError(`--from ${from} is after --to ${to}.`, {
      hint: 'Swap them; both days are included.',
    });
  return { from, to };
}

/**
 * The days that count as covered because of a file: those that the user and its name say, as far as they were settled when
 * it was made. A name alone counts as a whole or not at all: it says what the file is for, not how far it had come.
 * @param settledBefore the first day that was not settled then
 */
export function daysCovered(
  named: Days | undefined,
  stated: Days | undefined,
  settledBefore: Day,
): Days | undefined {
  if (!named && !stated) return undefined;
  const from = [named?.from, stated?.from]
    .filter((day) => day !== undefined)
    .sort()
    .at(-1)!;
  const to = [named?.to, stated?.to].filter((day) => day !== undefined).sort()[0]!;
  if (from > to) return undefined;
  if (to < settledBefore) return { from, to };
  if (!stated || from >= settledBefore) return undefined;
  return { from, to: Temporal.PlainDate.from(settledBefore).subtract({ days: 1 }).toString() };
}
