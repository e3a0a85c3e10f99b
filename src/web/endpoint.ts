import { z } from 'zod';
import { type Question, whileReading } from '../questions/reading.ts';
import type { Warehouse } from '../warehouse/connect.ts';

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
