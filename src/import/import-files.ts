import { ConfigError } from '../errors.ts';
import { originOf } from '../load/origin.ts';
import { settledAt } from '../plan/days.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { databaseTime } from '../warehouse/health.ts';
import { newestVersion } from '../warehouse/tables/imported-files.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { type Covered, coverDays } from './cover-days.ts';
import { type Archive, type DataFile, FileRefused, findFiles, type NotRead } from './data-file.ts';
import { type Days, daysCovered } from './file-days.ts';
import { type LoadedFiles, type LoadFilesContext, loadFiles, type PlacedFile } from './load-files.ts';
import {
  type ListedValues,
  type MissingPlace,
  placeFile,
  placeOfFile,
  placeOfNames,
  type Stated,
} from './place-file.ts';

export interface ImportContext extends Omit<LoadFilesContext, 'listed' | 'refuse'> {
  /** Files, folders and ZIP files. */
  readonly paths: readonly string[];
  readonly stated: Stated;
  /** The days that all files hold completely, if the user says them. */
  readonly days: Days | undefined;
  readonly clock: () => Date;
  /** Replaces the database's clock, for tests. */
  readonly databaseClock?: () => Promise<Date>;
}

export interface RefusedFile {
  readonly name: string;
  /** Counted from 1; `null` if the whole file is meant. */
  readonly line: number | null;
  readonly why: string;
}

export interface ImportResult extends Omit<LoadedFiles, 'whole'> {
  readonly outcome: LoadOutcome;
  readonly covered: Covered;
  readonly refused: readonly RefusedFile[];
  /** Archives of which a newer version is there. */
  readonly superseded: readonly string[];
  /** Files that contain no records by their names, such as a README. */
  readonly ignored: readonly string[];
  /** How many files say no days that were over and settled when they were made. */
  readonly withoutDays: number;
  readonly seconds: number;
}

/** As by default in a job file (`lookback`): the days before a file was made that may have changed since. */
const settlingDays = 3;

/**
 * Loads files of records as pages are loaded: the same reader, identities, revisions and rollups, and no request. Days count
 * as covered only where the series and the days are stated, by the user or by names, and only if everything that lies there for
 * them is loaded whole. Never retracts.
 * @throws ConfigError if nothing can be loaded as it is named; an error that ends the whole import
 */
export async function importFiles(given: ImportContext): Promise<ImportResult> {
  const { paths, stated, days, stop, log } = given;
  const warehouse = given.warehouse.patient({ log, signal: stop });
  const context = { ...given, warehouse };
  const startedAt = performance.now();
  const refused: RefusedFile[] = [];
  const refuse = (name: string, error: FileRefused) => {
    refused.push({ name, line: error.line ?? null, why: error.message.replace(/\.$/, '') });
  };
  const found = await findFiles(paths, stop);
  const missing: MissingPlace[] = [];
  const leaveOut = ({ name, parts }: Pick<NotRead, 'name' | 'parts'>, error: FileRefused) => {
    refuse(name, error);
    missing.push(placeOfNames({ parts }, stated));
  };
  for (const one of found.refused) leaveOut(one, one.error);
  const superseded = await olderVersions(context, found.files);
  const listed = await listedValues(context);
  const now = await earliestClock(context);
  const placed: PlacedFile[] = [];
  for (const file of found.files) {
    if (file.archive && superseded.has(file.archive.path)) continue;
    try {
      const placement = placeFile(file, stated, listed);
      const madeAt = new Date(Math.min(file.madeAt.getTime(), now.getTime()));
      // What a file holds of a series that only its records name is not known.
      const isStated = placement.fromRecords.length === 0;
      const covers = isStated
        ? daysCovered(placement.days, days, settledAt(madeAt, settlingDays))
        : undefined;
      placed.push({ file, placement, covers });
    } catch (error) {
      if (!(error instanceof FileRefused)) throw error;
      leaveOut(file, error);
    }
  }
  if (placed.length === 0 && superseded.size === 0) throw nothingToLoad(refused, paths);
  const origins = new Set(placed.map(({ file }) => file.archive?.servedBy ?? 'service'));
  for (const servedBy of origins) await originOf(warehouse).check(servedBy);

  // Years of one series lie side by side, and their writers would wait for each other's sums.
  const lastName = ({ file }: PlacedFile) => file.parts.at(-1)!;
  placed.sort((a, b) => (lastName(a) < lastName(b) ? -1 : lastName(a) > lastName(b) ? 1 : 0));
  const { whole, ...done } = await loadFiles({ ...context, listed, refuse }, placed);
  for (const one of placed) if (!whole.has(one)) missing.push(placeOfFile(one.placement));
  const covered = done.isStopped
    ? { series: 0, days: 0, lacking: 0 }
    : await coverDays(warehouse, whole, missing);
  return {
    outcome: done.isStopped ? 'interrupted' : refused.length > 0 ? 'incomplete' : 'done',
    ...{ ...done, covered },
    ...{ refused, superseded: [...superseded], ignored: found.ignored },
    withoutDays: placed.filter(({ covers }) => !covers).length,
    seconds: (performance.now() - startedAt) / 1000,
  };
}

function nothingToLoad(refused: readonly RefusedFile[], paths: readonly string[]): ConfigError {
  const hint = 'docs/importing.md lists what a name can say, and gmsi import --help what an option can.';
  const [first] = refused;
  if (!first) return new ConfigError(`There is no file of records in ${paths.join(', ')}.`, { hint });
  const others = refused.length > 1 ? `, and ${refused.length - 1} more cannot be loaded either` : '';
  return new ConfigError(`${first.name} ${first.why}${others}.`, { hint });
}

/** Paths of the archives of which a newer version is among the files, or was read before. */
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

async function listedValues({ warehouse }: ImportContext): Promise<ListedValues> {
  const { countries, topics, tickers } = await readLookups(warehouse);
  return {
    country: countries.map(({ code }) => code),
    topic: topics.map(({ name }) => name),
    ticker: tickers.map(({ code }) => code),
  };
}

/** With a clock that is ahead, days would count as covered before they are over. */
async function earliestClock({ clock, warehouse, databaseClock }: ImportContext): Promise<Date> {
  const database = databaseClock ?? (() => databaseTime(warehouse));
  const times = [clock(), await database()];
  return new Date(Math.min(...times.map((time) => time.getTime())));
}
