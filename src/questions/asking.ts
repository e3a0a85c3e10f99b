import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { momentName } from '../warehouse/tables/moments.ts';

// Parameters of questions, read once for the API.

/** What a question takes, as its schema reads it. */
export type Asked<Parameters extends z.ZodObject> = Readonly<z.output<Parameters>>;

/** Accepts a text that PostgreSQL can store. @param most characters */
export function textUpTo(most: number) {
  const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed();
  return z.string().max(most).refine(isStorable, 'It must not contain NUL or half a character.');
}

// `abort`, because the next checks expect a day or a moment.
const outOfRange = { error: 'It must be in the years 1900 to 2100.', abort: true };

const day = z.iso
  .date({ error: 'It must be a day such as 2025-01-31.', abort: true })
  .refine((value) => value >= '1900' && value < '2101', outOfRange);

/** A period of days (UTC). */
export const period = {
  from: day.describe('First day (UTC).'),
  to: day.describe('Last day (UTC), inclusive.'),
};

const someDays = { error: 'It must be days such as 2025-01-01..2025-01-31.', abort: true };

/** A first and a last day. */
export const days = z
  .string()
  .regex(/^\S+\.\.\S+$/, someDays)
  .transform((text) => text.split('..'))
  .pipe(z.tuple([day, day]))
  .refine(([from, to]) => from <= to, someDays);

const aMoment = { error: 'It must be a moment such as 2025-06-30T12:00:00Z.', abort: true };

/** A moment as text (UTC) with microseconds, which a `Date` would lose. */
export const exactMoment = z.iso
  .datetime({ offset: true, ...aMoment })
  // Temporal cannot read finer ones.
  .refine((value) => !/\.\d{10}/.test(value), aMoment)
  .refine((value) => value >= '1900' && value < '2101', outOfRange)
  // PostgreSQL refuses offsets of 16 hours or more.
  .transform((value) => Temporal.Instant.from(value).toString({ smallestUnit: 'microsecond' }));

/** Of the future nothing is known. A minute is left to clocks that differ a little. */
const isPast = (value: string) => Date.parse(value) <= Date.now() + 60_000;

/** A past moment, or the name of one. */
export const pastMoment = z.union(
  [z.string().regex(momentName, aMoment), exactMoment.refine(isPast, aMoment)],
  aMoment,
);

/** Accepts a list as a repeated parameter, because names of topics contain commas. */
export function several(what: string, atMost: number) {
  return z
    .union([z.string().transform((one) => [one]), z.array(z.string())])
    .pipe(z.array(textUpTo(200)).min(1).max(atMost, `At most ${atMost} at once.`))
    .describe(`${what}; give it several times for several.`);
}

/** The most rows of an answer. */
export function limit(usual: number, most = 1000) {
  return z.coerce.number().pipe(z.int().min(1).max(most)).default(usual);
}

/** The periods by which scores are summed up. Days, weeks (from Monday) and months are those of UTC. */
export const by = z.enum(['hour', 'day', 'week', 'month']).default('day');

export type Bucket = z.output<typeof by>;

export const feed = textUpTo(100).describe('A feed, such as gmsi-headlines.');

/** A point in the past, in versions of then. */
export const asOf = pastMoment.optional().describe('What the warehouse had then, in the versions of then.');
