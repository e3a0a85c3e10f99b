import { type RawBuilder, sql } from 'kysely';
import type { FeedTable, Row, Series } from '../../feeds/feed.ts';
import type { Warehouse } from '../connect.ts';
import type { WriteTransaction } from '../write-transaction.ts';
import { arrayParameter } from './array-parameter.ts';
import type { WindowScope } from './window-scope.ts';

/** A row as it stands in a feed's table: its series, its columns, and `changed_at`; times as texts in UTC. */
export type StoredRow = Row;

/** Which rows to read again: those whose `extra` has any of these names at its top. */
export interface RefillSelection {
  readonly fields: readonly string[];
  /** Only rows of a job's series. */
  readonly scope: WindowScope | undefined;
}

/** The rows of a feed's table that may be filled from their `extra`, in the order of their keys, beyond `after`. */
export async function rowsToRefill(
  warehouse: Warehouse,
  table: FeedTable,
  { fields, scope }: RefillSelection,
  after: StoredRow | undefined,
  limit: number,
): Promise<StoredRow[]> {
  const key = keyOf(table);
  const keyColumns = sql.join(key.map((column) => sql.ref(column)));
  const conditions = [sql`extra ?| ${[...fields]}::text[]`];
  if (scope) conditions.push(...inSeriesOf(table, scope));
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
    select ${sql.join(columns)} from ${sql.table(`gmsi.${table.name}`)}
    where ${sql.join(conditions, sql` and `)} order by ${keyColumns} limit ${limit}
  `.execute(warehouse);
  return rows;
}

/**
 * Replaces rows by what they are when read again; the versions before are kept, with `read again` for their reason.
 * A row that something else has changed since it was selected is left alone.
 * @returns how many rows were replaced
 */
export async function writeRefilled(
  trx: WriteTransaction,
  table: FeedTable,
  rows: readonly StoredRow[],
  loadId: number,
): Promise<number> {
  const key = keyOf(table);
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
        changed_at = greatest(now(), kept.changed_at + interval '1 microsecond')
    from (select ${sql.join(sent)}) as sent
    where ${sql.join(isSame, sql` and `)}
  `.execute(trx);
  return Number(numAffectedRows);
}

function keyOf(table: FeedTable): string[] {
  return [...Object.keys(table.series), ...table.key];
}

/** A column in the form in which it can be sent back as it was: with its microseconds, and JSON as text. */
function asSent(column: string, type: string): RawBuilder<unknown> {
  const name = sql.ref(column);
  if (type === 'jsonb') return sql`${name}::text as ${name}`;
  if (type !== 'timestamptz') return name;
  return sql`to_char(${name} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ${name}`;
}

function inSeriesOf(table: FeedTable, scope: WindowScope): RawBuilder<unknown>[] {
  const { countries: country, topics: topic, tickers: ticker, variants: variant, matchType } = scope;
  const lists: Record<keyof Series, readonly string[]> = {
    ...{ country, topic, ticker, variant, matchType: [matchType] },
  };
  return Object.entries(table.series).map(([column, part]) => {
    const wanted =
      typeof part === 'string'
        ? lists[part]
        : variant.map((parameters) => new URLSearchParams(parameters).get(part.parameter) ?? '');
    return sql`${sql.ref(column)} = any(${[...wanted]}::text[])`;
  });
}
