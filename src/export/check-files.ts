import { basename, dirname } from 'node:path';
import {
  exactSum,
  type Partition,
  type PartitionTotals,
  totalsFrom,
} from '../warehouse/tables/export-rows.ts';
import { type DuckDB, type ExportFormat, identifier, readFiles } from './duckdb.ts';
import { billionths, type ExportPlan } from './export-table.ts';
import { ExportDiffers } from './target-folder.ts';

/**
 * Reads every file again, and compares the count and the sums of each partition with those of the warehouse.
 * @param paths all files of the export, absolute
 * @throws ExportDiffers naming the first difference
 */
export async function checkFiles(
  duckdb: DuckDB,
  format: ExportFormat,
  paths: readonly string[],
  plan: ExportPlan,
): Promise<void> {
  const { partitions, scores, folders } = plan;
  const [series, month] = folders.map(identifier);
  const sums = scores.map((column) => `, ${exactSum(column)} as ${identifier(column)}`).join('');
  const found = new Map<string, PartitionTotals>();
  for (const ofMonth of byMonth(paths)) {
    const rows = await duckdb.run(
      `select ${series} as series, ${month} as month, count(*)::text as rows ${sums}
       from ${readFiles(format, ofMonth, plan)} group by 1, 2`,
    );
    for (const row of rows as (Partition & Record<string, string>)[]) {
      const totals = totalsFrom(row, scores);
      found.set(keyOf(totals), totals);
    }
  }
  for (const counted of partitions) {
    const difference = differenceOf(counted, found.get(keyOf(counted)));
    if (difference) throw differs(`of ${folders[0]} ${counted.series} in ${counted.month} ${difference}`);
    found.delete(keyOf(counted));
  }
  for (const { series, month } of found.values())
    throw differs(`have rows of ${folders[0]} ${series} in ${month}, the warehouse none`);
}

/** Not in one statement, because DuckDB keeps some kB of each file until the statement ends. */
function byMonth(paths: readonly string[]): Iterable<string[]> {
  const months = new Map<string, string[]>();
  for (const path of paths) {
    const folder = basename(dirname(path));
    months.set(folder, [...(months.get(folder) ?? []), path]);
  }
  return months.values();
}

function keyOf({ series, month }: Partition): string {
  return `${month} ${series}`;
}

function differenceOf(counted: PartitionTotals, found: PartitionTotals | undefined): string | undefined {
  if (found?.rows !== counted.rows) return `hold ${found?.rows ?? 0} rows, the warehouse ${counted.rows}`;
  const column = Object.keys(counted.sums).find((name) => found.sums[name] !== counted.sums[name]);
  if (column === undefined) return undefined;
  return `have a sum of ${column} of ${billionths(found.sums[column]!)}, the warehouse ${billionths(counted.sums[column]!)}`;
}

function differs(what: string): ExportDiffers {
  return new ExportDiffers(`The files ${what}.`, {
    hint: 'Nothing was kept. Run it again; if it says so again, the disk or this program is at fault.',
  });
}
