import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { sql } from 'kysely';
import { type ExportContext, type Exported, exportTable } from '../../src/export/export-table.ts';
import type { Manifest } from '../../src/export/manifest.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { ExportScope } from '../../src/warehouse/tables/export-rows.ts';
import { sqlIn } from '../support/warehouse-state.ts';

type Values = Readonly<Record<string, unknown>>;

export function aScope(overrides: Partial<ExportScope> = {}): ExportScope {
  return {
    table: gmsiHeadlines.table,
    from: undefined,
    to: undefined,
    only: {},
    asOf: undefined,
    versions: false,
    ...overrides,
  };
}

export type ExportSetting = Partial<Omit<ExportContext, 'warehouse' | 'scope'>> & {
  readonly db: Warehouse;
  /** Holds the export, as `export`. */
  readonly folder: string;
  readonly scope?: Partial<ExportScope>;
};

/** Exports as `gmsi export` would, in this process. */
export function runExport({ db, folder, scope, ...overrides }: ExportSetting): Promise<Exported> {
  return exportTable({
    warehouse: db,
    scope: aScope(scope),
    format: 'parquet',
    out: join(folder, 'export'),
    mode: 'new',
    storage: { endpoint: undefined, region: undefined },
    stop: new AbortController().signal,
    ...overrides,
  });
}

/** Asks a DuckDB that knows nothing of the export but its files. */
export async function askDuckDB(statement: string): Promise<Values[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    await connection.run(`set TimeZone = 'UTC'`);
    return (await connection.runAndReadAll(statement)).getRowObjectsJson() as Values[];
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** Every row of an export, in a form to compare. */
export async function rowsIn(out: string, manifest: Manifest): Promise<string[]> {
  const { format, columns, partitioned_by } = manifest;
  const inFiles = Object.entries(columns).filter(([column]) => !partitioned_by.includes(column));
  const types = JSON.stringify(Object.fromEntries(inFiles)).replaceAll('"', "'");
  const files = `'${out.replaceAll("'", "''")}/**/*.${format}', hive_partitioning = true, hive_types_autocast = false`;
  const source =
    format === 'parquet'
      ? `read_parquet(${files})`
      : `read_csv(${files}, header = true, allow_quoted_nulls = false, types = ${types})`;
  return comparable(await askDuckDB(`select * exclude (month)  from ${source}`));
}

/** Every row of a table (or of what a function returns) in the same form, times with their microseconds. */
export async function rowsOfTable(db: Warehouse, from: string): Promise<string[]> {
  return db.transaction().execute(async (trx) => {
    await sqlIn(trx)`set local time zone 'UTC'`;
    const rows = await sqlIn(trx)<{ row: Values; times: Values }>`
      select * from ${sql.raw(from)} as held,
      lateral (select jsonb_object_agg(key, (value #>> '{}')::timestamptz::text) as "_times"
               from jsonb_each(to_jsonb(held)) where (key like '%\_at' or key = 'hour') and value <> 'null') as times
    `;
    return comparable(rows.map(({ _times, ...row }: Values) => ({ ...row, ...(_times as Values) })));
  });
}

/** The rows that only one of two lists has: few enough to be read if a test fails. */
export function difference(found: readonly string[], expected: readonly string[]) {
  const without = (some: readonly string[], others: readonly string[]) => {
    const known = new Set(others);
    return some.filter((row) => !known.has(row)).slice(0, 3);
  };
  return {
    rows: found.length - expected.length,
    missing: without(expected, found),
    unexpected: without(found, expected),
  };
}

export const none = { rows: 0, missing: [], unexpected: [] };

export function comparable(rows: readonly Values[]): string[] {
  const text = (column: string, value: unknown) => {
    if (value === null) return null;
    if (column !== 'extra') return String(value);
    return JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value);
  };
  return rows.map((row) => {
    const sorted = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify(sorted.map(([column, value]) => [column, text(column, value)]));
  });
}
