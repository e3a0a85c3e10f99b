import { type Kysely, type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Database } from '../warehouse/database.ts';
import { inOneSnapshot, type Snapshot, type SnapshotOptions } from '../warehouse/snapshot.ts';
import { completeTo } from '../warehouse/standby.ts';

/** The longest time for a question, in seconds, because people wait for the answer. */
export const longest = 5;

/** Memory of a question before it sorts on disk. PostgreSQL's usual 4 MB are too little for years of many series. */
const workMemory = '32MB';

/**
 * Reads the answer to a question of a person in one snapshot.
 * @param rights `own` for data that readers may not see, such as the requests of a key
 */
export async function whileReading<Result>(
  warehouse: Warehouse,
  rights: SnapshotOptions['rights'],
  read: (snapshot: Snapshot) => Promise<Result>,
): Promise<Result> {
  return inOneSnapshot(warehouse, { timeout: longest, rights }, async (snapshot) => {
    await sql`
      select set_config('work_mem', ${workMemory}, true)
      where pg_size_bytes(current_setting('work_mem')) < pg_size_bytes(${workMemory})
    `.execute(snapshot);
    return read(snapshot);
  });
}

export interface WarehouseState {
  /**
   * Changes with every transaction that writes to the server's databases, by gmsi or by anybody else. While it is the same, every
   * question has the same answer.
   */
  readonly state: string;
  /** The time up to which the server has everything; null for a standby that has not replayed a transaction. */
  readonly asOf: Date | null;
  readonly isStandby: boolean;
}

export async function stateOf(warehouse: Warehouse): Promise<WarehouseState> {
  const { rows } = await sql<WarehouseState>`
    select concat_ws('/', pg_postmaster_start_time(), pg_current_snapshot(),
                     (select oid from pg_database where datname = current_database())) as state,
           pg_is_in_recovery() as "isStandby", ${completeTo} as "asOf"
  `.execute(warehouse);
  return rows[0]!;
}

export interface Question<Row> {
  readonly query: RawBuilder<Row>;
  /** The question in words, on one line. */
  readonly about: string;
}

/** Asks for rows. Their columns are described once, for the program, for the API and for its readers. */
export function question<Columns extends z.ZodObject>(
  row: Columns,
  about: string,
  query: RawBuilder<unknown>,
) {
  return { row, about, query: query as RawBuilder<RowOf<Columns>> };
}

export type RowOf<Columns extends z.ZodObject> = Readonly<z.output<Columns>>;

// Columns of many answers. Days are texts, too: `2025-01-31`.
export const text = z.string().nullable();
export const timeText = z.string().describe('To the microsecond.');
export const score = z.number().nullable();

/**
 * Line breaks, marks of direction and other control characters, which a terminal, psql or a spreadsheet may obey instead of
 * showing.
 */
export const controls = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Returns the SQL of a question for a person to copy. Nothing in its values ends a line, or is a control character. */
export function sqlText(db: Kysely<Database>, { query, about }: Question<unknown>): string {
  const { sql: text, parameters } = query.compile(db);
  const withValues = text.replace(/\$(\d+)/g, (_, number) => literal(parameters[Number(number) - 1]));
  return `-- ${about.replace(controls, ' ')}\n${unindented(withValues)};\n`;
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `array[${value.map(literal).join(', ')}]`;
  return textConstant(String(value));
}

/**
 * Returns a text constant of SQL. psql would run a line of the text that begins with a backslash, so control characters are
 * escaped.
 */
function textConstant(text: string): string {
  const quoted = text.replaceAll("'", "''");
  if (!text.includes('\\') && text.search(controls) < 0) return `'${quoted}'`;
  const code = (control: string) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return `E'${quoted.replaceAll('\\', '\\\\').replace(controls, code)}'`;
}

/** Removes empty lines, and the indentation that the text has in the program. */
function unindented(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const least = Math.min(...lines.map((line) => line.search(/\S/)).filter((indent) => indent > 0));
  return lines.map((line, index) => (index === 0 ? line.trim() : line.slice(least))).join('\n');
}

/** A past moment: a time as text with its zone, or the name of one (`gmsi.moments`), which begins with a letter. */
export type Moment = string;

export function momentSql(moment: Moment): RawBuilder<Date> {
  return /^\d/.test(moment) ? sql`${moment}::timestamptz` : sql`gmsi.moment(${moment})`;
}
