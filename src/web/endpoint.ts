import { z } from 'zod';
import type { Warehouse } from '../warehouse/connect.ts';
import { type Question, sqlText, whileReading } from '../warehouse/questions/reading.ts';

/** An address of the API: what it takes, what a row of its answer is, and the question that it asks. */
export interface Endpoint {
  readonly path: string;
  readonly about: string;
  readonly takes: z.ZodObject;
  readonly row: z.ZodObject;
  /** `own` if readers of the warehouse may not see it. */
  readonly rights: 'reader' | 'own';
  /** Whether the answer also changes with time, and not only with the warehouse. */
  readonly isLive: boolean;
  readonly answer:
    | {
        /** @param taken the parameters, as `takes` reads them */
        readonly ask: (taken: never) => Question<unknown>;
      }
    | {
        /** For what is more than one question: the rows themselves. */
        readonly read: () => Promise<readonly object[]>;
      };
}

/** An endpoint, with types that agree with its schemas. */
export function endpoint<Takes extends z.ZodObject, Row extends z.ZodObject>(
  path: string,
  about: string,
  of: {
    readonly takes: Takes;
    readonly row: Row;
    readonly rights?: 'reader' | 'own';
    readonly isLive?: boolean;
    readonly ask: (taken: z.output<Takes>) => Question<Readonly<z.output<Row>>>;
  },
): Endpoint {
  const { takes, ask, ...others } = of;
  // A parameter that does not exist is misspelt.
  return { path, about, rights: 'reader', isLive: false, ...others, takes: takes.strict(), answer: { ask } };
}

/** An answer as it is sent: cells by column. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  /** The query, for psql; `null` if it is more than one. */
  readonly sql: string | null;
}

/** Asks an endpoint's question. @param taken the parameters, as `takes` reads them */
export async function answerOf(
  warehouse: Warehouse,
  { row, rights, answer: how }: Endpoint,
  taken: object,
): Promise<Answer> {
  const columns = Object.keys(row.shape);
  const cellsOf = (rows: readonly object[]) =>
    rows.map((one) => columns.map((column) => one[column as keyof typeof one]));
  if ('read' in how) return { columns, rows: cellsOf(await how.read()), sql: null };
  const question = how.ask(taken as never);
  const { rows } = await whileReading(warehouse, rights, (reading) => question.query.execute(reading));
  return { columns, rows: cellsOf(rows as object[]), sql: sqlText(warehouse, question) };
}

/** The least and the largest day that a question may be about. */
const day = z.iso
  .date('It must be a day such as 2025-01-31.')
  .refine((text) => text >= '1900-01-01' && text <= '2100-12-31', 'It must be a day from 1900 to 2100.');

/** A period of days (UTC). */
export const period = {
  from: day.describe('First day (UTC).'),
  to: day.describe('Last day (UTC), itself included.'),
};

/** A moment as text, to the microsecond, which a `Date` does not keep. */
export const exactMoment = z.iso.datetime({
  offset: true,
  error: 'It must be a moment such as 2025-06-30T12:00:00Z.',
});

export const moment = exactMoment.transform((text) => new Date(text));

/** A list in one parameter that may be given several times: names of topics contain commas. */
export function several(what: string, atMost: number) {
  const one = z.string().max(200);
  return z
    .union([one.transform((text) => [text]), z.array(one)])
    .pipe(z.array(one).min(1).max(atMost, `At most ${atMost} may be asked for at once.`))
    .describe(`${what}; give it several times for several.`);
}

export const score = z.number().nullable();
export const time = z.date();
