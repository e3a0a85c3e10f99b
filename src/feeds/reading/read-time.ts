// No year below 1000: Date.UTC reads the years 0 to 99 as 1900 to 1999.
const iso =
  /^([1-9]\d{3})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?: ?(?:Z|UTC|([+-])(\d\d)(?::?(\d\d))?))?)?$/i;
/** YYYYMMDD, YYYYMMDDHH, YYYYMMDDHHMM or YYYYMMDDHHMMSS. Programs that read a column with gaps write `.0` behind it. */
const compact = /^(19[7-9]\d|20\d\d|2100)(\d\d)(\d\d)(?:(\d\d)(?:(\d\d)(\d\d)?)?)?(?:\.0+)?$/;
const epoch = /^\d{9,13}(?:\.\d+)?$/;

const earliestYear = 1900;
const latestYear = 2100;

/**
 * Reads a time in ISO 8601 with `T` or a space, to the day, minute, second or fraction, with a zone or in UTC
 * (docs/service.md, "Headline records"); in digits alone, as `YYYYMMDDHHMM`, to the day, hour, minute or second, in UTC; or in
 * seconds or milliseconds since 1970.
 *
 * Returns `YYYY-MM-DDTHH:MM:SS[.ffffff]Z`, cut to microseconds; `undefined` for any other value, for a day that does not
 * exist, or outside the years 1900 to 2100. Numbers of seconds before 1973 do not count either: they are probably a
 * placeholder such as 0.
 */
export function readTime(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') return undefined;
  // Records of one page often share an hour.
  if (text !== lastRead.value) lastRead = { value: text, time: readText(text) };
  return lastRead.time;
}

let lastRead: { value: string; time: string | undefined } = { value: '', time: undefined };

function readText(value: string): string | undefined {
  const parts = iso.exec(value) ?? compact.exec(value);
  if (parts === null) return epoch.test(value) ? readEpoch(Number(value)) : undefined;

  const [, year, month, day] = parts as unknown as [string, string, string, string];
  const hour = parts[4] ?? '00';
  const minute = parts[5] ?? '00';
  const second = parts[6] ?? '00';
  const fraction = parts[7] ?? '';
  if (!isInCalendar(+year, +month, +day) || +hour > 23 || +minute > 59 || +second > 60) return undefined;
  const offsetHours = parts[9] ?? '00';
  const offsetMinutes = parts[10] ?? '00';
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
  // Digits that begin with a year are never an epoch, not even if they are no day: it would be of 1976, or of 2032 to 2036.
  const beginning = Math.floor(value / (value < 1e11 ? 1e6 : 1e8));
  if (beginning >= 1970 && beginning <= latestYear) return undefined;
  // 1e11 seconds would be the year 5138, 1e11 milliseconds are March 1973.
  const microseconds = Math.round(value * (value < 1e11 ? 1e6 : 1e3));
  const seconds = new Date(Math.floor(microseconds / 1e6) * 1000).toISOString().slice(0, -5);
  return withinYears(seconds, String(microseconds % 1e6).padStart(6, '0'));
}

function withinYears(seconds: string, fraction: string): string | undefined {
  const year = Number(seconds.slice(0, 4));
  // toISOString writes years beyond 9999 with a sign, so they are outside this range, too.
  if (!(year >= earliestYear && year <= latestYear)) return undefined;
  if (fraction === '') return `${seconds}Z`;
  const microseconds = fraction.slice(0, 6).padEnd(6, '0');
  return microseconds === '000000' ? `${seconds}Z` : `${seconds}.${microseconds}Z`;
}

function isInCalendar(year: number, month: number, day: number): boolean {
  if (month < 1 || month > 12 || day < 1) return false;
  return day <= 28 || new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day;
}

export const microsecondsADay = 86_400_000_000;

/** Microseconds from 1970 to a time that `readTime` returned, or that has the same form. @throws TypeError for another one */
export function microsecondsOf(time: string): number {
  if (time === lastCounted.time) return lastCounted.microseconds;
  const fraction = time.length > 20 ? Number(time.slice(20, -1).padEnd(6, '0')) : 0;
  const microseconds = Date.parse(time.length > 20 ? `${time.slice(0, 19)}Z` : time) * 1000 + fraction;
  if (Number.isNaN(microseconds)) throw new TypeError(`"${time}" is not a time.`);
  lastCounted = { time, microseconds };
  return microseconds;
}

let lastCounted = { time: '1970-01-01T00:00:00Z', microseconds: 0 };
