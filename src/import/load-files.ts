import { defaultServiceSettings } from '../config/service-schema.ts';
import type { DuckDB } from '../duckdb.ts';
import type { Feed, RecordReader } from '../feeds/feed.ts';
import { otherSeries } from '../feeds/reading/other-series.ts';
import { endOf } from '../load/ends.ts';
import { NotInWarehouse } from '../load/evidence.ts';
import { type ListedLoad, listLoad } from '../load/list-load.ts';
import { tooManyRejected } from '../load/rejected.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { type LoadTotals, noTotals } from '../warehouse/tables/loads.ts';
import { keyOfSeries } from '../warehouse/tables/series.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { compareDays, type Days } from './file-days.ts';
import { type FileLoad, type ImportedFile, type ImportSetting, importFile } from './import-file.ts';
import type { Placement } from './place-file.ts';

/** How many files are read at a time, so that one is read while the rows of the other are written. */
const atOnce = 2;

export interface PlacedFile {
  readonly file: DataFile;
  readonly placement: Placement;
  /** When it was made; no later than now, so that a wrong time of the file gives way to what is loaded later. */
  readonly madeAt: Date;
  /** Days of its series that it contains in full, alone or together with other files. */
  readonly covers: Days | undefined;
}

export interface LoadFilesContext extends ImportSetting {
  /** The days that all files contain in full, if the user gives them. */
  readonly days: Days | undefined;
  /** Called for each refused file. */
  readonly refuse: (name: string, error: FileRefused) => void;
  /** Called after each read, batch and file. */
  readonly onProgress: (progress: ImportProgress) => void;
}

export interface ImportProgress {
  readonly done: number;
  readonly all: number;
  readonly bytes: { readonly done: number; readonly all: number };
  readonly records: number;
}

export interface LoadedFiles {
  readonly loads: readonly {
    readonly feed: string;
    readonly loadId: number;
    readonly totals: LoadTotals;
    /** As in `RecordReader`. */
    readonly rejectedValues: RecordReader['rejectedValues'];
  }[];
  readonly loaded: number;
  readonly loadedBefore: number;
  /** In how many of the files that were loaded now no record has a field of a column, by column: a header may be misspelt. */
  readonly absent: ReadonlyMap<string, number>;
  /** The files that are loaded completely, now or before. */
  readonly whole: ReadonlyMap<PlacedFile, ImportedFile>;
  /** Records of other days than options or the names of their files state. They are loaded. */
  readonly outside: number;
  /** True if the import was stopped before it had loaded all files. */
  readonly isStopped: boolean;
}

/**
 * Loads files, several at a time. Refuses a file that cannot be read, and continues with the others.
 * @throws an error that ends the whole import, for example if the warehouse does not answer, is full, or refuses the user
 */
export async function loadFiles(
  context: LoadFilesContext,
  placed: readonly PlacedFile[],
): Promise<LoadedFiles> {
  const { days, stop, refuse, onProgress } = context;
  using duckdb = placed.some(({ file }) => file.format === 'parquet') ? await openTables(stop) : undefined;
  const loads = new Map<string, OpenLoad>();
  const whole = new Map<PlacedFile, ImportedFile>();
  const absent = new Map<string, number>();
  const counts = { loaded: 0, loadedBefore: 0, outside: 0, done: 0 };
  const bytes = { done: 0, all: placed.reduce((sum, { file }) => sum + file.bytes, 0) };
  const inHand = new Map<string, Promise<ImportedFile>>();
  const waiting = placed.values();
  let isStopped = false;
  let fatal: unknown;

  const tell = () => {
    const records = [...loads.values()].reduce((sum, { totals }) => sum + totals.records, 0);
    onProgress({ done: counts.done, all: placed.length, bytes, records });
  };

  async function work(): Promise<void> {
    for (const one of waiting) {
      if (stop.aborted || fatal !== undefined) {
        isStopped = true;
        return;
      }
      try {
        const imported = await once(one);
        const { outcome, read, absent: ofFile } = imported;
        if (outcome === 'loaded')
          for (const column of ofFile) absent.set(column, (absent.get(column) ?? 0) + 1);
        const most = defaultServiceSettings.maxRejectedPercent;
        const lacks = tooManyRejected(read, most);
        const { outside, contradiction } = compareDays(read.recordsByDay, one.placement.days, days, most);
        counts.outside += outside;
        if (outcome === 'stopped') isStopped = true;
        else if (lacks !== undefined) throw new FileRefused(`${lacks}: ${tooMany}`);
        else if (one.covers && contradiction !== undefined)
          throw new FileRefused(`${contradiction}: ${otherDays}`);
        else {
          whole.set(one, imported);
          if (outcome === 'loaded') counts.loaded++;
          else counts.loadedBefore++;
        }
      } catch (error) {
        // Nothing of another file would be listed as loaded either.
        if (endOf(error) || error instanceof NotInWarehouse) {
          fatal ??= error;
          return;
        }
        if (stop.aborted) {
          isStopped = true;
          return;
        }
        loads.get(one.placement.feed.name)!.hasRefused = true;
        const why = `could not be loaded: ${(error as Error).message}`;
        // After an unexpected error, too, the import continues with the others.
        refuse(one.file.name, error instanceof FileRefused ? error : new FileRefused(why, { cause: error }));
      }
      counts.done++;
      tell();
    }
  }

  /** Loads a file once even if it has two names or is in two archives, unless its folders would make other rows. */
  async function once(one: PlacedFile): Promise<ImportedFile> {
    const { series, columns } = one.placement;
    const said = new URLSearchParams(columns);
    said.sort();
    const content = `${await one.file.content(stop)} ${said}`;
    const key = `${keyOfSeries(series)} ${content}`;
    const known = inHand.get(key);
    if (known) {
      const imported = await known;
      return imported.outcome === 'loaded' ? { ...imported, outcome: 'loaded before' } : imported;
    }
    const loading = loadOne(one, content);
    inHand.set(key, loading);
    return loading;
  }

  async function loadOne({ file, placement, madeAt }: PlacedFile, content: string): Promise<ImportedFile> {
    let read = 0;
    const onBytes = (count: number) => {
      read += count;
      bytes.done += count;
      tell();
    };
    try {
      const load = loads.get(placement.feed.name)!;
      return await importFile(load, { file, placement, madeAt }, content, onBytes, tell);
    } finally {
      bytes.done += file.bytes - Math.min(read, file.bytes);
    }
  }

  try {
    for (const { feed } of placed.map(({ placement }) => placement))
      if (!loads.has(feed.name)) loads.set(feed.name, await openLoad(context, feed, duckdb));
    await Promise.all(Array.from({ length: atOnce }, work));
  } catch (error) {
    fatal ??= error;
  }
  const end = endOf(fatal);
  for (const load of loads.values())
    await load.end(context.warehouse, context.log, end?.outcome ?? outcomeOf(load), end?.error);
  if (fatal !== undefined) throw fatal;
  const { done: _, ...numbers } = counts;
  return {
    ...numbers,
    loads: [...loads].map(([feed, { loadId, totals, rejectedValues }]) => ({
      feed,
      loadId,
      totals,
      rejectedValues,
    })),
    absent,
    whole,
    isStopped,
  };

  function outcomeOf({ hasRefused }: OpenLoad): LoadOutcome {
    if (isStopped) return 'interrupted';
    return hasRefused ? 'incomplete' : 'done';
  }
}

const tooMany =
  'gmsi.rejected_records has the reasons. The other records are loaded, but the days do not count as covered. ' +
  'Repair the file, or name its columns as the service does';

const otherDays =
  'they are loaded, but the days do not count as covered. Correct their times, or state their days ' +
  '(--from and --to, or the name of the file)';

/** Opens one DuckDB for all Parquet files. A single thread reads rows in their order, which resuming at a checkpoint needs. */
async function openTables(stop: AbortSignal): Promise<DuckDB> {
  const { openDuckDB } = await import('../duckdb.ts');
  const duckdb = await openDuckDB('', stop);
  await duckdb.run('set threads = 1');
  // By default, its allocator keeps up to 512 MiB that it has freed.
  for (const threshold of ['allocator_flush_threshold', 'allocator_bulk_deallocation_flush_threshold'])
    await duckdb.run(`set ${threshold} = '1MB'`);
  return duckdb;
}

interface OpenLoad extends FileLoad, ListedLoad {
  hasRefused: boolean;
}

async function openLoad(setting: ImportSetting, feed: Feed, duckdb: DuckDB | undefined): Promise<OpenLoad> {
  const { warehouse, knownAt, process } = setting;
  const reason = knownAt === undefined ? null : `known at ${knownAt}, as stated (--known-at)`;
  const totals: LoadTotals = { ...noTotals };
  const about = { command: 'import', job: '', feed: feed.name, reason };
  const { loadId, end } = await listLoad(warehouse, process, about, totals);
  return {
    ...setting,
    end,
    loadId,
    totals,
    log: setting.log.child({ load: loadId }),
    rejectedValues: new Map(),
    otherSeries: otherSeries(feed, setting.listed, {}),
    duckdb,
    partitions: new Set<string>(),
    hasRefused: false,
  };
}
