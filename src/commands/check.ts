import { Option } from '@commander-js/extra-typings';
import type { Check } from '../check/check-file.ts';
import { findChecks, onlyThese } from '../check/find-checks.ts';
import { type CheckResult, runChecks } from '../check/run-checks.ts';
import { knownScope, openToRead, openWarehouse, runBy, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { partOf } from '../config/part-of-job.ts';
import { typed } from '../config/typed.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes, worst } from '../exit.ts';
import { catalog, feedNamed } from '../feeds/catalog.ts';
import { withLearnedReading } from '../load/resolve-load.ts';
import { checkAlerts } from '../observe/alerts.ts';
import { firstUnsettledDay, plannedDays } from '../plan/days.ts';
import { gathered, wholeNumber } from '../terminal/arguments.ts';
import { printResult } from '../terminal/print.ts';
import type { Style } from '../terminal/style.ts';
import { count, daysFrom, nextStep, number, sayingAsTyped, table, tableOf } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { retried } from '../warehouse/retries.ts';
import {
  addKnownFindings,
  forgetKnownFindings,
  type KnownFinding,
  keepCheckResults,
} from '../warehouse/tables/check-results.ts';
import { readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { seriesIn, type WindowScope } from '../warehouse/tables/series.ts';
import { aJob, type Command, examples, gmsiCommand, type OptionsOf, withPart } from './command.ts';
import { forEachJob, namedJobs, reportBroken } from './named-jobs.ts';
import { repairs, repairWarehouse } from './repair.ts';
import { standbyAsJson, standbyText } from './standby.ts';

const define = (check: Command) =>
  withPart(check)
    .argument('[job...]', `${aJob} (default: every job in jobs/)`)
    .option('--only <check>', 'run only this check; may be repeated', gathered)
    .option(
      '--rows <number>',
      'findings to show for each check (default: 5; with --json or --known 100)',
      wholeNumber(),
    )
    .option('--timeout <seconds>', 'stop a check that takes longer; 0 for no limit', wholeNumber(), 600)
    .addOption(
      new Option(
        '--known <check>',
        'run only this check, and acknowledge its findings: they no longer make it fail',
      ).conflicts('only'),
    )
    .option('--reason <text>', 'with --known: why they are acceptable')
    .addOption(
      new Option('--not-known <check>', 'run only this check, and take back --known').conflicts([
        'only',
        'known',
      ]),
    )
    .addOption(
      new Option(
        '--repair <what>',
        'read rejected records and extra fields again (without a job, of all feeds, by the built-in names), compute the rollups again, or delete windows that no job wants',
      )
        .choices(repairs)
        .conflicts([
          ...['only', 'rows', 'timeout', 'known', 'reason', 'notKnown'],
          ...['country', 'topic', 'ticker'],
        ]),
    )
    .option('--dry-run', 'with --repair records or windows: only show what would change')
    .addHelpText(
      'after',
      examples(
        'gmsi check g7-inflation --only lost-rows --rows 20',
        'gmsi check g7-inflation --known lost-rows --reason "2019 is archived"',
        'gmsi check g7-inflation --repair records --dry-run',
        'gmsi check --repair rollups --from 2025-01-01',
      ),
    );

type CheckOptions = OptionsOf<typeof define>;

/** How many findings of a check are shown by default. */
const shown = { person: 5, all: 100 };
/** A longer text in a finding is cut in the output for people. */
const longestCell = 60;

/**
 * `gmsi check [job]…`: looks for errors in the loaded data and stores the results; sends no request. `--known` acknowledges
 * the findings that it shows; `--repair` repairs what needs no request.
 */
export const check = gmsiCommand({ define }, async (session, names, options) => {
  const { repair, dryRun } = options;
  if (repair !== undefined) {
    return repairWarehouse(dryRun ? session : { ...session, schemaUse: 'upgrades' }, names, {
      ...options,
      repair,
    });
  }
  if (dryRun)
    throw new ConfigError('--dry-run needs --repair.', { hint: 'Add --repair records, or omit --dry-run.' });
  const feeds = [...catalog.keys()];
  refuseMixed(names, options);
  const { known, notKnown, reason = '' } = options;
  const acknowledged = known ?? notKnown;
  const only = acknowledged === undefined ? options.only : [acknowledged];
  const checks = onlyThese(await findChecks(process.cwd(), feeds), only ?? []);
  const named = await namedJobs(session, names, { all: names.length === 0 });
  const jobs = named.jobs.map((job) => partOf(job, options, today(session)));
  await using warehouse =
    acknowledged === undefined
      ? await openToRead(session)
      : { ...(await openWarehouse(session)), standby: undefined };
  const patience = { log: session.log, signal: session.stop };
  const db = warehouse.patient;
  const lookups = await readLookups(db);
  const asked = await forEachJob({ ...named, jobs }, (job) => checkedPart(session, db, job, lookups));
  const { rows = shown[session.json || known !== undefined ? 'all' : 'person'], timeout } = options;
  const run = { rows, timeout, stop: session.stop };
  const look = () => retried(() => runChecks(db, asked, checks, run), patience);
  if (notKnown !== undefined)
    await forgetKnownFindings(
      db,
      asked.map(({ name }) => name),
      notKnown,
    );
  let results = await look();
  if (known !== undefined) {
    await addKnownFindings(
      db,
      asked.flatMap(({ job }, at) => asKnown(job, results[at]![0]!, reason)),
    );
    // Again, because a finding that came meanwhile is not known.
    results = await look();
  }
  const reports = asked.map(({ job, scope }, at) => ({ job, scope: scope.window, results: results[at]! }));
  const kept = reports.flatMap(({ job, results }) => results.map((one) => asKept(job, one)));
  const isKept = await keepCheckResults(db, kept, only === undefined);
  const { log, clock, config, stop: signal } = session;
  const checked = asked.map(({ job }) => job);
  if (isKept) await checkAlerts(checked, { warehouse: db, config, clock, runBy, log, signal });
  const { standby } = warehouse;
  const notes = [...(isKept ? [] : [notKept]), ...(standby ? [`Standby: ${standbyText(standby)}.`] : [])];
  const document = { jobs: reports.map(reportAsJson), kept: isKept, standby: standbyAsJson(standby) };
  const text = () => `${[...reports.map(describe), ...notes].join('\n\n')}\n${nextOf(reports)}`;
  printResult(session, document, text);
  const isFailed = results.flat().some(({ result }) => result === 'failed');
  return worst([reportBroken(named.broken), isFailed ? exitCodes.incomplete : exitCodes.done]);
});

async function checkedPart(session: Session, db: Warehouse, job: Job, lookups: StoredLookups) {
  const feed = feedNamed(job.feed);
  const firstUnsettled = firstUnsettledDay(today(session), job.lookbackDays).toString();
  const window = knownScope(session, job, lookups, 'check');
  const { historyLimit } = plannedDays((await withLearnedReading(db, job)).job, today(session));
  const firstRequested = historyLimit?.firstDay ?? window.from;
  const fields = [job.fields, feed.fields];
  const scope = { window, table: feed.table, fields, firstRequested, firstUnsettled };
  return { job, name: job.name, feed, scope };
}

/** Runs a check on a job, and stores the result. @returns true if it passed, or was skipped */
export async function passesCheck(session: Session, db: Warehouse, job: Job, name: string): Promise<boolean> {
  const checks = onlyThese(await findChecks(process.cwd(), [...catalog.keys()]), [name]);
  const asked = [await checkedPart(session, db, job, await readLookups(db))];
  const [results] = await runChecks(db, asked, checks, {
    rows: shown.person,
    timeout: 600,
    stop: session.stop,
  });
  const kept = results!.map((one) => asKept(job, one));
  await keepCheckResults(db, kept, false);
  return kept.every(({ result }) => result === 'passed' || result === 'skipped');
}

const notKept = 'The results are not stored, because this connection may only read.';

function asKept({ name: job }: Job, { check, result, findings, known, reason }: CheckResult) {
  const { name, title, severity } = check;
  return { job, check_name: name, title, severity, result, findings, known, reason };
}

/** @throws ConfigError if options contradict each other */
function refuseMixed(names: readonly string[], { known, notKnown, reason }: CheckOptions): void {
  if (known !== undefined && !reason?.trim())
    throw new ConfigError('--known needs a reason.', {
      hint: 'Add --reason "…": it is shown with the findings.',
    });
  if (known === undefined && reason !== undefined)
    throw new ConfigError('--reason needs --known.', { hint: 'Add --known <check>.' });
  if ((known ?? notKnown) !== undefined && names.length === 0)
    throw new ConfigError('--known and --not-known need a job.', {
      hint: 'Name the job whose findings these are.',
    });
}

/**
 * Returns the findings of a check as known ones.
 * @throws ConfigError if it did not finish, or found more than it shows: nobody acknowledges what they have not seen
 */
function asKnown(job: Job, result: CheckResult, reason: string): KnownFinding[] {
  const { check, findings, rows, digests } = result;
  const typedCheck = `gmsi check ${typedJob(job.path)} --known ${typed(check.name)}`;
  if (result.reason !== null)
    throw new ConfigError(`${check.name} has no result for job ${job.name}: ${result.reason}.`, {
      hint: 'Nothing is acknowledged. A check that takes too long can run longer: --timeout <seconds>',
    });
  if (findings > rows.length)
    throw new ConfigError(
      `${check.name} has ${count(findings, 'finding')} in job ${job.name}, and only ${number(rows.length)} would be shown.`,
      {
        hint: `Nothing is acknowledged. To see and acknowledge all: ${typedCheck} --reason "…" --rows ${findings}`,
      },
    );
  return rows.map((finding, at) => ({
    ...{ job: job.name, check_name: check.name, digest: digests[at]!, finding, reason },
  }));
}

interface Report {
  readonly job: Job;
  readonly scope: WindowScope;
  readonly results: readonly CheckResult[];
}

function nextOf(reports: readonly Report[]): string {
  for (const { job, results } of reports) {
    const failed = results.find(({ result }) => result === 'failed');
    if (failed) return nextStep(`check ${typedJob(job.path)} --only ${typed(failed.check.name)} --rows 100`);
  }
  const hasWarned = reports.some(({ results }) => results.some(({ result }) => result === 'warned'));
  return hasWarned ? '' : nextStep(`export ${typedJob(reports[0]!.job.path)}`);
}

function reportAsJson({ job, scope, results }: Report) {
  return {
    job: job.name,
    feed: job.feed,
    series: seriesIn(scope),
    period: { from: scope.from, to: scope.to },
    checks: results.map(({ check, digests: _, ...outcome }) => {
      const { name, path, title, severity } = check;
      const why = whyOf(check, outcome.rows, job);
      return { check: name, title, why, severity, file: path, ...outcome };
    }),
  };
}

function describe({ job, scope, results }: Report): string {
  const counted = (['passed', 'failed', 'warned', 'known', 'skipped'] as const)
    .map((result) => [result, results.filter((one) => one.result === result).length] as const)
    .filter(([, many]) => many > 0)
    .map(([result, many]) => `${many} ${result}`);
  const overview = tableOf(results, {
    check: ({ check }) => check.name,
    result: ({ result }) => ({ style: styleOf[result], text: result }),
    findings: ({ findings }) => findings || null,
    known: ({ known }) => known || null,
    '': ({ check, reason }) => reason ?? check.title,
  });
  return [
    `Job ${job.name}: ${count(seriesIn(scope), 'series', 'series')}, ${daysFrom(scope.from, scope.to)}`,
    overview,
    `${count(results.length, 'check')}: ${counted.join(', ')}`,
    ...results.filter(({ findings }) => findings > 0).map((one) => describeFindings(one, job)),
    ...results.filter(({ known }) => known > 0).map(describeKnown),
  ].join('\n\n');
}

const styleOf: Readonly<Record<CheckResult['result'], Style>> = {
  passed: 'green',
  failed: 'red',
  warned: 'yellow',
  known: 'dim',
  skipped: 'dim',
};

/** Returns what a finding means, with the job's name for `<job>`, and values of the first finding for its columns' names. */
function whyOf({ why }: Check, [first]: CheckResult['rows'], job: Job): string {
  return why.replaceAll(/<(\w+)>/g, (all, name) =>
    name === 'job' ? typedJob(job.path) : String(first?.[name] ?? all),
  );
}

function describeFindings({ check, result, findings, rows }: CheckResult, job: Job): string {
  const columns = columnsOf(rows[0], check);
  const why = sayingAsTyped(whyOf(check, rows, job));
  const title = `${check.name} ${result}: ${count(findings, 'finding')}. ${why}`;
  const cells = rows.map((row) => columns.map((name) => cell(row[name])));
  return [title, table(columns, cells), moreThan(rows, findings)].filter((text) => text !== '').join('\n');
}

/** Lists findings that somebody has acknowledged, with the reason and since when. */
function describeKnown({ check, known, known_rows }: CheckResult): string {
  const columns = columnsOf(known_rows[0]?.finding, check);
  const cells = known_rows.map(({ finding, reason, known_since }) => [
    ...[known_since.slice(0, 10), reason],
    ...columns.map((name) => cell(finding[name])),
  ]);
  const title = `${check.name}: ${count(known, 'known finding')}`;
  const listed = table(['known since', 'reason', ...columns], cells);
  return [title, listed, moreThan(known_rows, known)].filter((text) => text !== '').join('\n');
}

/** Returns the columns of a finding, without those that the text above the table has. */
function columnsOf(finding: CheckResult['rows'][number] | undefined, { why }: Check): string[] {
  return Object.keys(finding ?? {}).filter((name) => !why.includes(`<${name}>`));
}

function moreThan(rows: readonly unknown[], all: number): string {
  const left = all - rows.length;
  return left > 0 ? `(${count(left, 'more', 'more')}; --rows shows them)` : '';
}

function cell(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  // Ids and counts without separators. The digits of a float after the twelfth are noise.
  if (typeof value === 'number') return String(Number(value.toPrecision(12)));
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > longestCell ? `${text.slice(0, longestCell - 1)}…` : text;
}
