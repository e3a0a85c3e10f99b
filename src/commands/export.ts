import { join } from 'node:path';
import { Temporal } from 'temporal-polyfill';
import { knownScope, openWarehouse, readJobs, type Session } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import type { ExportFormat } from '../export/duckdb.ts';
import type { Exported } from '../export/export-table.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { gmsiHeadlines } from '../feeds/gmsi-headlines.ts';
import { nearest } from '../nearest.ts';
import { print, printJson } from '../terminal/print.ts';
import { showSteps } from '../terminal/progress.ts';
import { count, duration, facts, number } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { canExport, type ExportScope, secondsUntilSettled } from '../warehouse/tables/export-rows.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { jobInTable } from '../warehouse/tables/series.ts';

export interface ExportOptions {
  readonly format: ExportFormat;
  readonly from?: string;
  readonly to?: string;
  readonly asOf?: string;
  readonly country?: readonly string[];
  readonly topic?: readonly string[];
  readonly out?: string;
  readonly overwrite?: boolean;
  readonly defuseFormulas?: boolean;
}

/** The options that do not depend on the warehouse. */
type Times = Pick<ExportScope, 'from' | 'to' | 'asOf'>;

/** `gmsi export [<job>]`: writes what is loaded into files of Parquet or CSV; sends no request. */
export async function exportCommand(
  session: Session,
  jobName: string | undefined,
  options: ExportOptions,
): Promise<number> {
  const startedAt = performance.now();
  const times = readTimes(options, session.clock());
  if (options.defuseFormulas && options.format !== 'csv') {
    throw new ConfigError('--defuse-formulas is for CSV: no spreadsheet runs what a Parquet file holds.', {
      hint: 'Leave it out, or add --format csv.',
    });
  }
  const { exportTable } = await loadExporter();
  // Not migrated, so that a user who may only read, or who reads a standby, can export too.
  await using warehouse = await openWarehouse(session, 'as-is');
  await refuseUnmade(warehouse.db);
  await refuseUnsettled(warehouse.db, times.asOf);
  const { scope, name } = await scopeFor(session, warehouse.db, jobName, options, times);
  const { format, overwrite = false, out = join('export', name), defuseFormulas = false } = options;
  using progress = showSteps(session.log, session.progress);
  const onRows = (done: number, all: number) =>
    progress.show(`export: ${number(done)} of ${count(all, 'row')}`);
  const run = { warehouse: warehouse.db, scope, format, defuseFormulas, overwrite, out };
  const exported = await exportTable({ ...run, stop: session.stop, onRows });
  const seconds = (performance.now() - startedAt) / 1000;
  if (session.json) printJson(summaryOf(exported, seconds));
  else print(describe(exported, seconds));
  return exitCodes.done;
}

/** Imported only here: DuckDB is a large library that no other command needs, and is not available on every platform. */
async function loadExporter() {
  try {
    return await import('../export/export-table.ts');
  } catch (cause) {
    throw new ConfigError(`DuckDB, which writes the files, does not load: ${(cause as Error).message}`, {
      cause,
      hint: 'npm install brings it for Linux, macOS and Windows on x64 and arm64. gmsi psql with \\copy writes CSV without it.',
    });
  }
}

async function refuseUnmade(db: Warehouse): Promise<void> {
  if (await canExport(db)) return;
  throw new ConfigError('The warehouse is not at the schema that an export reads.', {
    hint: 'gmsi migrate brings it there; loading commands do so, too.',
  });
}

async function refuseUnsettled(db: Warehouse, asOf: string | undefined): Promise<void> {
  const seconds = asOf === undefined ? 0 : await secondsUntilSettled(db, asOf);
  if (seconds === 0) return;
  throw new ConfigError(`--as-of ${asOf}: the state at that moment can still change for ${seconds} s.`, {
    hint: `Ask again in ${seconds} s, or for an earlier moment; or leave --as-of out for the newest state.`,
  });
}

async function scopeFor(
  session: Session,
  db: Warehouse,
  jobName: string | undefined,
  { country, topic }: ExportOptions,
  times: Times,
): Promise<{ scope: ExportScope; name: string }> {
  const lookups = await readLookups(db);
  if (jobName === undefined) {
    const countries = lookups.countries.map(({ code }) => code);
    const topics = lookups.topics.map(({ name }) => name);
    refuseUnlisted('--country', country, countries);
    refuseUnlisted('--topic', topic, topics);
    const only = { ...(country && { country }), ...(topic && { topic }) };
    return { scope: { ...times, table: gmsiHeadlines.table, only }, name: gmsiHeadlines.name };
  }
  if (country || topic) {
    throw new ConfigError('--country and --topic cannot be used with a job.', {
      hint: 'The job selects them itself; leave one or the other out.',
    });
  }
  const [job] = await readJobs(session, [jobName]);
  const { table } = feedNamed(job!.feed);
  const scope = knownScope(session, job!, lookups, 'exported');
  const { from = scope.from, to = scope.to, asOf } = times;
  return { scope: { table, from, to, asOf, only: jobInTable(table, scope) }, name: job!.name };
}

/** Before the lists have been fetched, any value may be right. */
function refuseUnlisted(flag: string, given: readonly string[] = [], listed: readonly string[]): void {
  if (listed.length === 0) return;
  const unlisted = given.find((value) => !listed.includes(value));
  if (unlisted === undefined) return;
  const meant = nearest(unlisted, listed);
  throw new ConfigError(`${flag} is "${unlisted}", which the service does not list.`, {
    hint: `${meant === undefined ? '' : `Did you mean "${meant}"? `}gmsi lookups names them all.`,
  });
}

/** @throws ConfigError naming the option that is no time */
function readTimes({ from, to, asOf }: ExportOptions, now: Date): Times {
  if (from !== undefined && to !== undefined && from > to) {
    throw new ConfigError(`--from ${from} is after --to ${to}.`, {
      hint: 'Swap them; both days are included.',
    });
  }
  return { from, to, asOf: readMoment(asOf, now) };
}

function readMoment(text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined;
  let moment: Temporal.Instant;
  try {
    moment = Temporal.Instant.from(text);
  } catch (cause) {
    throw new ConfigError(`--as-of is "${text}".`, {
      cause,
      hint: 'It must be a moment with its time zone, such as 2025-06-30T12:00:00Z.',
    });
  }
  if (moment.epochMilliseconds <= now.getTime()) return moment.toString();
  throw new ConfigError(`--as-of ${text} is in the future.`, {
    hint: 'The state at a future moment is not known; leave --as-of out for the newest state.',
  });
}

function summaryOf({ out, manifest, series, months, bytes }: Exported, seconds: number) {
  const { files, columns: _, ...about } = manifest;
  const sizes = { files: files.length, bytes, series, months };
  return { out, ...about, ...sizes, seconds: Math.round(seconds * 10) / 10 };
}

const plural: Readonly<Record<string, string>> = { country: 'countries', ticker: 'tickers' };

function describe({ out, manifest, seriesColumn, series, months, bytes }: Exported, seconds: number): string {
  const { table, format, as_of, rows, files } = manifest;
  if (out === null) return `Nothing to export: ${table} holds no rows of ${daysOf(manifest)}.\n`;
  const lines = facts([
    ['table', `${table}${as_of === null ? '' : ` as of ${as_of}`}`],
    ['days', daysOf(manifest)],
    ['rows', rows],
    ['files', `${number(files.length)} of ${format}, ${(bytes / 1e6).toFixed(1)} MB`],
    [plural[seriesColumn] ?? `${seriesColumn}s`, series],
    ['months', months],
    ['formulas', formulas(manifest)],
    ['checked', 'read again: rows and sums of scores are those of the warehouse'],
    ['took', duration(seconds)],
    ['where', out],
  ]);
  const read = format === 'parquet' ? 'read_parquet' : 'read_csv';
  return `${lines}\n\nNext: duckdb -c "select count(*) from ${read}('${out}/**/*.${format}', hive_partitioning = true)"\n`;
}

/** For CSV, which people open in spreadsheets: its texts come from the press and can hold anything. */
function formulas({ formulas_defused }: Exported['manifest']): string | null {
  if (formulas_defused === null) return null;
  return formulas_defused
    ? 'defused: an apostrophe comes before each text that begins with = + - @'
    : 'not defused: a spreadsheet may run texts that begin with = + - @ (--defuse-formulas)';
}

function daysOf({ from, to }: Exported['manifest']): string {
  if (from === null && to === null) return 'any day';
  return `${from ?? 'the first day'} to ${to ?? 'the last day'}`;
}
