import { Cron } from 'croner';
import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';

/**
 * Types of values in a job file that YAML lacks. Every message completes the word "expected"; problems.ts adds the place and
 * the value found.
 */

/** No feed of headlines begins before 1900; a year such as 0216 is a typing error. */
const dayPattern = /^(19|2\d)\d{2}-\d{2}-\d{2}$/;

/** Accepts a day written as `2016-01-01`, or one of `words`. */
export function day(expected: string, words: readonly string[] = []) {
  const text = z.string({ error: expected }).meta({ pattern: dayPattern.source });
  return readInto(text, expected, asDay, words);
}

/**
 * Accepts a duration of whole days or weeks, such as `P90D` or `P2W`; returns days. `because` says why `most` is the maximum.
 */
export function wholeDays(limits: { example: string; least: number; most: number; because: string }) {
  const expected = `whole days or weeks, such as ${limits.example}`;
  const text = z.string({ error: expected }).meta({ pattern: '^P(\\d+W)?(\\d+D)?$' });
  return readInto(text, expected, (value) => {
    const duration = Temporal.Duration.from(value);
    if (duration.years !== 0 || duration.months !== 0)
      throw new Refusal(`${expected}: months and years differ in length`);
    const days = duration.weeks * 7 + duration.days;
    if (!duration.with({ weeks: 0, days: 0 }).blank) throw new Refusal(expected);
    if (days < limits.least) throw new Refusal(`at least P${limits.least}D`);
    if (days > limits.most) throw new Refusal(`at most P${limits.most}D: ${limits.because}`);
    return days;
  });
}

/** Accepts a day such as `2020-01-01`, or how long before today as an ISO 8601 duration of days to years, such as `P5Y`. */
export function dayOrReach() {
  const expected = 'a day such as 2020-01-01, or how long before today, such as P5Y';
  const pattern = `${dayPattern.source}|^P(?=\\d)(\\d+Y)?(\\d+M)?(\\d+W)?(\\d+D)?$`;
  return readInto(z.string({ error: expected }).meta({ pattern }), expected, (text) =>
    dayPattern.test(text) ? asDay(text) : asReach(Temporal.Duration.from(text)),
  );
}

function asDay(text: string): Temporal.PlainDate {
  if (!dayPattern.test(text)) throw new RangeError(`no day: ${text}`);
  return Temporal.PlainDate.from(text, { overflow: 'reject' });
}

/** @throws RangeError unless it is a whole number of days, at least one and at most a century */
function asReach(duration: Temporal.Duration): Temporal.Duration {
  const { years, months, weeks, days } = duration;
  const isWhole = duration.with({ years: 0, months: 0, weeks: 0, days: 0 }).blank;
  const reached = Temporal.PlainDate.from('2000-01-01').subtract({ years, months, weeks, days });
  if (isWhole && duration.sign > 0 && reached.year >= 1900) return duration;
  throw new RangeError(`no reach: ${duration}`);
}

const longestTimeLimit = 60 * 60 * 1000;

/** Accepts a time limit as an ISO 8601 duration (`PT10S`) or a number of seconds; returns milliseconds. */
export function timeLimit() {
  const expected = 'seconds, or a duration such as PT10S, up to PT1H';
  return readInto(z.union([z.number(), z.string()], { error: expected }), expected, (value) => {
    const milliseconds =
      typeof value === 'number' ? value * 1000 : Temporal.Duration.from(value).total('millisecond');
    if (milliseconds >= 1 && milliseconds <= longestTimeLimit) return Math.round(milliseconds);
    throw new RangeError(`no time limit: ${value}`);
  });
}

export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  const expected =
    most === Number.MAX_SAFE_INTEGER
      ? `a whole number of at least ${least}`
      : `a whole number from ${least} to ${most}`;
  return z.int({ error: expected }).min(least, { error: expected }).max(most, { error: expected });
}

/** Accepts one of some words. */
export function choice<const Words extends readonly [string, ...string[]]>(...words: Words) {
  return z.enum(words, { error: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}` });
}

/** Accepts a text that is not empty. */
export function name(expected: string) {
  return z.string({ error: expected }).min(1, { error: expected });
}

/** Accepts a cron expression of five fields: minute, hour, day of month, month, day of week. */
export function cronExpression() {
  const expected = 'a cron expression of five fields, such as "15 * * * *"';
  const text = z
    .string({ error: expected })
    .regex(/^[\w*/,-]+( +[\w*/,-]+){4}$/, { error: expected, abort: true });
  return text.superRefine((expression, context) => {
    try {
      const next = new Cron(expression, { mode: '5-part' }).nextRun();
      if (next === null) context.addIssue({ code: 'custom', message: 'a cron expression that comes due' });
    } catch {
      context.addIssue({ code: 'custom', message: expected });
    }
  });
}

/** Accepts the IANA name of a time zone that this machine knows. */
export function timeZone() {
  const expected = 'a time zone such as UTC or Europe/Oslo';
  const known = (name: string) => new Intl.DateTimeFormat('en', { timeZone: name }) && name;
  return readInto(z.string({ error: expected }), expected, known, [
    'UTC',
    ...Intl.supportedValuesOf('timeZone'),
  ]);
}

/** A refusal whose message says what was expected, in place of the type's usual words. */
class Refusal extends RangeError {}

/**
 * Converts the written value by `read`, which refuses it with a RangeError, as Temporal and Intl do.
 * @param candidates valid values, of which the nearest is suggested
 */
function readInto<Written, Value>(
  schema: z.ZodType<Written, Written>,
  expected: string,
  read: (written: Written) => Value,
  candidates: readonly string[] = [],
) {
  return schema.transform((written, context) => {
    try {
      return read(written);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      const message = error instanceof Refusal ? error.message : expected;
      context.addIssue({ code: 'custom', message, params: { candidates } });
      return z.NEVER;
    }
  });
}

/** Returns true for a map in the sense of YAML. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
