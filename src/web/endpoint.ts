import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import type { Warehouse } from '../warehouse/connect.ts';
import { type Question, whileReading } from '../warehouse/questions/reading.ts';
import { momentName } from '../warehouse/tables/moments.ts';

/** An address of the API: its parameters, the row of its answer, and its query. */
export interface Endpoint {
  readonly path: string;
  readonly about: string;
  readonly takes: z.ZodObject;
  readonly row: z.ZodObject;
  /** `own` if the warehouse's readers may not see it. */
  readonly rights: 'reader' | 'own';
  /** True if the answer changes with time, even if the warehouse does not. */
  readonly isLive: boolean;
  readonly answer:
    | {
        /** @param taken the parameters, as `takes` reads them */
        readonly ask: (taken: never) => Question<unknown> | Promise<Question<unknown>>;
      }
    | {
        /** Returns the rows of an answer that needs several queries. */
        readonly read: () => Promise<readonly object[]>;
      };
}

/** Defines an endpoint whose types agree with its schemas. */
export function endpoint<Path extends string, Takes extends z.ZodObject, Row extends z.ZodObject>(
  path: Path,
  about: string,
  of: {
    readonly takes: Takes;
    readonly row: Row;
    readonly rights?: 'reader' | 'own';
    readonly isLive?: boolean;
    readonly ask: (
      taken: z.output<Takes>,
    ) => Question<Readonly<z.output<Row>>> | Promise<Question<Readonly<z.output<Row>>>>;
  },
) {
  const { takes, ask, row, ...others } = of;
  // Refuses unknown parameters, which are misspelt.
  const strict = takes.strict().refine(({ from, to }) => !(from! > to!), 'from must not be after to.');
  const usual = { rights: 'reader', isLive: false } as const;
  return { path, about, row, ...usual, ...others, takes: strict, answer: { ask } } satisfies Endpoint;
}

/** Defines an endpoint that always asks the same. */
export function withoutParameters<Path extends string, Row extends z.ZodObject>(
  path: Path,
  asked: Question<Readonly<z.output<Row>>> & { readonly row: Row },
  of: Partial<Pick<Endpoint, 'rights' | 'isLive'>> = {},
) {
  return endpoint(path, asked.about, { takes: z.object({}), row: asked.row, ...of, ask: () => asked });
}

/** An answer as sent: cells by column. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Runs an endpoint's query. @param taken the parameters, as `takes` reads them */
export async function answerOf(
  warehouse: Warehouse,
  { row, rights, answer: how }: Endpoint,
  taken: object,
): Promise<Answer> {
  const columns = Object.keys(row.shape);
  const cellsOf = (rows: readonly object[]) =>
    rows.map((one) => columns.map((column) => one[column as keyof typeof one]));
  if ('read' in how) return { columns, rows: cellsOf(await how.read()) };
  const question = await how.ask(taken as never);
  const { rows } = await whileReading(warehouse, rights, (reading) => question.query.execute(reading));
  return { columns, rows: cellsOf(rows as object[]) };
}

/** Accepts a text that PostgreSQL can store. @param most characters */
export function text(most: number) {
  const isStorable = (value: string) => !value.includes('\0') && value.isWellFormed();
  return z.string().max(most).refine(isStorable, 'It must not contain NUL or half a character.');
}

// `abort`, because the next checks expect a day or a moment.
const outOfRange = { error: 'It must be in the years 1900 to 2100.', abort: true };

export const day = z.iso
  .date({ error: 'It must be a day such as 2025-01-31.', abort: true })
  .refine((value) => value >= '1900' && value < '2101', outOfRange);

/** A period of days (UTC). */
export const period = {
  from: day.describe('First day (UTC).'),
  to: day.describe('Last day (UTC), inclusive.'),
};

const aMoment = { error: 'It must be a moment such as 2025-06-30T12:00:00Z.', abort: true };

/** A moment as text (UTC) with microseconds, which a `Date` would lose. */
export const exactMoment = z.iso
  .datetime({ offset: true, ...aMoment })
  // Temporal cannot read finer ones.
  .refine((value) => !/\.\d{10}/.test(value), aMoment)
  .refine((value) => value >= '1900' && value < '2101', outOfRange)
  // PostgreSQL refuses offsets of 16 hours or more.
  .transform((value) => Temporal.Instant.from(value).toString({ smallestUnit: 'microsecond' }));

/** A past moment, or the name of one. */
export const pastMoment = z.union([z.string().regex(momentName, aMoment), exactMoment], aMoment);

/** Accepts a list as a repeated parameter, because names of topics contain commas. */
export function several(what: string, atMost: number) {
  return z
    .union([z.string().transform((one) => [one]), z.array(z.string())])
    .pipe(z.array(text(200)).min(1).max(atMost, `At most ${atMost} at once.`))
    .describe(`${what}; give it several times for several.`);
}

/** The most rows of an answer. */
export function limit(usual: number, most = 1000) {
  return z.coerce.number().pipe(z.int().min(1).max(most)).default(usual);
}

/** The length of buckets. */
export const by = z.enum(['hour', 'day', 'week', 'month']).default('day');
