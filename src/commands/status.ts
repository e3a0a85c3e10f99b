import { Option } from '@commander-js/extra-typings';
import { type Answer, answerReader, isOnlyBudget } from '../answer/answer.ts';
import { type OpenWarehouse, openWarehouse, readJobs, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { settlingPart } from '../plan/scope.ts';
import { loadedFeeds } from '../questions/contents.ts';
import type { Question } from '../questions/reading.ts';
import { lastLoads, livingWorkers, requestsByKey, rescorings } from '../questions/runs.ts';
import { workersByJob, workersJobs } from '../questions/status.ts';
import { countedAs, monthOf } from '../service/budget.ts';
import { printResult, snakeCased } from '../terminal/print.ts';
import { type Columns, daysFrom, facts, minute, nextStep, number, tableOf } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { describeCauses, describeJobs, describeNext } from './answer-tables.ts';
import { budgetsOf, describeBudget, requestColumns } from './budget.ts';
import { aJob, type Command, examples, gmsiCommand } from './command.ts';
import { describeHistoryLimit, describeSettling } from './load-summary.ts';
import { ownJobs } from './named-jobs.ts';
import { plannedScope, showDays } from './status-days.ts';

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

const shownLoads = 5;

/** `gmsi status [<job>…]`: shows what is loaded, what is missing, and why; sends no request. */
export const status = gmsiCommand({ define }, async (session, names, { days, check }) => {
  const jobs = await readJobs(session, names);
  if (days) return showDays(session, jobs.length > 0 ? jobs : (await ownJobs(session)).jobs);
  await using warehouse = await openWarehouse(session);
  const found = await readStatus(session, warehouse, jobs);
  printResult(session, snakeCased(found), () => `${describe(found)}\n${nextOf(found)}`);
  return check ? codeOf(found) : exitCodes.done;
});

/**
 * Returns the exit code of `gmsi status --check`.
 * @throws ConfigError without a job: then nothing is known to be good
 */
function codeOf(answer: Answer): number {
  if (answer.jobs.length === 0)
    throw new ConfigError('There is no job file in the folder jobs.', {
      hint: 'Run it where your jobs are, or name one.',
    });
  const isGood = answer.jobs.every(({ state }) => state === 'good' || state === 'working');
  if (isGood) return exitCodes.done;
  return isOnlyBudget(answer) ? exitCodes.budget : exitCodes.incomplete;
}

async function readStatus(session: Session, { db, description }: OpenWarehouse, jobs: readonly Job[]) {
  const { leaseSeconds, apiKey } = session.config;
  const rowsOf = async <Row>({ query }: Question<Row>) => (await query.execute(db)).rows;
  // Only about the named jobs; what all jobs share is shown if none is named.
  const isOfAll = jobs.length === 0;
  const names = isOfAll ? undefined : jobs.map(({ name }) => name);
  const answer = await answerReader(db, { ...session.config, clock: session.clock, cwd: process.cwd() })(
    isOfAll ? undefined : jobs,
  );
  const runBy = await workersByJob(db, leaseSeconds);
  const schedules = await workersJobs(db, leaseSeconds);
  const details = await Promise.all(jobs.map((job) => detailsOf(session, db, job)));
  return {
    warehouse: description,
    jobs: answer.jobs.map((job, at) => ({ ...job, ...details[at] })),
    causes: answer.causes,
    ...(isOfAll && { coverage: await rowsOf(loadedFeeds) }),
    workers: (await rowsOf(livingWorkers(leaseSeconds))).length,
    schedules: schedules
      .filter(({ job }) => names?.includes(job) ?? true)
      .map((one) => ({ ...one, workers: runBy.get(one.job) ?? 0 })),
    loads: await rowsOf(lastLoads(leaseSeconds, shownLoads, names)),
    rescorings: await rowsOf(rescorings({ jobs: names })),
    requests: await rowsOf(requestsByKey(apiKey ? countedAs(apiKey) : null, monthOf(session.clock()))),
    budgets: await budgetsOf(session, db, isOfAll ? (await ownJobs(session)).jobs : jobs),
  };
}

type Status = Awaited<ReturnType<typeof readStatus>>;

/** A row of each of its lists. */
type Rows = {
  [Name in keyof Status]-?: NonNullable<Status[Name]> extends readonly (infer Row)[] ? Row : never;
};

function describe(status: Status): string {
  const { warehouse, jobs, causes, coverage, schedules } = status;
  const { workers, loads, rescorings, requests, budgets } = status;
  const running = workers === 0 ? 'none is running' : `${number(workers)} running`;
  const sections = [
    `Warehouse: ${warehouse}`,
    jobs.length > 0 ? `Jobs\n${describeJobs(jobs)}` : 'Jobs: no file in jobs/',
    causes.length > 0 && `To do\n${describeCauses(causes)}`,
    ...jobs.map(describeDetails),
    coverage && section('Coverage', 'nothing is covered yet', coverage, coverageColumns),
    workers + schedules.length > 0 && section(`Workers: ${running}`, 'no job', schedules, scheduleColumns),
    section('Last loads', 'none yet', loads, loadColumns),
    rescorings.length > 0 && section('Mass rescorings in the last 30 days', '', rescorings, rescoringColumns),
    section('Requests this month', 'none yet', requests, requestColumns),
    ...budgets.map(describeBudget),
  ];
  return sections.filter((text) => text).join('\n\n');
}

function nextOf({ jobs, causes }: Answer): string {
  if (jobs.length === 0) return nextStep('init');
  // A backfill may cost more than a month's requests: its plan says so first.
  const planned = (command: string) => command.replace(/^backfill (?=\S+$)/, 'plan ');
  return describeNext(causes, `check ${typedJob(jobs[0]!.path)}`, planned);
}

/** Returns which days of a named job loads request, and which may still change; `undefined` if its series are not known. */
async function detailsOf(session: Session, db: Warehouse, job: Job) {
  const planned = await plannedScope(session, db, job);
  if (!planned) return undefined;
  const { scope, historyLimit } = planned;
  return {
    period: { from: scope.from, to: scope.to },
    historyLimit: historyLimit ?? null,
    /** Days that may still change, and so do not count as covered. */
    settling: settlingPart(scope, job, today(session)) ?? null,
  };
}

const coverageColumns: Columns<Rows['coverage']> = {
  feed: 'feed',
  'match type': 'match_type',
  series: 'series',
  from: 'oldest',
  to: 'newest',
};
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

function section<Row>(title: string, empty: string, rows: readonly Row[], columns: Columns<Row>): string {
  if (rows.length === 0) return `${title}: ${empty}`;
  return `${title}\n${tableOf(rows, columns, { least })}`;
}

function describeDetails({ job, period, historyLimit, settling }: Rows['jobs']): string {
  if (!period) return '';
  const about = facts([
    ['period', daysFrom(period.from, period.to)],
    ['history limit', describeHistoryLimit(historyLimit ?? undefined)],
    ['recent days', describeSettling(settling)],
  ]);
  return `Job ${job}\n${about}`;
}

function stateOf(of: Rows['schedules']): string {
  const { is_loading, due_at, outcome, resumes_at, finished_at } = of;
  if (of.paused_because === 'operator' && !is_loading) return 'paused by an operator';
  // A command may be loading it.
  if (of.workers === 0 && !is_loading && (of.cron ?? due_at ?? resumes_at) !== null)
    return 'no worker runs it';
  if (is_loading) return due_at === null ? 'loading, by a command' : `since ${minute(due_at)} UTC`;
  if (due_at !== null) return `waiting since ${minute(due_at)} UTC`;
  if (resumes_at !== null) return `paused (${of.paused_because}) until ${minute(resumes_at)} UTC`;
  if (finished_at !== null) return `${outcome} at ${minute(finished_at)} UTC`;
  return of.records === null ? 'not due yet' : 'loading, by a command';
}
