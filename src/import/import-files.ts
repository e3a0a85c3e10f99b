import { ConfigError } from '../errors.ts';
import { goneBack } from '../load/evidence.ts';
import { firstUnsettledDayAt } from '../plan/days.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { databaseTime } from '../warehouse/health.ts';
import { areFinished, newestVersion } from '../warehouse/tables/imported-files.ts';
import { knownValues, readLookups } from '../warehouse/tables/lookups.ts';
import { readMoments } from '../warehouse/tables/moments.ts';
import { originOf } from '../warehouse/tables/origin.ts';
import { type Covered, coverDays } from './cover-days.ts';
import { type Archive, type DataFile, FileRefused, findFiles } from './data-file.ts';
import { daysCovered } from './file-days.ts';
import { type LoadedFiles, type LoadFilesContext, loadFiles, type PlacedFile } from './load-files.ts';
import { placeFile, type Stated } from './place-file.ts';

export interface ImportContext extends Omit<LoadFilesContext, 'listed' | 'refuse'> {
  /** Files, folders and ZIP files. */
  readonly paths: readonly string[];
  readonly stated: Stated;
  readonly clock: () => Date;
  /** Replaces the database's clock, for tests. */
  readonly databaseClock?: () => Promise<Date>;
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
  const found = await findFiles(paths, stop);
  for (const { name, error } of found.refused) refuse(name, error);
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
      placed.push({ file, placement, covers });
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      refuse(file.name, error);
    }
  }
  if (placed.length === 0 && superseded.size === 0) throw nothingToLoad(refused, paths);
  const areAllPlaced = refused.length === 0;
  const origins = new Set(placed.map(({ file }) => file.archive?.servedBy ?? 'service'));
  for (const servedBy of origins) await originOf(warehouse).check(servedBy);

  // Sorts by year rather than by series: files of one series, written at the same time, wait for each other's rollups.
  const lastName = ({ file }: PlacedFile) => file.parts.at(-1)!;
  placed.sort((a, b) => (lastName(a) < lastName(b) ? -1 : lastName(a) > lastName(b) ? 1 : 0));
  const { whole, ...done } = await loadFiles({ ...context, listed, refuse }, placed);
  if (!(await areFinished(warehouse, [...whole.values()]))) throw goneBack('these files');
  const covered =
    areAllPlaced && !done.isStopped ? await coverDays(warehouse, placed, whole) : { series: 0, days: 0 };
  return {
    outcome: done.isStopped ? 'interrupted' : refused.length > 0 ? 'incomplete' : 'done',
    ...done,
    covered,
    refused,
    superseded: [...superseded],
    ignored: found.ignored,
    withoutDays: placed.filter(({ covers }) => !covers).length,
    seconds: (performance.now() - startedAt) / 1000,
  };
}

/**
 * What was known at a past moment changes with rows that are said to have been known before it; for moments with a name it must not.
 * @throws ConfigError
 */
async function refuseNamedSince(warehouse: Warehouse, knownAt: string): Promise<void> {
  const [later] = await readMoments(warehouse, knownAt);
  if (!later) return;
  throw new ConfigError(
    `--known-at ${knownAt} is before the moment ${later.name}, and would change what was known then.`,
    {
      hint: `Import without --known-at, or free the name: gmsi snapshot ${later.name} --remove`,
    },
  );
}

function nothingToLoad(refused: readonly RefusedFile[], paths: readonly string[]): ConfigError {
  const hint = 'docs/loading.md explains file names. For the options: gmsi import --help';
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
