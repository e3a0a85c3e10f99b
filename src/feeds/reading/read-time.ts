import { colon, isDigit, minus, zero } from '../../json-bytes.ts';

// No year below 1000: Date.UTC would take the years 0 to 99 for 1900 to 1999.
const iso =
  /^([1-9]\d{3})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?: ?(?:Z|UTC|([+-])(\d\d)(?::?(\d\d))?))?)?$/i;
const epoch = /^\d{9,13}(?:\.\d+)?$/;

const earliestYear = 1900;
const latestYear = 2100;

/**
 * Reads a point in time: ISO 8601 with `T` or a space, down to the day, the minute, the second or its fraction, with a zone
 * or without (then UTC: docs/service.md, "Headline records"), or seconds or milliseconds since 1970.
 *
 * Returns `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, without digits beyond the microsecond; `undefined` for what is not a time, not in
 * the calendar, or outside the years 1900 to 2100. A number of seconds before 1973 does not count either: more likely it is
 * a placeholder such as 0, or a date written as 20260521.
 */
export function readTime(value: unknown): string | undefined {
  if (typeof value === 'number') return readEpoch(value);
  if (typeof value !== 'string') return undefined;
  const parts = iso.exec(value);
  if (parts === null) return epoch.test(value) ? readEpoch(Number(value)) : undefined;

  const [, year = '', month = '', day = '', hour = '00', minute = '00', second = '00', fraction = ''] = parts;
  if (!isInCalendar(+year, +month, +day) || +hour > 23 || +minute > 59 || +second > 60) return undefined;
  const [offsetHours = '00', offsetMinutes = '00'] = [parts[9], parts[10]];
  if (+offsetHours > 15 || +offsetMinutes > 59) return undefined;

  const offset = (parts[8] === '-' ? -1 : 1) * (+offsetHours * 60 + +offsetMinutes);
  // A leap second becomes the first second of the next minute, as in PostgreSQL.
  if (offset === 0 && second !== '60') {
    return withinYears(`${year}-${month}-${day}T${hour}:${minute}:${second}`, fraction);
  }
  const utc = new Date(Date.UTC(+year, +month - 1, +day, +hour, +minute - offset, +second));
  return withinYears(utc.toISOString().slice(0, -5), fraction);
}

function readEpoch(value: number): string | undefined {
  if (!(value >= 1e8 && value < 1e13)) return undefined;
  // 1e11 seconds would be the year 5138, 1e11 milliseconds are March 1973.
  const microseconds = Math.round(value * (value < 1e11 ? 1e6 : 1e3));
  const seconds = new Date(Math.floor(microseconds / 1e6) * 1000).toISOString().slice(0, -5);
  return withinYears(seconds, String(microseconds % 1e6).padStart(6, '0'));
}

function withinYears(seconds: string, fraction: string): string | undefined {
  const year = Number(seconds.slice(0, 4));
  // toISOString writes years beyond 9999 with a sign, so they are not between these two either.
  if (!(year >= earliestYear && year <= latestYear)) return undefined;
  const microseconds = fraction.slice(0, 6).padEnd(6, '0');
  return microseconds === '000000' ? `${seconds}Z` : `${seconds}.${microseconds}Z`;
}

function isInCalendar(year: number, month: number, day: number): boolean {
  const date = new Date(Date.UTC(year, month - 1, day));
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

export const microsecondsADay = 86_400_000_000;

/** Microseconds from 1970 to a time that `readTime` returned, or that has the same form. @throws TypeError for another one */
export function microsecondsOf(time: string): number {
  const microseconds = Date.parse(`${time.slice(0, 19)}Z`) * 1000 + Number(time.slice(20, -1).padEnd(6, '0'));
  if (Number.isNaN(microseconds)) throw new TypeError(`"${time}" is not a time.`);
  return microseconds;
}

/**
 * Reads the form of nearly all times, `YYYY-MM-DDTHH:MM:SS` with or without `Z`, from the bytes of its text.
 * @returns microseconds since 1970; `undefined` if `readTime` has to say what it is
 */
export function scanTime(text: Uint8Array, start: number, end: number): number | undefined {
  if (end - start !== 19 && !(end - start === 20 && text[end - 1] === upperZ)) return undefined;
  if (text[start + 4] !== minus || text[start + 7] !== minus || text[start + 10] !== upperT) return undefined;
  if (text[start + 13] !== colon || text[start + 16] !== colon) return undefined;
  const year = twoDigits(text, start) * 100 + twoDigits(text, start + 2);
  const begins = beginOf(year, twoDigits(text, start + 5), twoDigits(text, start + 8));
  const hour = twoDigits(text, start + 11);
  const minute = twoDigits(text, start + 14);
  const second = twoDigits(text, start + 17);
  // No comparison holds for NaN.
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return undefined;
  return begins === undefined ? undefined : begins + ((hour * 60 + minute) * 60 + second) * 1e6;
}

/** The number that two bytes are the digits of; NaN if one of them is none. */
function twoDigits(text: Uint8Array, at: number): number {
  const [tens, ones] = [text[at]! - zero, text[at + 1]! - zero];
  return isDigit(text[at]) && isDigit(text[at + 1]) ? tens * 10 + ones : Number.NaN;
}

const [upperT, upperZ] = [0x54, 0x5a];

/** The last day that was found to be one: records of one page are of few days. */
const last = { year: Number.NaN, month: Number.NaN, day: Number.NaN, begins: Number.NaN };

/** Microseconds from 1970 to a day of the calendar and of the years that are read. */
function beginOf(year: number, month: number, day: number): number | undefined {
  if (day === last.day && month === last.month && year === last.year) return last.begins;
  if (!(year >= earliestYear && year <= latestYear) || !isInCalendar(year, month, day)) return undefined;
  Object.assign(last, { year, month, day, begins: Date.UTC(year, month - 1, day) * 1000 });
  return last.begins;
}
