import { join } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import { knownScope, openToRead, readJobs, type Session, today } from '../compose.ts';
import { readMoment } from '../config/read-moment.ts';
import { ConfigError } from '../errors.ts';
import { type Exported, type ExportFormat, exportTable } from '../export/export-table.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Feed } from '../feeds/feed.ts';
import { gmsiHeadlines } from '../feeds/gmsi-headlines.ts';
import { withLearnedReading } from '../load/resolve-load.ts';
import { nearest } from '../nearest.ts';
import { day } from '../terminal/arguments.ts';
import { printResult } from '../terminal/print.ts';
import { showSteps } from '../terminal/progress.ts';
import { command } from '../terminal/style.ts';
import { count, duration, facts, number } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { retried } from '../warehouse/retries.ts';
import type { Standby } from '../warehouse/standby.ts';
import {
  type ExportScope,
  rollups,
  secondsUntilSettled,
  seriesColumn,
  startOfLoad,
} from '../warehouse/tables/export-rows.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { momentName, readMoments } from '../warehouse/tables/moments.ts';
import { jobInTable } from '../warehouse/tables/series.ts';
import { aJob, type Command, examples, gmsiCommand, type OptionsOf } from './command.ts';
import { unknownMoment } from './snapshot.ts';
import { standbyAsJson, standbyText } from './standby.ts';

const define = (command: Command) =>
  command
    .argument('[job]', `${aJob} (default: all headlines)`)
    .addOption(
      new Option('--format <format>', 'file format')
        .choices(['parquet', 'csv'] as const)
        .default('parquet' as const),
    )
    .addOption(new Option('--excel', 'one CSV file that is safe to open in Excel').conflicts('format'))
    .option('--from <day>', 'first day (UTC), such as 2025-01-01', day)
    .option('--to <day>', 'last day (UTC), inclusive', day)
    .option(
      '--as-of <moment>',
      'rows as they were at this moment, such as 2025-06-30T12:00:00Z, or the name of one',
    )
    .option('--country <code...>', 'only these countries; without a job')
    .option('--topic <name...>', 'only these topics; without a job')
    .addOption(
      new Option('--rollup <kind>', 'sums by hour or day instead of the headlines')
        .choices(['hourly', 'daily'] as const)
        .conflicts('asOf'),
    )
    .addOption(
      new Option('--versions', 'all versions of each row, with known_from and known_to').conflicts([
        'asOf',
        'rollup',
      ]),
    )
    .option('--out <folder>', 'folder to create, or s3://bucket/folder (default: export/<job>)')
    .option('--overwrite', 'replace an existing export')
    .addOption(
      new Option(
        '--changed-since [load|moment]',
        'continue an export: write only months that have changed',
      ).conflicts(['overwrite', 'asOf', 'excel']),
    )
    .addHelpText(
      'after',
      examples(
        'gmsi export g7-inflation',
        'gmsi export --country US --from 2025-01-01 --format csv --out us-2025',
        'gmsi export g7-inflation --as-of 2025-06-30T12:00:00Z',
        'gmsi export g7-inflation --changed-since    since the last export',
        'gmsi export g7-inflation --versions    to filter as of any moment',
      ),
    );

type ExportOptions = OptionsOf<typeof define>;

type Times = Pick<ExportScope, 'from' | 'to' | 'asOf'>;

/** `gmsi export [<job>]`: writes the loaded data to Parquet or CSV files; sends no request. */
const ofCommand = gmsiCommand({ define }, async (session, jobName, options) => {
  const startedAt = performance.now();
  await using opened = await openToRead(session);
  const patience = { log: session.log, signal: session.stop };
  const warehouse = { ...opened, db: opened.patient };
  const { from, to } = options;
  const times = { from, to, asOf: await momentOf(warehouse.db, options.asOf, session.clock()) };
  await refuseUnsettled(warehouse.db, times.asOf);
  const since = await readSince(warehouse.db, options, session.clock());
  const { scope, name, omitted } = await scopeFor(session, warehouse.db, jobName, options, times);
  const { overwrite, changedSince } = options;
  const format = options.excel ? 'excel' : options.format;
  const out = options.out ?? join('export', `${name}${format === 'excel' ? '.csv' : ''}`);
  const mode = changedSince ? 'continue' : overwrite ? 'replace' : 'new';
  using progress = showSteps(session.log, session.progress);
  const onRows = (done: number, all: number) =>
    progress.show(() => `export: ${number(done)} of ${count(all, 'row')}`);
  const { storage } = session.config;
  const run = { warehouse: warehouse.db, scope, format, out, storage, mode, since } as const;
  const exported = await retried(() => exportTable({ ...run, stop: session.stop, onRows }), patience);
  progress[Symbol.dispose]();
  const seconds = (performance.now() - startedAt) / 1000;
  const { standby } = warehouse;
  const document = { ...summaryOf(exported, format, seconds), standby: standbyAsJson(standby) };
  printResult(session, document, () => describe(exported, scope, { format, seconds, omitted, standby }));
});

export { ofCommand as export };

/** Reads the moment in `--changed-since`: a time, or the number of a load, whose start counts. */
async function readSince(
  db: Warehouse,
  { changedSince: text, rollup }: ExportOptions,
  now: Date,
): Promise<string | undefined> {
  if (text === undefined || text === true) return undefined;
  if (rollup)
    throw new ConfigError(`--changed-since ${text} and --rollup cannot be used together.`, {
      hint: 'Rollups do not say when they changed. Without a value, --changed-since compares them with the existing export.',
    });
  if (!/^\d{1,15}$/.test(text)) return readMoment('--changed-since', text, now, ', or the number of a load');
  const startedAt = await startOfLoad(db, Number(text));
  if (startedAt) return startedAt;
  throw new ConfigError(`--changed-since ${text}: there is no load ${text}.`, {
    hint: 'gmsi status shows the last loads; the table gmsi.loads has all.',
  });
}

async function refuseUnsettled(db: Warehouse, asOf: string | undefined): Promise<void> {
  const seconds = asOf === undefined ? 0 : await secondsUntilSettled(db, asOf);
  if (seconds === 0) return;
  throw new ConfigError(`--as-of ${asOf}: the state at that moment can still change for ${seconds} s.`, {
    hint: `Wait ${seconds} s, or use an earlier moment; without --as-of, the export has the newest state.`,
  });
}

async function scopeFor(
  session: Session,
  db: Warehouse,
  jobName: string | undefined,
  { country, topic, rollup, versions = false }: ExportOptions,
  times: Times,
): Promise<{ scope: ExportScope; name: string; omitted?: string }> {
  const tableOf = (feed: Feed) => (rollup ? rollups[rollup] : feed.table);
  const suffix = rollup ? `-${rollup}` : versions ? '-versions' : '';
  const lookups = await readLookups(db);
  if (jobName === undefined) {
    const countries = lookups.countries.map(({ code }) => code);
    const topics = lookups.topics.map(({ name }) => name);
    refuseUnlisted('--country', country, countries);
    refuseUnlisted('--topic', topic, topics);
    const only = { ...(country && { country }), ...(topic && { topic }) };
    return {
      scope: { ...times, table: tableOf(gmsiHeadlines), only, versions },
      name: `${gmsiHeadlines.name}${suffix}`,
    };
  }
  if (country || topic) {
    throw new ConfigError('--country and --topic cannot be used with a job.', {
      hint: 'The job selects them itself: drop the job or these options.',
    });
  }
  const [job] = await readJobs(session, [jobName]);
  const feed = feedNamed(job!.feed);
  if (rollup && feed !== gmsiHeadlines)
    throw new ConfigError(`--rollup: there are no rollups of ${feed.name}.`, {
      hint: `Only headlines of ${gmsiHeadlines.name} have rollups; drop --rollup.`,
    });
  const scope = knownScope(session, job!, lookups, 'export');
  const { from = scope.from, to = scope.to, asOf } = times;
  const only = jobInTable(feed.table, scope);
  const { job: inForce } = await withLearnedReading(db, job!);
  return {
    scope: { table: tableOf(feed), from, to, asOf, only, versions },
    name: `${job!.name}${suffix}`,
    ...(inForce.service.endDate === 'unknown' && to < today(session).toString() && { omitted: extraDay }),
  };
}

/** Why a job's export can have fewer rows than its loads. */
const extraDay =
  'the day after the job, which loads request too while it is unknown whether end_date is included';

/** Accepts any value before the lookups are loaded. */
function refuseUnlisted(flag: string, given: readonly string[] = [], listed: readonly string[]): void {
  if (listed.length === 0) return;
  const unlisted = given.find((value) => !listed.includes(value));
  if (unlisted === undefined) return;
  const meant = nearest(unlisted, listed);
  throw new ConfigError(`${flag} is "${unlisted}", which the service does not list.`, {
    hint: `${meant === undefined ? '' : `Did you mean "${meant}"? `}gmsi lookups lists them all.`,
  });
}

/** Returns a moment as it was given, or that of a name. @throws ConfigError if it is not one */
async function momentOf(db: Warehouse, asOf: string | undefined, now: Date): Promise<string | undefined> {
  if (asOf === undefined) return undefined;
  if (!momentName.test(asOf)) return readMoment('--as-of', asOf, now, ', or the name of one (gmsi snapshot)');
  const moments = await readMoments(db);
  const named = moments.find(({ name }) => name === asOf);
  if (named) return named.at;
  throw unknownMoment(asOf, moments);
}

function summaryOf({ out, manifest, written }: Exported, format: ExportFormat, seconds: number) {
  const { files, months, columns: _, ...about } = manifest;
  const sizes = { files: files.length, bytes: bytesOf(manifest), months: months.length, written };
  return { out, ...about, format, ...sizes, seconds: Math.round(seconds * 10) / 10 };
}

function bytesOf({ files }: Exported['manifest']): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

const plural: Readonly<Record<string, string>> = { country: 'countries', match_type: 'match types' };

function describe(
  { out, manifest, written }: Exported,
  { table }: ExportScope,
  about: { format: ExportFormat; seconds: number; omitted: string | undefined; standby: Standby | undefined },
): string {
  const { format, seconds, omitted, standby } = about;
  const { table: name, as_of, versions, rows, files, months } = manifest;
  if (out === null) return `Nothing to export: ${name} has no rows for ${daysOf(manifest)}.\n`;
  const series = seriesColumn(table);
  const isWhole = written.months === months.length;
  const size = `${(bytesOf(manifest) / 1e6).toFixed(1)} MB`;
  const lines = facts([
    ['table', `${name}${versions ? ', all versions' : ''}${as_of === null ? '' : ` as of ${as_of}`}`],
    ['days', daysOf(manifest)],
    ['rows', rows],
    ['omitted', omitted],
    ['standby', standbyText(standby)],
    ['files', `${number(files.length)} ${format === 'excel' ? 'CSV for Excel' : format}, ${size}`],
    [plural[series] ?? `${series}s`, isWhole ? written.series : null],
    ['months', months.length],
    [
      'written',
      isWhole
        ? null
        : `${count(written.months, 'month')}, ${count(written.rows, 'row')}; the others have not changed`,
    ],
    ['changed', changedText(manifest)],
    ['formulas', formulas[format] ?? null],
    ['checked', written.months > 0 ? 'read back; rows and score sums match the warehouse' : null],
    ['took', duration(seconds)],
    ['where', out],
  ]);
  if (format === 'excel') return `${lines}\n`;
  const read = format === 'parquet' ? 'read_parquet' : 'read_csv';
  const duckdb = `duckdb -c "select count(*) from ${read}('${out}/**/*.${format}', hive_partitioning = true)"`;
  return `${lines}\n\nWith DuckDB: ${command(duckdb)}\n`;
}

/** How many changed files are named. */
const named = 5;

function changedText({ changed, files, continues }: Exported['manifest']): string | null {
  if (continues === null || changed.length === 0) return null;
  const paths = new Set(files.map(({ path }) => path));
  const names = changed.slice(0, named).map(({ path }) => (paths.has(path) ? path : `${path} (removed)`));
  const more = changed.length - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${number(more)} more (--json lists all)` : ''}`;
}

/** For CSV, which people open in spreadsheets: its texts come from the press and may contain formulas. */
const formulas: Readonly<Partial<Record<ExportFormat, string>>> = {
  csv: 'not escaped: a spreadsheet may run cells that begin with = + - @. Use --excel.',
  excel: 'escaped: an apostrophe precedes what a spreadsheet would run',
};

function daysOf({ from, to }: Exported['manifest']): string {
  if (from === null && to === null) return 'any day';
  return `${from ?? 'the first day'} to ${to ?? 'the last day'}`;
}
