import { Option } from '@commander-js/extra-typings';
import { type Answer, answerReader } from '../answer/answer.ts';
import {
  keepThisProcess,
  openService,
  openWarehouse,
  runBy,
  type Session,
  serviceAccess,
  today,
} from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { partOf } from '../config/part-of-job.ts';
import { JobFileError } from '../config/problems.ts';
import { typed } from '../config/typed.ts';
import { exitCodeOf, exitCodeOfOutcome, exitCodes, explain, worst } from '../exit.ts';
import { backfill as loadGaps, planBackfill } from '../load/backfill.ts';
import type { LoadContext } from '../load/load.ts';
import { syncUnlessRunning } from '../load/sync.ts';
import { checkAlerts, watchKey } from '../observe/alerts.ts';
import type { PlanOptions } from '../plan/plan-windows.ts';
import { workersByJob } from '../questions/status.ts';
import { requestLimit } from '../service/budget.ts';
import { capRequests, type Permits } from '../service/permits.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { print, printError, printJson, snakeCased } from '../terminal/print.ts';
import { showProgress } from '../terminal/progress.ts';
import { asTyped, count, tableOf } from '../terminal/table.ts';
import { databaseTime } from '../warehouse/health.ts';
import { isScheduled, jobInHand, markDue, registerJob, scheduleIn } from '../warehouse/tables/schedules.ts';
import { type Command, examples, gmsiCommand, type OptionsOf, withJobs } from './command.ts';
import {
  describeAfter,
  describeHistoryLimit,
  describeSummary,
  type LoadSummary,
  summaryAsJson,
} from './load-summary.ts';
import { forEachJob, type NamedJobs, namedJobs, reportBroken } from './named-jobs.ts';

const acceptRetractions = [
  '--accept-retractions',
  'mark rows that the service no longer returns as retracted, however many they are',
] as const;
const reason = [
  '--reason <text>',
  'your reason for the load; stored with it, and shown by gmsi why',
] as const;

const defineBackfill = (backfill: Command) =>
  withJobs(backfill)
    .option('--full-refresh', 'load all days again, also covered ones')
    .option('--retry-refused', 'request all refused windows again, not only a few')
    .option(
      '--max-requests <number>',
      'stop after this many requests, over all jobs; run it again to continue',
      wholeNumber({ from: 1 }),
    )
    .option(...acceptRetractions)
    .addOption(
      new Option('--enqueue', 'queue whole jobs for gmsi work, and return at once').conflicts(
        'maxRequests acceptRetractions reason from to country topic ticker'.split(' '),
      ),
    )
    .option(...reason)
    .addHelpText(
      'after',
      examples(
        'gmsi backfill g7-inflation',
        'gmsi backfill --all --quiet',
        'gmsi backfill g7-inflation --max-requests 500',
        'gmsi backfill g7-inflation --from 2025-03-01 --to 2025-03-07 --full-refresh',
        'gmsi backfill g7-inflation --enqueue    queues it for the workers',
      ),
    );

const defineSync = (sync: Command) =>
  withJobs(sync)
    .option(...acceptRetractions)
    .option(...reason)
    .addHelpText(
      'after',
      examples(
        'gmsi sync g7-inflation',
        '15 * * * *  gmsi sync g7-inflation --quiet >/dev/null    as a crontab line',
      ),
    );

type BackfillOptions = OptionsOf<typeof defineBackfill>;
type SyncOptions = OptionsOf<typeof defineSync>;

/** `gmsi backfill <job>…`; with `--enqueue`, workers run it. */
export const backfill = gmsiCommand(
  { define: defineBackfill, schemaUse: 'upgrades' },
  async (session, names, { enqueue, ...options }) => {
    if (enqueue) return enqueueJobs(session, names, options);
    return loadJobs(session, names, backfillLoader(options), options);
  },
);

/** A backfill may not use the job's reserve. */
export function backfillLoader({
  fullRefresh = false,
  retryRefused = false,
  acceptRetractions = false,
  maxRequests = Number.POSITIVE_INFINITY,
  reason,
}: BackfillOptions): JobLoader {
  const plan = { fullRefresh, retryRefused };
  const cap = capRequests(maxRequests);
  return {
    command: 'backfill',
    cap,
    run: (context) => loadGaps({ ...context, acceptRetractions, reason, plan }),
  };
}

/** `gmsi sync <job>…`; may spend the reserve that backfills leave. */
export const sync = gmsiCommand(
  { define: defineSync, schemaUse: 'upgrades' },
  async (session, names, options) => {
    const { acceptRetractions = false, reason } = options;
    const loader: JobLoader = {
      command: 'sync',
      run: (context) => syncUnlessRunning({ ...context, acceptRetractions, reason }),
    };
    return loadJobs(session, names, loader, options);
  },
);

/** How a loading command runs one job; `command` decides how many requests it may send. */
interface JobLoader {
  readonly command: 'backfill' | 'sync';
  /** Limits the requests of all jobs together. */
  readonly cap?: (permits: Permits) => Permits;
  readonly run: (context: LoadContext) => Promise<Omit<LoadSummary, 'job' | 'today' | 'budget'>>;
}

/** Runs jobs one by one, prints a summary of each and returns the exit code. */
async function loadJobs(
  session: Session,
  names: readonly string[],
  loader: JobLoader,
  options: SyncOptions,
): Promise<number> {
  const named = await namedJobs(session, names, options);
  serviceAccess(session);
  const { jobs } = named;
  const parts = jobs.map((job) => partOf(job, options, today(session)));
  await using warehouse = await openWarehouse(session);
  await using process = await keepThisProcess(session, warehouse.patient, loader.command);
  const key = watchKey();
  const watched = { ...session, onClientEvent: key.onClientEvent };
  const by = { warehouse: warehouse.patient, process };
  try {
    return await loadEach(watched, by, { ...named, jobs: parts }, loader);
  } finally {
    // Even if a job could not begin, because a user of cron may see only the alert; but not if a person stopped the job.
    if (!session.stop.aborted) {
      const { config, clock, log, stop: signal } = session;
      const by = { warehouse: warehouse.db, config, clock, runBy, key: key.standing, log, signal };
      await checkAlerts(jobs, by);
    }
  }
}

async function loadEach(
  session: Session,
  by: Pick<LoadContext, 'warehouse' | 'process'>,
  { jobs, broken }: NamedJobs,
  loader: JobLoader,
): Promise<number> {
  const codes = [reportBroken(broken)];
  const summaries: { readonly job: string }[] = broken.map(({ path, error }) =>
    failedAsJson(typedJob(path), error),
  );
  const loaded: LoadSummary[] = [];
  for (const job of jobs) {
    let summary: LoadSummary;
    try {
      summary = await loadJob(session, by, job, loader);
    } catch (error) {
      // With several jobs, the others are still reported.
      if (jobs.length + broken.length === 1) throw error;
      const code = exitCodeOf(error);
      codes.push(code);
      summaries.push(failedAsJson(job.name, error));
      printError(`${job.name}: ${explain(error, false)}`);
      const isItsOwn = code !== exitCodes.doNotRetry || error instanceof JobFileError;
      if (!isItsOwn || code === exitCodes.interrupted) break;
      continue;
    }
    codes.push(exitCodeOfOutcome(summary.outcome));
    summaries.push(summaryAsJson(summary));
    loaded.push(summary);
    if (!session.json) print(`${describeSummary(summary)}${jobs.length > 1 ? '\n' : ''}`);
    // A refused key or an interrupt would end the next jobs, too.
    if (summary.outcome === 'failed' || summary.outcome === 'interrupted') break;
  }
  const read = answerReader(by.warehouse, { ...session.config, clock: session.clock, cwd: process.cwd() });
  const answer = await read(loaded.map(({ job }) => job));
  if (session.json)
    printJson(snakeCased({ jobs: summaries.map((one) => withState(one, answer)), causes: answer.causes }));
  else print(describeAfter(answer.causes, loaded, loader.command));
  return worst(codes);
}

/** Adds how a job stands after its load to what the load did. */
function withState(summary: { readonly job: string }, { jobs }: Answer): object {
  return { ...jobs.find(({ job }) => job === summary.job), ...summary };
}

function failedAsJson(job: string, error: unknown) {
  return { job, outcome: 'failed', error: (error as Error).message };
}

/** Runs one job and shows its progress. @returns what it did, and the rest of the budget */
export async function loadJob(
  session: Session,
  { warehouse, process }: Pick<LoadContext, 'warehouse' | 'process'>,
  job: Job,
  { run, command, cap }: JobLoader,
): Promise<LoadSummary> {
  const limit = requestLimit(command, job.budget);
  const ofJob = { ...session, log: session.log.child({ job: job.name }) };
  await using service = await openService(ofJob, warehouse, job.service, limit, cap);
  let progress: Disposable | undefined;
  try {
    const { log, clock, stop } = session;
    const onStart: LoadContext['onStart'] = (read) => {
      progress = showProgress(job.name, read, log, session.progress);
    };
    const result = await run({ job, warehouse, ...service, process, clock, stop, onStart });
    const budget = { used: await service.used(), limit };
    return { ...result, job, today: today(session), budget };
  } finally {
    progress?.[Symbol.dispose]();
  }
}

/** Plans backfills and queues them for the workers: `gmsi backfill <job>… --enqueue`. */
async function enqueueJobs(
  session: Session,
  names: readonly string[],
  { fullRefresh = false, retryRefused = false, ...options }: BackfillOptions,
): Promise<number> {
  const named = await namedJobs(session, names, options);
  serviceAccess(session);
  await using warehouse = await openWarehouse(session);
  const { patient: db } = warehouse;
  await using process = await keepThisProcess(session, db, 'backfill');
  const enqueued = await forEachJob(named, (job) =>
    enqueue(session, { warehouse: db, process }, job, { fullRefresh, retryRefused }),
  );
  const workers = await workersByJob(db, session.config.leaseSeconds);
  const queued = enqueued.map((one) => ({ ...one, workers: workers.get(one.job) ?? 0 }));
  if (session.json) printJson(snakeCased({ jobs: queued }));
  else print(describe(queued));
  return reportBroken(named.broken);
}

async function enqueue(
  session: Session,
  { warehouse: db, process }: Pick<LoadContext, 'warehouse' | 'process'>,
  job: Job,
  plan: PlanOptions,
) {
  const { log, clock, stop } = session;
  const { name, definition } = job;

  // Only `gmsi work` may start a schedule; one that is running changes with the definition.
  const schedule = (await isScheduled(db, name)) ? scheduleIn(job) : undefined;
  await registerJob(db, { job: name, definition, schedule }, { at: await databaseTime(db), by: runBy });
  await using service = await openService(session, db, job.service, requestLimit('backfill', job.budget));
  const context = { job, warehouse: db, ...service, log, clock, process, stop };
  const { resolved, open } = await planBackfill({ ...context, plan });
  if (open > 0) await markDue(db, { job: name, command: 'backfill' }, await databaseTime(db));
  const inHand = await jobInHand(db, name, process.leaseSeconds);
  const isPaused = inHand.some(
    ({ command, paused_because }) => command === 'backfill' && paused_because === 'operator',
  );
  return { job: name, windows: open, isPaused, historyLimit: resolved.historyLimit ?? null };
}

function describe(
  enqueued: readonly (Awaited<ReturnType<typeof enqueue>> & { readonly workers: number })[],
): string {
  const queued = tableOf(enqueued, {
    job: 'job',
    state: ({ windows, isPaused }) =>
      windows === 0 ? 'nothing to do' : isPaused ? 'queued, but paused by an operator' : 'queued',
    'windows to drain': 'windows',
    workers: ({ workers }) =>
      workers === 0 ? 'no worker runs it' : count(workers, 'worker runs it', 'workers run it'),
  });
  const paused = enqueued.filter(({ windows, isPaused }) => windows > 0 && isPaused);
  const isIdle = enqueued.some(({ windows, workers }) => windows > 0 && workers === 0);
  const next = isIdle
    ? 'A worker runs the jobs of its folder, or those that it names; without job files, every stored job. ' +
      `Start one with ${asTyped('work')}.`
    : `Watch the jobs: ${asTyped('serve')}`;
  const limits = enqueued.flatMap(({ job, historyLimit }) => {
    const limit = describeHistoryLimit(historyLimit ?? undefined);
    return limit ? [`${job}: history limit ${limit}\n`] : [];
  });
  const toResume =
    paused.length === 0
      ? ''
      : `To run them: ${asTyped(`job resume ${paused.map(({ job }) => typed(job)).join(' ')}`)}\n`;
  return `${queued}\n\n${limits.join('')}${toResume}${next}\n`;
}
