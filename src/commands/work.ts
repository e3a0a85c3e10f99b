import {
  openService,
  openWarehouse,
  readJobs,
  runBy,
  type Session,
  serviceAccess,
  today,
  usualConnections,
} from '../compose.ts';
import { jobFilesIn, typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { jobFromDefinition } from '../config/read-job.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes, StoppedBySignal } from '../exit.ts';
import { startTelemetry, type Telemetry } from '../observe/start-telemetry.ts';
import { version } from '../package.ts';
import { countedAs, monthOf, requestLimit } from '../service/budget.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { databaseTime } from '../warehouse/health.ts';
import { usedRequests } from '../warehouse/tables/requests.ts';
import { registerJob, storedJobs, unscheduleJob } from '../warehouse/tables/schedules.ts';
import { runWorker } from '../worker/run-worker.ts';

/** `gmsi work [<job>…]`: runs scheduled and queued work until it is stopped. */
export async function workCommand(
  session: Session,
  names: string[],
  options: { readonly concurrency: number },
): Promise<number> {
  const { apiKey } = serviceAccess(session);
  const jobs = await readJobFiles(session, names);
  // Each sync that runs holds a connection.
  await using warehouse = await openWarehouse(session, 'migrate', usualConnections + options.concurrency);
  const { db } = warehouse;
  const registerJobs = async (to: Warehouse) => {
    for (const job of jobs) await register(session, to, job);
  };
  await registerJobs(db);
  await using telemetry = await watchWork(session, db, jobs);
  const watched = { ...session, onClientEvent: telemetry.onClientEvent };
  await runWorker({
    warehouse: db,
    log: session.log,
    clock: session.clock,
    databaseClock: () => databaseTime(db),
    stop: session.stop,
    leaseSeconds: session.config.leaseSeconds,
    registerJobs,
    ownJobs: new Map(jobs.map((job) => [job.name, job])),
    storage: session.config.storage,
    identity: {
      command: 'work',
      run_by: runBy,
      version,
      concurrency: options.concurrency,
    },
    openService: (job, command) => openService(watched, db, job.service, requestLimit(command, job.budget)),
    readDefinition: (job, definition) => jobFromDefinition(job, definition, today(session)),
    usedRequests: () => usedRequests(db, countedAs(apiKey), monthOf(session.clock())),
  });
  const { reason } = session.stop;
  return reason instanceof StoppedBySignal && reason.signal === 'SIGTERM'
    ? exitCodes.done
    : exitCodes.interrupted;
}

/** Returns the named jobs, which must have a schedule, or all in `jobs/`. */
async function readJobFiles(session: Session, names: readonly string[]): Promise<Job[]> {
  const paths = names.length > 0 ? names : await jobFilesIn('jobs', process.cwd());
  const jobs = await readJobs(session, paths);
  const unscheduled = jobs.find(({ schedule }) => !schedule);
  if (names.length > 0 && unscheduled) {
    throw new ConfigError(`${unscheduled.path} has no schedule.`, {
      hint: `Add one, or queue the job once: gmsi backfill ${typedJob(unscheduled.path)} --enqueue`,
    });
  }
  return jobs;
}

async function register(
  session: Session,
  db: Warehouse,
  { name: job, definition, schedule: due }: Job,
): Promise<void> {
  if (!due) return unscheduleJob(db, job);
  const { sync = null, backfill = null, refresh = null, timezone } = due;
  const schedule = { sync, backfill, refresh, timezone };
  await registerJob(db, { job, definition, schedule }, { at: await databaseTime(db), by: runBy });
  session.log.info({ job, ...schedule }, 'scheduled');
}

/**
 * Starts a worker's metrics, health checks and alerts for every stored job. Only jobs whose files are here have webhooks, which
 * the warehouse does not store.
 */
async function watchWork(
  session: Session,
  warehouse: Warehouse,
  ownJobs: readonly Job[],
): Promise<Telemetry> {
  const { config, log, clock, stop } = session;
  const own = new Map(ownJobs.map((job) => [job.name, job]));

  async function jobs(): Promise<Job[]> {
    const stored = await storedJobs(warehouse);
    return stored.flatMap(({ job, definition }) => own.get(job) ?? fromDefinition(job, definition) ?? []);
  }

  function fromDefinition(job: string, definition: Readonly<Record<string, unknown>>): Job | undefined {
    try {
      return jobFromDefinition(job, definition, today(session));
    } catch (error) {
      // Another version of the program has stored this job and watches it.
      if (error instanceof ConfigError) return undefined;
      throw error;
    }
  }

  return startTelemetry({ config, warehouse, log, clock, jobs, stop });
}
