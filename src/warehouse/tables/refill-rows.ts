import { type RawBuilder, sql } from 'kysely';
import type { FeedTable, Row } from '../../feeds/feed.ts';
import { arrayParameter } from '../arrays.ts';
import type { Warehouse } from '../connect.ts';
import type { WriteTransaction } from '../write-transaction.ts';
import { changedNow } from './rows.ts';
import { isRowOfJob, type WindowScope } from './series.ts';

/** A row of a feed's table: its series, its columns, and `changed_at`; times as texts in UTC. */
export type StoredRow = Row;

/** Which rows to read again: those whose `extra` has any of these names at its top level. */
export interface RefillSelection {
  readonly fields: readonly string[];
  /** Only rows of a job's series. */
  readonly scope: WindowScope | undefined;
}

/** Returns the rows of a feed's table that may be filled from their `extra`, in the order of their keys, beyond `after`. */
export async function rowsToRefill(
  warehouse: Warehouse,
  table: FeedTable,
  { fields, scope }: RefillSelection,
  after: StoredRow | undefined,
  limit: number,
): Promise<StoredRow[]> {
  const key = keyColumnsOf(table);
  const keyColumns = sql.join(key.map((column) => sql.ref(column)));
  const conditions = [sql`extra ?| ${[...fields]}::text[]`];
  if (scope) conditions.push(isRowOfJob('kept', table, scope));
  if (after) {
    const from = key.map((column) => sql`${after[column]}::${sql.raw(table.columns[column] ?? 'text')}`);
    conditions.push(sql`(${keyColumns}) > (${sql.join(from)})`);
  }
  const columns = [
    ...Object.keys(table.series).map((column) => sql.ref(column)),
    ...Object.entries(table.columns).map(([column, type]) => asSent(column, type)),
    asSent('changed_at', 'timestamptz'),
  ];
  const { rows } = await sql<StoredRow>`
    select ${sql.join(columns)} from ${sql.table(`gmsi.${table.name}`)} as kept
    where ${sql.join(conditions, sql` and `)} order by ${keyColumns} limit ${limit}
  `.execute(warehouse);
  return rows;
}

/**
 * Replaces rows that were read again; the versions before are kept, with the reason `read again`. A row that something else
 * has changed since it was selected is left alone.
 * @returns how many rows were replaced
 */
export async function writeRefilled(
  trx: WriteTransaction,
  table: FeedTable,
  rows: readonly StoredRow[],
  loadId: number,
): Promise<number> {
  const key = keyColumnsOf(table);
  const types: Record<string, string> = { ...table.columns, changed_at: 'timestamptz' };
  const sent = [...Object.keys(table.series), ...Object.keys(types)].map((column) => {
    const type = (types[column] ?? 'text') as 'text';
    return sql`unnest(${arrayParameter(rows, column, type)}::${sql.raw(type)}[]) as ${sql.ref(column)}`;
  });
  const values = Object.keys(table.columns).filter((column) => !key.includes(column));
  const taken = values.map((column) => sql`${sql.ref(column)} = sent.${sql.ref(column)}`);
  const isSame = [...key, 'changed_at'].map(
    (column) => sql`kept.${sql.ref(column)} = sent.${sql.ref(column)}`,
  );
  await sql`select set_config('gmsi.reading_again', 'on', true)`.execute(trx);
  const { numAffectedRows } = await sql`
    update ${sql.table(`gmsi.${table.name}`)} as kept
    set ${sql.join(taken)}, load_id = ${loadId}::bigint,
        changed_at = ${sql.raw(changedNow)}
    from (select ${sql.join(sent)}) as sent
    where ${sql.join(isSame, sql` and `)}
  `.execute(trx);
  return Number(numAffectedRows);
}

function keyColumnsOf(table: FeedTable): string[] {
  return [...Object.keys(table.series), ...table.key];
}

/** Returns a column in a form that can be sent back unchanged: with microseconds, and JSON as text. */
function asSent(column: string, type: string): RawBuilder<unknown> {
  const name = sql.ref(column);
  if (type === 'jsonb') return sql`${name}::text as ${name}`;
  if (type !== 'timestamptz') return name;
  return sql`to_char(${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${name}`;
}
