import type { Series } from '../feeds/feed.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { coverByFiles } from '../warehouse/tables/imported-files.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';
import type { Days } from './file-days.ts';
import type { PlacedFile } from './load-files.ts';

export interface Covered {
  /** How many series have days that now count as covered, and how many days. */
  readonly series: number;
  readonly days: number;
}

/**
 * Counts days of loaded files as covered, for each series of which every file is loaded completely. A kill before this loses
 * nothing, because a rerun does it, too.
 * @param loaded the files that are loaded completely, with their numbers
 */
export async function coverDays(
  warehouse: Warehouse,
  placed: readonly PlacedFile[],
  loaded: ReadonlyMap<PlacedFile, number>,
): Promise<Covered> {
  const covered = { series: 0, days: 0 };
  const missing = placed.filter((one) => !loaded.has(one)).map(({ placement }) => placement);
  // Its records may be of any series.
  if (missing.some(({ fromRecords }) => fromRecords.length > 0)) return covered;
  const incomplete = new Set(missing.map(({ series }) => keyOfSeries(series)));
  for (const { series, files } of filesBySeries(loaded)) {
    if (incomplete.has(keyOfSeries(series))) continue;
    const days = await warehouse.transaction().execute((trx) => coverByFiles(trx, series, files));
    if (days > 0) covered.series++;
    covered.days += days;
  }
  return covered;
}

interface SeriesFiles {
  readonly series: Series;
  readonly files: { readonly fileId: number; readonly days: Days }[];
}

/** Returns the files with whole days. Days split into files by match type (`partOf`) count only if every part is loaded. */
function filesBySeries(loaded: ReadonlyMap<PlacedFile, number>): Iterable<SeriesFiles> {
  const groups = new Map<string, [PlacedFile, number][]>();
  for (const entry of loaded) {
    const [{ placement, covers }] = entry;
    if (!covers) continue;
    const key = JSON.stringify([keyOfSeries(placement.series), covers]);
    const group = groups.get(key);
    if (group) group.push(entry);
    else groups.set(key, [entry]);
  }
  const found = new Map<string, SeriesFiles>();
  for (const group of groups.values()) {
    const [[{ placement, covers }]] = group as [[PlacedFile, number]];
    const parts = group.map(([one]) => one.placement.partOf);
    const isWhole =
      parts.every((part) => part === undefined) ||
      placement.feed.matchTypes.slice(1).every((part) => parts.includes(part));
    if (!isWhole) continue;
    const key = keyOfSeries(placement.series);
    const of = found.get(key) ?? { series: placement.series, files: [] };
    found.set(key, of);
    of.files.push(...group.map(([, fileId]) => ({ fileId, days: covers! })));
  }
  return found.values();
}
