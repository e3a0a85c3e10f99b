import { ConfigError } from '../errors.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import { goneBack } from '../load/evidence.ts';
import { inPackage } from '../package.ts';
import { dayAt, firstUnsettledDayAt } from '../plan/days.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { Day, LoadOutcome } from '../warehouse/database.ts';
import { databaseTime } from '../warehouse/health.ts';
import {
  areFinished,
  type CoveringFile,
  coverByFiles,
  type DayWithMoreRows,
  daysWithMoreRows,
  newestVersion,
} from '../warehouse/tables/imported-files.ts';
import { knownValues, readLookups } from '../warehouse/tables/lookups.ts';
import { readMoments } from '../warehouse/tables/moments.ts';
import { originOf } from '../warehouse/tables/origin.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';
import { type Archive, type DataFile, FileRefused, findFiles } from './data-file.ts';
import { cutOffOn, type Days, daysCovered, plus } from './file-days.ts';
import type { ImportedFile } from './import-file.ts';
import { type LoadedFiles, type LoadFilesContext, loadFiles, type PlacedFile } from './load-files.ts';
import { placeFile, type Stated } from './place-file.ts';

export interface ImportContext extends Omit<LoadFilesContext, 'listed' | 'refuse' | 'hereOn'> {
  /** Files, folders and ZIP files. */
  readonly paths: readonly string[];
  readonly stated: Stated;
  readonly clock: () => Date;
  /** Replaces the database's clock, for tests. */
  readonly databaseClock?: () => Promise<Date>;
}

export interface Covered {
  /** How many series have days that now count as covered, and how many days. */
  readonly series: number;
  readonly days: number;
}

/** A file, or the files of a series with the same days, that probably was cut off. */
export interface CutFile {
  /** The name of the first of them. */
  readonly name: string;
  readonly files: number;
  /** The days of their names. */
  readonly days: Days;
  /** The last day with records. */
  readonly last: Day;
  /** The last day that counts as covered: on its last one, a file may have been cut off. */
  readonly covered: Day;
}

export interface RefusedFile {
  readonly name: string;
  /** Counted from 1; `null` for the whole file. */
  readonly line: number | null;
  readonly why: string;
}

export interface ImportResult extends Omit<LoadedFiles, 'whole'> {
  readonly outcome: LoadOutcome;
  readonly covered: Covered;
  readonly cut: readonly CutFile[];
  /** Days that now count as covered and of which the warehouse has more rows than the files have records. */
  readonly moreRows: { readonly days: number; readonly example: DayWithMoreRows | undefined };
  readonly refused: readonly RefusedFile[];
  /** Archives with a newer version among the files or in the warehouse. */
  readonly superseded: readonly string[];
  /** Files that contain no records, judging by their names, such as a README. */
  readonly ignored: readonly string[];
  /** How many files cover no days: their days are unknown or were not settled when they were made. */
  readonly withoutDays: number;
  readonly seconds: number;
}

/** Days before a file was made that may have changed since; the default `lookback` of a job. */
export const settlingDays = 3;

/**
 * Loads files of records with the same reader, identities, revisions and rollups as pages. Sends no request and never
 * retracts. Days count as covered only if the user or names give the series and the days, and only if every file of the
 * series is loaded completely; if a file could not be placed, no day is covered.
 * @throws ConfigError if no file can be loaded; an error that ends the whole import
 */
export async function importFiles(context: ImportContext): Promise<ImportResult> {
  const { paths, stated, days, knownAt, stop, warehouse } = context;
  const startedAt = performance.now();
  const refused: RefusedFile[] = [];
  const refuse = (name: string, error: FileRefused) => {
    refused.push({ name, line: error.line ?? null, why: error.message.replace(/\.$/, '') });
  };
  const found = await findFiles(paths, refuse, stop);
  const superseded = await olderVersions(context, found.files);
  const listed = knownValues(await readLookups(warehouse));
  if (knownAt !== undefined) await refuseNamedSince(warehouse, knownAt);
  const now = knownAt === undefined ? await earliestClock(context) : new Date(knownAt);
  const placed: PlacedFile[] = [];
  for (const file of found.files) {
    if (file.archive && superseded.has(file.archive.path)) continue;
    try {
      const placement = placeFile(file, stated, listed);
      const madeAt = new Date(Math.min(file.madeAt.getTime(), now.getTime()));
      // If only the records name the series, it is not known whether the file has all days of a series.
      const isStated = placement.fromRecords.length === 0;
      const covers = isStated
        ? daysCovered(placement.days, days, firstUnsettledDayAt(madeAt, settlingDays))
        : undefined;
      placed.push({ file, placement, madeAt, covers });
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      refuse(file.name, error);
    }
  }
  if (placed.length === 0 && superseded.size === 0) throw nothingToLoad(refused, paths);
  const areAllPlaced = refused.length === 0;
  const origins = new Set(placed.map(({ file }) => file.archive?.servedBy ?? 'service'));
  for (const servedBy of origins) await originOf(warehouse).check(servedBy);

  placed.sort(inOrder);
  const { whole, ...done } = await loadFiles(
    { ...context, listed, refuse, hereOn: dayAt(now).toString() },
    placed,
  );
  const fileIds = [...whole.values()].map(({ fileId }) => fileId);
  if (!(await areFinished(warehouse, fileIds))) throw goneBack('these files');
  const counted = areAllPlaced && !done.isStopped ? await coverDays(context, placed, whole) : nothing;
  return {
    outcome: done.isStopped ? 'interrupted' : refused.length > 0 ? 'incomplete' : 'done',
    ...done,
    ...counted,
    refused,
    superseded: [...superseded],
    ignored: found.ignored,
    withoutDays: placed.filter(({ covers }) => !covers).length,
    seconds: (performance.now() - startedAt) / 1000,
  };
}

/**
 * What was known at a past moment changes with rows that are said to have been known before it; for moments with a name it must
 * not.
 * @throws ConfigError
 */
async function refuseNamedSince(warehouse: Warehouse, knownAt: string): Promise<void> {
  const [later] = await readMoments(warehouse, knownAt);
  if (!later) return;
  throw new ConfigError(
    `--known-at ${knownAt} is before the moment ${later.name}, and would change what was known then.`,
    { hint: `Import without --known-at, or remove the name: gmsi snapshot ${later.name} --remove` },
  );
}

function nothingToLoad(refused: readonly RefusedFile[], paths: readonly string[]): ConfigError {
  const hint = `How files must be named: ${inPackage('docs/loading.md')}. The options: gmsi import --help`;
  const [first] = refused;
  if (!first) return new ConfigError(`There is no file of records in ${paths.join(', ')}.`, { hint });
  const others = refused.length > 1 ? `; ${refused.length - 1} more cannot be loaded either` : '';
  return new ConfigError(`${first.name} ${first.why}${others}.`, { hint });
}

/** Returns paths of archives with a newer version among the files or in the warehouse. */
async function olderVersions({ warehouse }: ImportContext, files: readonly DataFile[]): Promise<Set<string>> {
  const archives = new Map<string, Archive>();
  for (const { archive } of files) if (archive?.subject) archives.set(archive.path, archive);
  const newest = new Map<string, number>();
  for (const { subject, madeAt } of archives.values()) {
    const before = newest.get(subject) ?? (await newestVersion(warehouse, subject))?.getTime() ?? 0;
    newest.set(subject, Math.max(before, madeAt.getTime()));
  }
  const isOlder = ({ subject, madeAt }: Archive) => madeAt.getTime() < newest.get(subject)!;
  return new Set([...archives.values()].filter(isOlder).map(({ path }) => path));
}

/** Returns the earliest time: a clock that is ahead would mark days as covered before they are over. */
async function earliestClock({ clock, warehouse, databaseClock }: ImportContext): Promise<Date> {
  const database = databaseClock ?? (() => databaseTime(warehouse));
  const times = [clock(), await database()];
  return new Date(Math.min(...times.map((time) => time.getTime())));
}

/**
 * Sorts the oldest file first, so that what files replace becomes revisions in the order in which they were made. Two files are
 * read at once; which values stay does not depend on it, because an older file never replaces what a newer one has. Files that
 * were made at the same time are sorted by year rather than by series: files of one series, written at the same time, wait for
 * each other's rollups.
 */
export function inOrder({ file: a }: Dated, { file: b }: Dated): number {
  const [nameOfA, nameOfB] = [a.parts.at(-1)!, b.parts.at(-1)!];
  return a.madeAt.getTime() - b.madeAt.getTime() || (nameOfA < nameOfB ? -1 : nameOfA > nameOfB ? 1 : 0);
}

interface Dated {
  readonly file: Pick<DataFile, 'madeAt' | 'parts'>;
}

type Counted = Pick<ImportResult, 'covered' | 'cut' | 'moreRows'>;

const nothing: Counted = {
  covered: { series: 0, days: 0 },
  cut: [],
  moreRows: { days: 0, example: undefined },
};

/**
 * Counts days of loaded files as covered, for each series of which every file is loaded completely. A kill before this loses
 * nothing, because a rerun does it, too.
 * @param loaded the files that are loaded completely
 */
async function coverDays(
  context: ImportContext,
  placed: readonly PlacedFile[],
  loaded: ReadonlyMap<PlacedFile, ImportedFile>,
): Promise<Counted> {
  const covered = { series: 0, days: 0 };
  const cut: CutFile[] = [];
  const moreRows: { days: number; example: DayWithMoreRows | undefined } = { days: 0, example: undefined };
  const missing = placed.filter((one) => !loaded.has(one)).map(({ placement }) => placement);
  // Its records may be of any series.
  if (missing.some(({ fromRecords }) => fromRecords.length > 0)) return nothing;
  const { warehouse } = context;
  const incomplete = new Set(missing.map(({ series }) => keyOfSeries(series)));
  for (const { feed, series, files, cut: ofSeries } of filesBySeries(loaded, context)) {
    if (incomplete.has(keyOfSeries(series))) continue;
    cut.push(...ofSeries);
    const days = await warehouse.transaction().execute((trx) => coverByFiles(trx, series, files));
    if (days === 0) continue;
    covered.series++;
    covered.days += days;
    const more = await daysWithMoreRows(warehouse, feed.table, series, files);
    moreRows.days += more.days;
    moreRows.example ??= more.example;
  }
  return { covered, cut, moreRows };
}

interface FilesOfSeries {
  readonly feed: Feed;
  readonly series: Series;
  readonly files: CoveringFile[];
  readonly cut: CutFile[];
}

/** Returns the files with whole days. Days split into files by match type (`partOf`) count only if every part is loaded. */
function filesBySeries(
  loaded: ReadonlyMap<PlacedFile, ImportedFile>,
  { days: stated, knownAt }: ImportContext,
) {
  const groups = new Map<string, [PlacedFile, ImportedFile][]>();
  for (const entry of loaded) {
    const [{ placement, covers }] = entry;
    if (!covers) continue;
    const key = JSON.stringify([keyOfSeries(placement.series), covers]);
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  const found = new Map<string, FilesOfSeries>();
  for (const group of groups.values()) {
    const [[{ file, placement, covers }]] = group as [[PlacedFile, ImportedFile]];
    const { feed, series } = placement;
    const parts = [...new Set(group.map(([one]) => one.placement.partOf))];
    const isWhole =
      parts.every((part) => part === undefined) ||
      feed.matchTypes.slice(1).every((part) => parts.includes(part));
    if (!isWhole) continue;
    const key = keyOfSeries(series);
    const of = found.get(key) ?? { feed, series, files: [], cut: [] };
    found.set(key, of);
    const ends = parts.map((part) => {
      const files = group.filter(([one]) => one.placement.partOf === part);
      const records = files.map(([, { read }]) => read.recordsByDay);
      return cutOffOn(covers!, records);
    });
    const [last] = stated ? [] : ends.filter((end) => end !== undefined).sort();
    const days = last === undefined ? covers! : { from: covers!.from, to: plus(last, -1) };
    if (last !== undefined)
      of.cut.push({ name: file.name, files: group.length, days: covers!, last, covered: days.to });
    of.files.push(
      ...group.map(([{ madeAt }, { fileId }]) => ({
        fileId,
        days,
        knownAt,
        askedOn: dayAt(madeAt).toString(),
        settledBefore: firstUnsettledDayAt(madeAt, settlingDays),
      })),
    );
  }
  return found.values();
}
