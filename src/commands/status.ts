import { Option } from '@commander-js/extra-typings';
import { type OpenWarehouse, openWarehouse, readJobs, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { typed } from '../config/typed.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { notListed } from '../plan/not-listed.ts';
import { settledPart, settlingPart } from '../plan/scope.ts';
import { wantedByJobs } from '../plan/wanted-days.ts';
import { loadedFeeds } from '../questions/contents.ts';
import { failuresByCause } from '../questions/coverage.ts';
import { cureOf, isTemporary } from '../questions/cures.ts';
import type { Question } from '../questions/reading.ts';
import { lastLoads, livingWorkers, requestsByKey, rescorings } from '../questions/runs.ts';
import { gapsOf, windowCounts, workersByJob, workersJobs } from '../questions/status.ts';
import { countedAs, monthOf } from '../service/budget.ts';
import { printResult, snakeCased } from '../terminal/print.ts';
import {
  asTyped,
  type Columns,
  count,
  daysFrom,
  facts,
  minute,
  nextStep,
  number,
  sayingAsTyped,
  share,
  tableOf,
} from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { askedAgain } from '../warehouse/tables/refusals.ts';
import { budgetsOf, describeBudget, requestColumns } from './budget.ts';
import { aJob, type Command, examples, gmsiCommand } from './command.ts';
import { describeJobs, type JobOfFile, listJobs, nextRunOf } from './jobs-table.ts';
import { describeEmptied, describeHistoryLimit, describeSettling } from './load-summary.ts';
import { ownJobs } from './named-jobs.ts';
import { plannedScope, showDays, unknownSeries } from './status-days.ts';

const define = (status: Command) =>
  status
    .argument('[job...]', aJob)
    .option('--days', 'only the days that are missing: for each series, why, and what loads them')
    .addOption(
      new Option(
        '--check',
        'end with 0 only if every job is good or working; else with 1, or 75 if only the budget is spent',
      ).conflicts('days'),
    )
    .addHelpText(
      'after',
      examples('gmsi status', 'gmsi status g7-inflation --days', 'gmsi status --check --quiet'),
    );

const most = { gaps: 8, loads: 5 };

/** `gmsi status [<job>…]`: shows what is loaded, what is missing, and why; sends no request. */
export const status = gmsiCommand({ define }, async (session, names, { days, check }) => {
  const jobs = await readJobs(session, names);
  if (days) return showDays(session, jobs.length > 0 ? jobs : (await ownJobs(session)).jobs);
  await using warehouse = await openWarehouse(session);
  const found = await readStatus(session, warehouse, jobs);
  printResult(session, snakeCased(found), () => `${describe(found)}\n${nextOf(session, found)}`);
  return check ? codeOf(found) : exitCodes.done;
});

/**
 * Returns the exit code of `gmsi status --check`.
 * @throws ConfigError without a job: then nothing is known to be good
 */
function codeOf({ jobs, broken = [] }: Status): number {
  if (jobs.length + broken.length === 0)
    throw new ConfigError('There is no job file in the folder jobs.', {
      hint: 'Run it where your jobs are, or name one.',
    });
  const bad = jobs.filter(({ state }) => state !== 'good' && state !== 'working');
  if (bad.length + broken.length === 0) return exitCodes.done;
  const isOfBudget = broken.length === 0 && bad.every(({ state, isSpent }) => state === 'stopped' && isSpent);
  return isOfBudget ? exitCodes.budget : exitCodes.incomplete;
}

async function readStatus(session: Session, { db, description }: OpenWarehouse, jobs: readonly Job[]) {
  const { leaseSeconds, apiKey } = session.config;
  const rowsOf = async <Row>({ query }: Question<Row>) => (await query.execute(db)).rows;
  // Only about the named jobs; what all jobs share is shown if none is named.
  const isOfAll = jobs.length === 0;
  const of = <Named>(named: Named) => (isOfAll ? undefined : named);
  const names = jobs.map(({ name }) => name);
  const { jobs: own, broken } = isOfAll ? await ownJobs(session) : { jobs, broken: [] };
  const budgets = await budgetsOf(session, db, own);
  // Backfills leave the reserve to syncs.
  const isSpent = ({ name }: Job, isBehind: boolean) =>
    budgets.some(
      ({ jobs, used, limit, reserve }) => jobs.includes(name) && used >= limit - (isBehind ? reserve : 0),
    );
  const { listed, unresolved } = await listJobs(session, db, own, isSpent);
  if (!isOfAll && unresolved[0]) throw unresolved[0];
  const details = await Promise.all(jobs.map((job) => detailsOf(session, db, job)));
  const reports: JobReport[] = listed.map((one, at) => ({ ...one, ...details[at]?.shown }));
  const scopes = details.flatMap((of) => of?.scope ?? []);
  const about = { cwd: process.cwd(), today: today(session), leaseSeconds, named: jobs };
  const known = await wantedByJobs(db, about);
  const runBy = await workersByJob(db, leaseSeconds);
  const schedules = await workersJobs(db, leaseSeconds);
  return {
    warehouse: description,
    jobs: reports,
    ...(isOfAll && {
      broken: [...broken.map(({ error }) => error), ...unresolved].map(({ message }) => message),
      coverage: await rowsOf(loadedFeeds),
      windows: await windowCounts(db),
    }),
    failures: await rowsOf(
      failuresByCause({ scopes: of(scopes), wanted: 'wanted' in known ? known.wanted : undefined }),
    ),
    workers: (await rowsOf(livingWorkers(leaseSeconds))).length,
    schedules: schedules
      .filter(({ job }) => isOfAll || names.includes(job))
      .map((one) => ({ ...one, workers: runBy.get(one.job) ?? 0 })),
    loads: await rowsOf(lastLoads(leaseSeconds, most.loads, of(names))),
    rescorings: await rowsOf(rescorings({ jobs: of(names) })),
    requests: await rowsOf(requestsByKey(apiKey ? countedAs(apiKey) : null, monthOf(session.clock()))),
    budgets,
  };
}

type Status = Awaited<ReturnType<typeof readStatus>>;

/** A row of each of its lists. */
type Rows = {
  [Name in keyof Status]-?: NonNullable<Status[Name]> extends readonly (infer Row)[] ? Row : never;
};

/** A job; if it was named, with what of it is loaded in detail. */
type JobReport = JobOfFile & Partial<NonNullable<Awaited<ReturnType<typeof detailsOf>>>['shown']>;

function describe(status: Status): string {
  const { warehouse, jobs, broken = [], coverage, windows, failures, schedules } = status;
  const { workers, loads, rescorings, requests, budgets } = status;
  const wanted = failures.filter(({ is_wanted }) => is_wanted);
  const unwanted = failures.filter(({ is_wanted }) => !is_wanted);
  const running = workers === 0 ? 'none is running' : `${number(workers)} running`;
  const sections = [
    `Warehouse: ${warehouse}`,
    // Windows are counted for all jobs together if none is named.
    ...(windows
      ? [jobs.length > 0 ? `Jobs\n${describeJobs(jobs, stuckJobs(failures))}` : 'Jobs: no file in jobs/']
      : jobs.map(describeJob)),
    ...broken,
    coverage && section('Coverage', 'nothing is covered yet', coverage, coverageColumns),
    windows && section('Windows to load', 'none', windows, windowColumns),
    wanted.length > 0 && section('Failed or refused', '', wanted, wantedColumns(jobs)),
    unwanted.length > 0 &&
      `${section('Failed or refused, and not wanted by any job', '', unwanted, failureColumns)}\n${toDelete}`,
    workers + schedules.length > 0 && section(`Workers: ${running}`, 'no job', schedules, scheduleColumns),
    section('Last loads', 'none yet', loads, loadColumns),
    rescorings.length > 0 && section('Mass rescorings in the last 30 days', '', rescorings, rescoringColumns),
    section('Requests this month', 'none yet', requests, requestColumns),
    ...budgets.map(describeBudget),
  ];
  return sections.filter((text) => text).join('\n\n');
}

/** Suggests to load failed windows (with a key), to plan the job that needs the fewest requests, or else a check. */
function nextOf({ config }: Session, { jobs, failures }: Status): string {
  if (jobs.length === 0) return nextStep('init');
  if (jobs.some(({ series }) => series === null)) return nextStep('lookups');
  const stuck = new Set(stuckJobs(failures));
  const failed = jobs.find((one) => (one.windows?.failed ?? 0) > 0 && !stuck.has(one.job));
  if (failed && config.apiKey) return nextStep(`backfill ${typedJob(failed.path)}`);
  const missing = ({ covered, wanted }: JobReport) => (wanted ?? 0) - (covered ?? 0);
  const [least] = jobs
    .filter(({ isComplete, job }) => isComplete === false && !stuck.has(job))
    .toSorted((a, b) => missing(a) - missing(b));
  if (!least && stuck.size > 0) return '';
  return nextStep(`${least ? 'plan' : 'check'} ${typedJob((least ?? jobs[0]!).path)}`);
}

/** Returns the jobs with failed windows that need a person first: another load would fail in the same way. */
function stuckJobs(failures: Status['failures']): string[] {
  return failures
    .filter(({ state, cause, is_wanted }) => is_wanted && state === 'failed' && !isTemporary(cause))
    .flatMap(({ job }) => job ?? []);
}

/** Returns what of a job's period is loaded in detail; `undefined` if its series are not known. */
async function detailsOf(session: Session, db: Warehouse, job: Job) {
  const planned = await plannedScope(session, db, job);
  if (!planned) return undefined;
  const { scope, historyLimit } = planned;
  const settled = settledPart(scope, job, today(session));
  const shown = {
    period: { from: scope.from, to: scope.to },
    historyLimit: historyLimit ?? null,
    /** Days that may still change, and so do not count as covered. */
    settling: settlingPart(scope, job, today(session)) ?? null,
    notListed: (await notListed(db, scope))?.message ?? null,
    gaps: settled ? await gapsOf(db, settled, most.gaps) : [],
  };
  return { shown, scope };
}

const coverageColumns: Columns<Rows['coverage']> = {
  feed: 'feed',
  'match type': 'match_type',
  series: 'series',
  from: 'oldest',
  to: 'newest',
};
const windowColumns: Columns<Rows['windows']> = {
  feed: 'feed',
  state: 'state',
  windows: 'windows',
  'half drained': ({ half_drained }) => half_drained || null,
};
/** Also of `gmsi repair --windows`. */
export const failureColumns: Columns<Rows['failures']> = {
  state: 'state',
  windows: 'windows',
  job: 'job',
  feed: 'feed',
  series: 'series',
  'such as': 'example',
  from: 'first_day',
  to: 'last_day',
  cause: ({ cause, says }) => (cause === null ? says : `${cause}: ${says}`),
};
/** @param jobs whose files are known here */
const wantedColumns = (jobs: readonly JobReport[]): Columns<Rows['failures']> => ({
  ...failureColumns,
  'what to do': ({ cause, job }) => {
    if (job === null) return '';
    const path = jobs.find((one) => one.job === job)?.path;
    return sayingAsTyped(cureOf(cause, path ? typedJob(path) : typed(job)));
  },
});
const loadColumns: Columns<Rows['loads']> = {
  load: ({ load_id }) => String(load_id),
  job: 'job',
  'began (UTC)': ({ started_at }) => minute(started_at),
  state: 'state',
  windows: 'windows_drained',
  requests: 'requests',
  records: 'records',
  new: 'rows_inserted',
  changed: 'rows_changed',
  retracted: 'rows_retracted',
};
const rescoringColumns: Columns<Rows['rescorings']> = {
  load: ({ load_id }) => String(load_id),
  job: 'job',
  'began (UTC)': ({ started_at }) => minute(started_at),
  rescored: 'headlines',
  'of known': 'known_headlines',
  'published from': ({ first_published_at }) => minute(first_published_at).slice(0, 10),
  to: ({ last_published_at }) => minute(last_published_at).slice(0, 10),
  'model version': ({ old_model_version: before, new_model_version: after }) =>
    before === after ? after : `${before ?? '?'} → ${after ?? '?'}`,
};
const scheduleColumns: Columns<Rows['schedules']> = {
  job: 'job',
  command: 'command',
  state: stateOf,
  windows: 'windows_planned',
  drained: 'windows_drained',
  failed: 'windows_failed',
  records: 'records',
};
/** The columns that a narrow terminal does without, the least important first. */
const least = ['match type', 'requests', 'windows', 'changed', 'records', 'began (UTC)', 'feed'];

const toDelete = `To delete these windows: ${asTyped('repair --windows')}`;

function section<Row>(title: string, empty: string, rows: readonly Row[], columns: Columns<Row>): string {
  if (rows.length === 0) return `${title}: ${empty}`;
  return `${title}\n${tableOf(rows, columns, { least })}`;
}

function describeJob(status: JobReport): string {
  const { series, complete, covered, wanted, period, settling, windows, gaps, historyLimit, late } = status;
  if (!period || !windows || !gaps || series === null) return unknownSeries(status.job);
  const name = typedJob(status.path);
  const lacks = (wanted ?? 0) - (covered ?? 0);
  const states = Object.entries(windows)
    .filter(([, many]) => many > 0)
    .map(([state, many]) => `${number(many)} ${state}`);
  const lines = [
    `Job ${status.job}`,
    facts([
      ['state', status.why === null ? status.state : `${status.state}: ${status.why}`],
      ['series', series],
      ['period', daysFrom(period.from, period.to)],
      ['history limit', describeHistoryLimit(historyLimit ?? undefined)],
      ['complete', wanted === null ? undefined : `${number(complete ?? 0)} of ${number(series)} series`],
      [
        'covered',
        wanted === null
          ? undefined
          : `${number(covered ?? 0)} of ${number(wanted)} days (${share(covered ?? 0, wanted)})`,
      ],
      ['missing', lacks > 0 ? `${count(lacks, 'day')}; to load them: ${asTyped(`backfill ${name}`)}` : null],
      ['recent days', describeSettling(settling)],
      ['windows to load', states.join(', ') || 'none'],
      [
        'refused',
        windows.refused > 0
          ? `each run requests at most ${askedAgain} again; to request all: ${asTyped(`backfill ${name} --retry-refused`)}`
          : null,
      ],
      ['not listed', status.notListed ?? undefined],
      ['rows gone', status.emptied ? describeEmptied(status.emptied, status.path) : undefined],
      ['next run', nextRunOf(status) || undefined],
      ['late', late ?? undefined],
    ]),
  ];
  if (gaps.length > 0) {
    lines.push('', tableOf(gaps, { 'missing from': 'from', to: 'to', series: 'series', example: 'example' }));
    if (gaps.length === most.gaps) lines.push(`(the ${count(most.gaps, 'range')} that most series miss)`);
  }
  return lines.join('\n');
}

function stateOf(of: Rows['schedules']): string {
  const { is_loading, due_at, outcome, resumes_at, finished_at } = of;
  // A command may be loading it.
  if (of.workers === 0 && !is_loading && (of.cron ?? due_at ?? resumes_at) !== null)
    return 'no worker runs it';
  if (is_loading) return due_at === null ? 'loading, by a command' : `since ${minute(due_at)} UTC`;
  if (due_at !== null) return `waiting since ${minute(due_at)} UTC`;
  if (resumes_at !== null) return `paused (${of.paused_because}) until ${minute(resumes_at)} UTC`;
  if (finished_at !== null) return `${outcome} at ${minute(finished_at)} UTC`;
  return of.records === null ? 'not due yet' : 'loading, by a command';
}
