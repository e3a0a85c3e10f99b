import { type DuckDB, identifier } from '../duckdb.ts';
import { exactSum, type Totals, totalsFrom } from '../warehouse/tables/export-rows.ts';
import { type FileFormat, readFiles } from './duckdb.ts';
import type { ExportPlan } from './plan-export.ts';
import { ExportNotWritten } from './target.ts';

/**
 * Reads every file again, and compares the count and sums of each series and month with those of the warehouse.
 * @param paths all files of the export, absolute
 * @throws ExportNotWritten with the first difference
 */
export async function checkFiles(
  duckdb: DuckDB,
  format: FileFormat,
  paths: readonly string[],
  { columns, scores, series, totals }: Pick<ExportPlan, 'columns' | 'scores' | 'series' | 'totals'>,
): Promise<void> {
  const sums = scores.map((column) => `, ${exactSum(column)} as ${identifier(column)}`).join('');
  const rows = await duckdb.run(
    `select ${identifier(series)} as series, month, count(*)::text as rows ${sums}
     from ${readFiles(format, paths, columns)} group by 1, 2`,
  );
  const found = new Map(rows.map((row) => totalsFrom(row, scores)).map((of) => [groupKey(of), of]));
  for (const counted of totals) {
    const difference = differenceOf(counted, found.get(groupKey(counted)));
    if (difference) throw differs(`of ${series} ${counted.series} in ${counted.month} ${difference}`);
    found.delete(groupKey(counted));
  }
  for (const { series: value, month } of found.values())
    throw differs(`have rows of ${series} ${value} in ${month}, the warehouse none`);
}

function groupKey({ series, month }: Totals): string {
  return `${month} ${series}`;
}

function differenceOf(counted: Totals, found: Totals | undefined): string | undefined {
  if (found?.rows !== counted.rows) return `have ${found?.rows ?? 0} rows, the warehouse ${counted.rows}`;
  const column = Object.keys(counted.sums).find((name) => found.sums[name] !== counted.sums[name]);
  if (column === undefined) return undefined;
  // Sums are in billionths.
  const [here, there] = [found, counted].map(({ sums }) => Number(sums[column]!) / 1e9);
  return `have a sum of ${column} of ${here}, the warehouse ${there}`;
}

function differs(what: string): ExportNotWritten {
  return new ExportNotWritten(`The files ${what}.`, {
    hint: 'Nothing was kept. Run the export again. If it fails again, the disk is faulty, or this program has an error.',
  });
}
