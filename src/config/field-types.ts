import { Cron } from 'croner';
import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';

/**
 * The kinds of values in a job file that YAML itself does not have. Every message completes the word "expected"; problems.ts
 * adds the place and what was found.
 */

/** No feed of headlines begins before 1900; a year such as 0216 is a typing error. */
const dayPattern = /^(19|2\d)\d{2}-\d{2}-\d{2}$/;

/** A day written as `2016-01-01`; `words` are allowed instead. */
export function day(expected: string, words: readonly string[] = []) {
  return z
    .string({ error: expected })
    .meta({ pattern: dayPattern.source })
    .transform((text, context) => {
      const parsed = dayPattern.test(text)
        ? attempt(() => Temporal.PlainDate.from(text, { overflow: 'reject' }))
        : undefined;
      if (parsed !== undefined) return parsed;
      context.addIssue({ code: 'custom', message: expected, params: { candidates: words } });
      return z.NEVER;
    });
}

/** A duration of whole days or weeks, such as `P90D` or `P2W`, read into days; `because` says why no more than `most`. */
export function wholeDays(limits: { example: string; least: number; most: number; because: string }) {
  const expected = `whole days or weeks, such as ${limits.example}`;
  return z
    .string({ error: expected })
    .meta({ pattern: '^P(\\d+W)?(\\d+D)?$' })
    .transform((text, context) => {
      const refuse = (message: string) => {
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      };
      const duration = attempt(() => Temporal.Duration.from(text));
      if (duration === undefined) return refuse(expected);
      if (duration.years !== 0 || duration.months !== 0) {
        return refuse(`${expected}: months and years are not all of one length`);
      }
      const days = duration.weeks * 7 + duration.days;
      const rest = duration.with({ weeks: 0, days: 0 });
      if (!rest.blank) return refuse(expected);
      if (days < limits.least) return refuse(`at least P${limits.least}D`);
      if (days > limits.most) return refuse(`at most P${limits.most}D: ${limits.because}`);
      return days;
    });
}

/** A day such as `2020-01-01`, or how long before today as an ISO 8601 duration of days to years, such as `P5Y`. */
export function dayOrReach() {
  const expected = 'a day such as 2020-01-01, or how long before today, such as P5Y';
  return z
    .string({ error: expected })
    .meta({ pattern: `${dayPattern.source}|^P(?=\\d)(\\d+Y)?(\\d+M)?(\\d+W)?(\\d+D)?$` })
    .transform((text, context) => {
      const parsed = attempt(() =>
        dayPattern.test(text)
          ? Temporal.PlainDate.from(text, { overflow: 'reject' })
          : asReach(Temporal.Duration.from(text)),
      );
      if (parsed !== undefined) return parsed;
      context.addIssue({ code: 'custom', message: expected });
      return z.NEVER;
    });
}

/** @throws RangeError unless it is at least a day, at most a century, and of whole days */
function asReach(duration: Temporal.Duration): Temporal.Duration {
  const { years, months, weeks, days } = duration;
  const isWhole = duration.with({ years: 0, months: 0, weeks: 0, days: 0 }).blank;
  const reached = Temporal.PlainDate.from('2000-01-01').subtract({ years, months, weeks, days });
  if (isWhole && duration.sign > 0 && reached.year >= 1900) return duration;
  throw new RangeError(`no reach: ${duration}`);
}

const longestTimeLimit = 60 * 60 * 1000;

/** A time limit as an ISO 8601 duration (`PT10S`) or a number of seconds; read into milliseconds. */
export function timeLimit() {
  const expected = 'seconds, or a duration such as PT10S, up to PT1H';
  return z.union([z.number(), z.string()], { error: expected }).transform((value, context) => {
    const milliseconds =
      typeof value === 'number'
        ? value * 1000
        : attempt(() => Temporal.Duration.from(value).total('millisecond'));
    if (milliseconds !== undefined && milliseconds >= 1 && milliseconds <= longestTimeLimit) {
      return Math.round(milliseconds);
    }
    context.addIssue({ code: 'custom', message: expected });
    return z.NEVER;
  });
}

/** A whole number of at least `least` and at most `most`. */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  const expected =
    most === Number.MAX_SAFE_INTEGER
      ? `a whole number of at least ${least}`
      : `a whole number from ${least} to ${most}`;
  return z.int({ error: expected }).min(least, { error: expected }).max(most, { error: expected });
}

/** Five fields, as cron has them: minute, hour, day of month, month, day of week. */
export function cronExpression() {
  const expected = 'a cron expression of five fields, such as "15 * * * *"';
  const text = z
    .string({ error: expected })
    .regex(/^[\w*/,-]+( +[\w*/,-]+){4}$/, { error: expected, abort: true });
  return text.superRefine((expression, context) => {
    try {
      new Cron(expression, { mode: '5-part' });
    } catch {
      context.addIssue({ code: 'custom', message: expected });
    }
  });
}

/** A time zone known to this machine, by its IANA name. */
export function timeZone() {
  const expected = 'a time zone such as UTC or Europe/Oslo';
  return z.string({ error: expected }).superRefine((name, context) => {
    const known = attempt(() => new Intl.DateTimeFormat('en', { timeZone: name }));
    if (known !== undefined) return;
    const candidates = ['UTC', ...Intl.supportedValuesOf('timeZone')];
    context.addIssue({ code: 'custom', message: expected, params: { candidates } });
  });
}

/** `undefined` if Temporal or Intl refuse a text, with a RangeError. */
function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
