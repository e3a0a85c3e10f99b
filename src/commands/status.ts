import { setTimeout as sleep } from 'node:timers/promises';
import {
  type OpenWarehouse,
  openWarehouse,
  readJobs,
  refuseNoWarehouse,
  type Session,
  today,
} from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { withLearnedReading } from '../load/resolve-load.ts';
import { plannedDays, wantedDays } from '../plan/days.ts';
import { readAllJobs } from '../plan/list-jobs.ts';
import { missingLists, scopeOf, settledPart, settlingPart } from '../plan/scope.ts';
import { countedAs, monthOf } from '../service/budget.ts';
import { clearScreen, isOutputClosed, print, printJson, snakeCased } from '../terminal/print.ts';
import {
  asTyped,
  type Cell,
  count,
  daysFrom,
  facts,
  minute,
  nextStep,
  number,
  ofLimit,
  share,
  table,
} from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type LoadedFeed, loadedFeeds } from '../warehouse/questions/contents.ts';
import { type Failures, failuresByCause } from '../warehouse/questions/coverage.ts';
import type { Question } from '../warehouse/questions/reading.ts';
import {
  type LoadShown,
  lastLoads,
  livingWorkers,
  type RequestsOfKey,
  type Rescoring,
  requestsByKey,
  rescorings,
} from '../warehouse/questions/runs.ts';
import {
  coverageOf,
  gapsOf,
  type WindowCount,
  type WorkersJob,
  windowCounts,
  workersJobs,
} from '../warehouse/questions/status.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { askedAgain } from '../warehouse/tables/refusals.ts';
import { usedRequests } from '../warehouse/tables/requests.ts';
import { seriesIn } from '../warehouse/tables/series.ts';
import { countByState } from '../warehouse/tables/windows.ts';
import { describeHistoryLimit } from './load-summary.ts';

const shown = { gaps: 8, loads: 5 };

/** Milliseconds between two looks of `--watch`. */
const interval = 2_000;

/** `gmsi status [<job>…]`: shows what is loaded, what is missing, and why; sends no request. */
export async function statusCommand(
  session: Session,
  names: string[],
  { watch = false, days = false }: { readonly watch?: boolean; readonly days?: boolean } = {},
): Promise<number> {
  if (days && watch) throw new ConfigError('--days and --watch do not go together.');
  const jobs = await readJobs(session, names);
  if (days) {
    const { statusDaysCommand } = await import('./status-days.ts');
    return statusDaysCommand(session, jobs.length > 0 ? jobs : await ownJobs(session));
  }
  refuseNoWarehouse(session);
  await using warehouse = await openWarehouse(session);
  const { stop } = session;
  do {
    const { status, reports } = await readStatus(session, warehouse, jobs);
    if (watch) clearScreen();
    if (session.json) printJson(snakeCased(status), watch ? 0 : 2);
    else print(`${describe(status, jobs)}\n${nextOf(session, jobs, reports)}`);
    if (!watch) return exitCodes.done;
    await sleep(interval, undefined, { signal: stop }).catch(() => {});
  } while (!stop.aborted && !isOutputClosed());
  return stop.aborted ? exitCodes.interrupted : exitCodes.done;
}

async function readStatus(session: Session, { db, description }: OpenWarehouse, jobs: readonly Job[]) {
  const { leaseSeconds } = session.config;
  const rowsOf = async <Row>({ query }: Question<Row>) => (await query.execute(db)).rows;
  const [month, { apiKey }] = [monthOf(session.clock()), session.config];
  // Only about the named jobs; what all jobs share is shown if none is named.
  const isOfAll = jobs.length === 0;
  const names = jobs.map(({ name }) => name);
  const reports = await Promise.all(jobs.map((job) => statusOf(session, db, job)));
  const scopes = reports.flatMap(({ scope }) => scope ?? []);
  const schedules = await workersJobs(db, leaseSeconds);
  const status = {
    warehouse: description,
    jobs: reports.map(({ scope: _, ...report }) => report),
    ...(isOfAll && { coverage: await rowsOf(loadedFeeds), windows: await windowCounts(db) }),
    failures: await rowsOf(failuresByCause(isOfAll ? undefined : scopes)),
    workers: (await rowsOf(livingWorkers(leaseSeconds))).length,
    schedules: schedules.filter(({ job }) => isOfAll || names.includes(job)),
    loads: await rowsOf(lastLoads(leaseSeconds, shown.loads, isOfAll ? undefined : names)),
    rescorings: await rowsOf(rescorings({ jobs: isOfAll ? undefined : names })),
    requests: await rowsOf(requestsByKey(month, apiKey ? countedAs(apiKey) : null)),
    budgets: await budgetsOf(session, db, isOfAll ? await ownJobs(session) : jobs),
  };
  return { status, reports };
}

type Status = Awaited<ReturnType<typeof readStatus>>['status'];

function describe(
  { warehouse, jobs, coverage, windows, failures, schedules, ...status }: Status,
  files: readonly Job[],
): string {
  const { workers, loads, rescorings, requests, budgets } = status;
  const running = workers === 0 ? 'none is running' : `${number(workers)} running`;
  const sections = [
    `Warehouse: ${warehouse}`,
    ...jobs.map((report, at) => describeJob(report, typedJob(files[at]!.path))),
    coverage && section('Coverage', 'nothing is covered yet', coverage, coverageColumns),
    windows && section('Windows', 'none planned yet', windows, windowColumns),
    failures.length > 0 && `${section('Failed or refused', '', failures, failureColumns)}\n${retry}`,
    workers + schedules.length > 0 && section(`Workers: ${running}`, 'no job', schedules, scheduleColumns),
    section('Last loads', 'none yet', loads, loadColumns),
    rescorings.length > 0 && section('Mass rescorings in the last 30 days', '', rescorings, rescoringColumns),
    section('Requests this month', 'none yet', requests, requestColumns),
    ...budgets.map(describeBudget),
  ];
  return sections.filter((text) => text).join('\n\n');
}

/** Suggests to load failed windows (with a key), to plan missing days, or else a check; if no job was named, the list of jobs. */
function nextOf({ config }: Session, jobs: readonly Job[], reports: readonly JobStatus[]): string {
  if (jobs.length === 0) return nextStep('jobs');
  const failed = reports.findIndex((one) => one.series !== null && one.windows.failed > 0);
  if (failed >= 0 && config.apiKey) return nextStep(`backfill ${typedJob(jobs[failed]!.path)}`);
  const open = reports.findIndex((one) => one.series === null || one.covered < one.wanted);
  return nextStep(`${open < 0 ? 'check' : 'plan'} ${typedJob(jobs[Math.max(open, 0)]!.path)}`);
}

type JobStatus = Awaited<ReturnType<typeof statusOf>>;
type JobReport = Status['jobs'][number];

async function statusOf(session: Session, db: Warehouse, job: Job) {
  const lookups = await readLookups(db);
  if (missingLists(feedNamed(job.feed), lookups).length > 0)
    return { job: job.name, series: null, scope: undefined };
  const { job: inForce } = await withLearnedReading(db, job);
  const { days = wantedDays(job, today(session))!, historyLimit } = plannedDays(inForce, today(session));
  const scope = scopeOf(inForce, days, lookups);
  const settled = settledPart(scope, job, today(session));
  return {
    job: job.name,
    series: seriesIn(scope),
    period: { from: scope.from, to: scope.to },
    historyLimit: historyLimit ?? null,
    ...(settled ? await coverageOf(db, settled) : { covered: 0, wanted: 0 }),
    /** Days that may still change, and so do not count as covered. */
    settling: settlingPart(scope, job, today(session)) ?? null,
    windows: await countByState(db, scope),
    gaps: settled ? await gapsOf(db, settled, shown.gaps) : [],
    scope,
  };
}

/** A property of each row, or what a function makes of it, by the heads of the columns. */
type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => Cell)>>;

const coverageColumns: Columns<LoadedFeed> = {
  feed: 'feed',
  'match type': 'match_type',
  series: 'series',
  complete: 'complete',
  from: 'oldest',
  to: 'newest',
};
const windowColumns: Columns<WindowCount> = {
  feed: 'feed',
  state: 'state',
  windows: 'windows',
  'half drained': ({ half_drained }) => half_drained || null,
};
const failureColumns: Columns<Failures> = {
  state: 'state',
  windows: 'windows',
  job: 'job',
  feed: 'feed',
  series: 'series',
  'such as': 'example',
  from: 'first_day',
  to: 'last_day',
  cause: 'cause',
};
const loadColumns: Columns<LoadShown> = {
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
const rescoringColumns: Columns<Rescoring> = {
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
const scheduleColumns: Columns<WorkersJob> = {
  job: 'job',
  command: 'command',
  state: stateOf,
  windows: 'windows_planned',
  drained: 'windows_drained',
  failed: 'windows_failed',
  records: 'records',
};
const requestColumns: Columns<RequestsOfKey> = {
  key: ({ key, is_own }) => (is_own ? `${key} (this key)` : key),
  requests: 'requests',
};

/** The columns that a narrow terminal does without, the least important first. */
const least = ['match type', 'requests', 'windows', 'changed', 'records', 'began (UTC)', 'feed'];

const retry = `To retry them: ${asTyped('backfill <job>')}\nTo retry all refused ones at once: ${asTyped('backfill <job> --retry-refused')}`;

function section<Row>(title: string, empty: string, rows: readonly Row[], columns: Columns<Row>): string {
  if (rows.length === 0) return `${title}: ${empty}`;
  const cells = rows.map((row) =>
    Object.values(columns).map((cell) => (typeof cell === 'function' ? cell(row) : (row[cell] as Cell))),
  );
  return `${title}\n${table(Object.keys(columns), cells, { least })}`;
}

/** @param name how a person types the job in a command */
function describeJob(status: JobReport, name: string): string {
  if (status.series === null)
    return `Job ${status.job}: its series are not known yet. Run ${asTyped('lookups')}, or the job.`;
  const { covered, wanted, settling, windows } = status;
  const states = Object.entries(windows)
    .filter(([, many]) => many > 0)
    .map(([state, many]) => `${number(many)} ${state}`);
  const lines = [
    `Job ${status.job}`,
    facts([
      ['series', status.series],
      ['period', daysFrom(status.period.from, status.period.to)],
      ['history limit', describeHistoryLimit(status.historyLimit ?? undefined)],
      [
        'covered',
        wanted === 0
          ? undefined
          : `${number(covered)} of ${number(wanted)} days (${covered === wanted ? 'all' : share(covered, wanted)})`,
      ],
      [
        'recent days',
        settling &&
          `${daysFrom(settling.from, settling.to)} may still change: each sync loads recent days again`,
      ],
      ['windows', states.join(', ') || 'none'],
      [
        'refused',
        windows.refused > 0
          ? `each run requests at most ${askedAgain} again; to request all: ${asTyped(`backfill ${name} --retry-refused`)}`
          : null,
      ],
    ]),
  ];
  if (status.gaps.length > 0) {
    lines.push(
      '',
      table(
        ['missing from', 'to', 'series', 'example'],
        status.gaps.map((gap) => [gap.from, gap.to, gap.series, gap.example]),
      ),
    );
    if (status.gaps.length === shown.gaps)
      lines.push(`(the ${count(shown.gaps, 'range')} that most series miss)`);
  }
  return lines.join('\n');
}

function stateOf({ is_loading, due_at, outcome, resumes_at, finished_at, ...of }: WorkersJob): string {
  if (is_loading) return `since ${minute(due_at!)} UTC`;
  if (due_at !== null) return `waiting since ${minute(due_at)} UTC`;
  if (resumes_at !== null) return `paused (${of.paused_because}) until ${minute(resumes_at)} UTC`;
  if (finished_at !== null) return `${outcome} at ${minute(finished_at)} UTC`;
  return of.records === null ? 'not due yet' : 'loading, by a command';
}

/** Returns the job files of the working directory that can be read; nobody runs the program's examples as they are. */
async function ownJobs(session: Session): Promise<readonly Job[]> {
  const { areExamples, jobs } = await readAllJobs(process.cwd(), today(session));
  return areExamples ? [] : jobs;
}

/** Returns the budgets of jobs and what is used of them this month; none without a key, because each key has its own count. */
async function budgetsOf({ config: { apiKey }, clock }: Session, db: Warehouse, jobs: readonly Job[]) {
  if (!apiKey) return [];
  const month = monthOf(clock());
  const used = await usedRequests(db, countedAs(apiKey), month);
  const budgets = new Map(jobs.map(({ budget }) => [JSON.stringify(budget), budget]));
  return [...budgets].map(([text, { requestsPerMonth: limit, reserve }]) => {
    const alike = jobs.filter(({ budget }) => JSON.stringify(budget) === text);
    return { month: month.slice(0, 7), jobs: alike.map(({ name }) => name), used, limit, reserve };
  });
}

function describeBudget({ jobs, month, used, limit, reserve }: Status['budgets'][number]): string {
  const whose = jobs.length > 3 ? count(jobs.length, 'job') : jobs.join(', ');
  const kept = reserve > 0 ? `${number(reserve)} kept for syncs, ` : '';
  return `${ofLimit(used, limit)} in ${month} (${share(Math.min(used, limit), limit)}), ${kept}budget of ${whose}`;
}
