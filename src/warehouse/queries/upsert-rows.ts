import { sql, type Transaction } from 'kysely';
import type { FeedTable, Row, Series } from '../../feeds/feed.ts';
import type { Database } from '../tables/database.ts';
import { arrayLiteral } from './array-literal.ts';

export interface Upserted {
  /** Rows that were new. */
  readonly inserted: number;
  /** Rows that replaced an older version, which is kept by the table's trigger. */
  readonly changed: number;
}

/** Where rows come from: what each of them says besides what its record said. */
export interface Provenance {
  readonly series: Series;
  readonly loadId: number;
  readonly isBackfilled: boolean;
}

/**
 * Writes a page's rows in one statement: new ones are inserted, changed ones replaced, equal ones not touched.
 * The arrays are sent as literals and unnested: measured at more than nine tenths of COPY, and unlike COPY it upserts.
 */
export async function upsertRows(
  trx: Transaction<Database>,
  table: FeedTable,
  rows: readonly Row[],
  { series, loadId, isBackfilled }: Provenance,
): Promise<Upserted> {
  const unique = sortedAndUnique(rows, table.key);
  if (unique.length === 0) return { inserted: 0, changed: 0 };
  const arrays = Object.entries(table.columns).map(
    ([column, type]) => sql`${arrayLiteral(unique, column, type)}::${sql.raw(type)}[]`,
  );
  const result = await sql<Upserted>`
    with written as (
      insert into ${sql.table(`gmsi.${table.name}`)} as kept
        (country, topic, match_type, is_backfilled, load_id, ${columnList(table)})
      select ${series.country}, ${series.topic}, ${series.matchType}, ${isBackfilled}::boolean, ${loadId}::bigint, sent.*
      from unnest(${sql.join(arrays)}) as sent (${columnList(table)})
      ${onConflict(table)}
      returning kept.first_seen_at = kept.changed_at as is_new
    )
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as changed from written
  `.execute(trx);
  return result.rows[0]!;
}

function columnList(table: FeedTable) {
  return sql.join(Object.keys(table.columns).map((column) => sql.ref(column)));
}

function onConflict(table: FeedTable) {
  const values = Object.keys(table.columns).filter((column) => !table.key.includes(column));
  const key = ['country', 'topic', 'match_type', ...table.key];
  const side = (name: string) => sql.join(values.map((column) => sql.ref(`${name}.${column}`)));
  return sql`
    on conflict (${sql.join(key.map((column) => sql.ref(column)))}) do update set
      ${sql.join(values.map((column) => sql`${sql.ref(column)} = ${sql.ref(`excluded.${column}`)}`))},
      load_id = excluded.load_id,
      retracted_at = null,
      -- Later than the version before it, even where this transaction began before that one was committed.
      changed_at = greatest(excluded.changed_at, kept.changed_at + interval '1 microsecond')
    where kept.retracted_at is not null or (${side('kept')}) is distinct from (${side('excluded')})`;
}

/**
 * In the order of the key, the last of several with the same key: parallel writers that lock rows in one order cannot
 * deadlock, and one statement may not touch a row twice (error 21000).
 */
function sortedAndUnique(rows: readonly Row[], key: readonly string[]): readonly Row[] {
  const sorted = rows.slice().sort((a, b) => compare(a, b, key));
  return sorted.filter((row, i) => i === sorted.length - 1 || compare(row, sorted[i + 1]!, key) !== 0);
}

function compare(a: Row, b: Row, key: readonly string[]): number {
  for (const column of key) {
    const left = a[column]!;
    const right = b[column]!;
    if (left !== right) return left < right ? -1 : 1;
  }
  return 0;
}
