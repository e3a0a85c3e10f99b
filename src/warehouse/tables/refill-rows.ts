import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { FeedTable, Row } from '../../feeds/feed.ts';
import type { Database } from '../database.ts';
import { exactTime } from '../exact-time.ts';
import { isRowOfJob, type WindowScope } from './series.ts';

/** Which rows to read again: those whose `extra` has any of these names at its top level. */
export interface RefillSelection {
  readonly fields: readonly string[];
  /** Only rows of a job's series. */
  readonly scope: WindowScope | undefined;
}

/** Returns the rows of a feed's table that may be filled from their `extra`, in the order of their keys, beyond `after`. */
export async function rowsToRefill(
  db: Kysely<Database>,
  table: FeedTable,
  { fields, scope }: RefillSelection,
  after: Row | undefined,
  limit: number,
): Promise<Row[]> {
  const key = [...table.series, ...table.key];
  const keyColumns = sql.join(key.map((column) => sql.ref(column)));
  const conditions = [sql`extra ?| ${[...fields]}::text[]`];
  if (scope) conditions.push(isRowOfJob('kept', table, scope));
  if (after) {
    const from = key.map((column) => sql`${after[column]}::${sql.raw(table.columns[column] ?? 'text')}`);
    conditions.push(sql`(${keyColumns}) > (${sql.join(from)})`);
  }
  const columns = [
    ...table.series.map((column) => sql.ref(column)),
    ...Object.entries(table.columns).map(([column, type]) => asSent(column, type)),
  ];
  const { rows } = await sql<Row>`
    select ${sql.join(columns)} from ${sql.table(`gmsi.${table.name}`)} as kept
    where ${sql.join(conditions, sql` and `)} order by ${keyColumns} limit ${limit}
  `.execute(db);
  return rows;
}

/** Returns a column in a form that can be sent back unchanged: with microseconds, and JSON as text. */
function asSent(column: string, type: string): RawBuilder<unknown> {
  const name = sql.ref(column);
  if (type === 'jsonb') return sql`${name}::text as ${name}`;
  return type === 'timestamptz' ? sql`${exactTime(column)} as ${name}` : name;
}
