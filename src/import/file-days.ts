import { Temporal } from 'temporal-polyfill';
import { ConfigError } from '../errors.ts';
import { areTooMany } from '../load/rejected.ts';
import { daysFrom } from '../terminal/table.ts';
import type { Day } from '../warehouse/database.ts';
import type { RecordsByDay } from '../warehouse/tables/imported-files.ts';

/** First and last day, inclusive. */
export interface Days {
  readonly from: Day;
  readonly to: Day;
}

/** Days read from the names of a file and its folders. */
export interface NamedDays extends Days {
  /** False if a name is for a part of a day, such as an hour: then the file alone does not contain a whole day. */
  readonly areWhole: boolean;
}

/** Folders with these names stand for days, not for columns. A quarter is taken for a part of the days around it. */
export const periodFolders = ['year', 'quarter', 'month', 'day', 'date'];

/**
 * Reads days from names. The file is called `2023`, `2023-05` or `2023-05-14`, plus its extension. Or folders around it are
 * `year=2023`, with `month=05` and `day=14` below it; `month=2023-05`; or `date=2023-05-14`. Other names do not count. If
 * several names count, the result is the days that they have in common.
 * @param isOfSeries whether a folder name is a part of the series; any other name below a period means only part of its days
 */
export function daysNamed(
  file: string,
  folders: ReadonlyMap<string, string>,
  isOfSeries: (name: string) => boolean,
): NamedDays | undefined {
  const said: Days[] = [];
  let areWhole = true;
  const [, stem = ''] = /^(.*)\.(?:csv|ndjson|jsonl|parquet)(?:\.gz)?$/i.exec(file) ?? [];
  const ofFile = daysOf(stem);
  if (ofFile) said.push(ofFile);
  const [year, month] = [folders.get('year'), folders.get('month')?.padStart(2, '0')];
  let isBelowPeriod = false;
  for (const [name, value] of folders) {
    if (!periodFolders.includes(name)) {
      areWhole &&= !isBelowPeriod || isOfSeries(name);
      continue;
    }
    isBelowPeriod = true;
    const days =
      daysOf(value) ??
      (name === 'month' ? daysOf(`${year}-${month}`) : undefined) ??
      (name === 'day' ? daysOf(`${year}-${month}-${value.padStart(2, '0')}`) : undefined);
    if (days) said.push(days);
    else areWhole = false;
  }
  const days = said.reduce<Days | undefined>((all, one) => (all ? common(all, one) : one), undefined);
  return days && { ...days, areWhole };
}

/** Returns the days of a year, a month or a day. */
function daysOf(period = ''): Days | undefined {
  const [, year, month, day] = /^(19\d\d|20\d\d)(?:-(\d\d)(?:-(\d\d))?)?$/.exec(period) ?? [];
  try {
    const first = Temporal.PlainDate.from(`${year}-${month ?? '01'}-${day ?? '01'}`);
    const next = first.add(day ? { days: 1 } : month ? { months: 1 } : { years: 1 });
    return { from: first.toString(), to: next.subtract({ days: 1 }).toString() };
  } catch {
    // Not a date.
    return undefined;
  }
}

/**
 * Compares the records of a file with its days. A file is of all days of its name, though the user may state that only some
 * of them are whole. A file without records has had no news.
 * @param mostPercent of the records may be of other days
 * @returns how many are of other days, except the days before and after, because days may begin in another time zone; and what
 * contradicts the days, if anything does
 */
export function compareDays(
  records: RecordsByDay,
  named: Days | undefined,
  stated: Days | undefined,
  mostPercent: number,
): { outside: number; contradiction?: string } {
  const whole = named && stated ? common(named, stated) : (named ?? stated);
  const days = Object.keys(records).sort();
  if (!whole || days.length === 0) return { outside: 0 };
  const sum = (of: Days) =>
    days.reduce((sum, day) => (day >= of.from && day <= of.to ? sum + records[day]! : sum), 0);
  const found = { from: days[0]!, to: days.at(-1)! };
  const all = sum(found);
  const outside = all - sum(withNeighbours(named ?? whole));
  const isNone = sum(whole) === 0;
  if (!isNone && !areTooMany(outside, all, mostPercent)) return { outside };
  const [some, of] = [outside, all].map((count) => count.toLocaleString('en-US'));
  const what = isNone ? `none of its ${of} records is` : `${some} of its ${of} records are not`;
  return {
    outside,
    contradiction: `${what} of ${daysFrom(whole.from, whole.to)}; its records are from ${daysFrom(found.from, found.to)}`,
  };
}

function withNeighbours({ from, to }: Days): Days {
  return { from: plus(from, -1), to: plus(to, 1) };
}

/** Returns the day that is so many days after a day. */
export function plus(day: Day, days: number): Day {
  return Temporal.PlainDate.from(day).add({ days }).toString();
}

/** A file probably was cut off if it is silent at its end for more than this many times as long as ever before. */
const longerThanEver = 3;

/** Files with records on fewer days than this say too little of how long their series is silent. */
const fewestDays = 7;

/**
 * Returns the last day with records of files that together have all records of some days, if they probably were cut off on it:
 * they have none for two days or more, and for far longer than ever before. Measures a file by its own silences, so an index
 * with all hours is noticed by two days, and a quiet series by weeks.
 */
export function cutOffOn(named: Days, records: readonly RecordsByDay[]): Day | undefined {
  const near = withNeighbours(named);
  const days = [...new Set(records.flatMap((of) => Object.keys(of)))]
    .filter((day) => day >= near.from && day <= near.to)
    .sort();
  if (days.length < fewestDays) return undefined;
  const silences = days.map((day, at) => daysBetween(days[at - 1] ?? near.from, day));
  const last = days.at(-1)!;
  const atEnd = daysBetween(last, near.to);
  return atEnd > Math.max(1, longerThanEver * Math.max(...silences)) ? last : undefined;
}

/** Returns how many days lie between two days. */
function daysBetween(from: Day, to: Day): number {
  return (Date.parse(to) - Date.parse(from)) / 86_400_000 - 1;
}

/** Returns the days in both ranges; if there are none, `to` is before `from`. */
export function common(a: Days, b: Days): Days {
  return { from: a.from > b.from ? a.from : b.from, to: a.to < b.to ? a.to : b.to };
}

/** Returns the days that the user says all files contain in full. @throws ConfigError if only one end is given */
export function statedDays(from: Day | undefined, to: Day | undefined): Days | undefined {
  if (from === undefined && to === undefined) return undefined;
  if (from === undefined || to === undefined)
    throw new ConfigError(`--${from ? 'to' : 'from'} is missing.`, {
      hint: 'Give both, the first and the last day that the files contain in full, or neither.',
    });
  return { from, to };
}

/**
 * Returns the days that count as covered because of a file: the days that the user and its name give and that were settled
 * when the file was made. Without the user's days, the days of the name must all have been settled: a name says what the
 * file is for, not whether it is complete.
 * @param firstUnsettled the first day that was not settled when the file was made
 */
export function daysCovered(
  named: NamedDays | undefined,
  stated: Days | undefined,
  firstUnsettled: Day,
): Days | undefined {
  if (!stated && !named?.areWhole) return undefined;
  const settled = plus(firstUnsettled, -1);
  const all = named && stated ? common(named, stated) : (named ?? stated)!;
  if (!stated && all.to > settled) return undefined;
  const days = common(all, { from: all.from, to: settled });
  return days.from <= days.to ? { from: days.from, to: days.to } : undefined;
}
