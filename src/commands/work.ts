import { jobFacts, openService, openWarehouse, runBy, type Session, serviceAccess } from '../compose.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes } from '../exit.ts';
import { StoppedBySignal } from '../interrupt.ts';
import { jobFromDefinition } from '../job/definition.ts';
import { jobFilesIn } from '../job/find-job-file.ts';
import { version } from '../package.ts';
import { keyFingerprint, monthOf, requestLimit } from '../pipeline/request-budget.ts';
import { openPool, type Warehouse } from '../warehouse/connect.ts';
import { usedRequests } from '../warehouse/queries/api-usage.ts';
import { registerJob, unscheduleJob } from '../warehouse/queries/schedules.ts';
import { createWorkerEvents } from '../worker/events.ts';
import { type ReadJob, readWithDefinition } from './read-with-definition.ts';
import { watchWork } from './watch-work.ts';

/** The queue's own connections: one hears of new tasks, the others fetch them. */
const queueConnections = 3;

/** `gmsi work [<job>…]`: runs scheduled and queued work until told to stop. */
export async function workCommand(
  session: Session,
  names: string[],
  options: { readonly concurrency: string; readonly metricsPort?: string },
): Promise<number> {
  const { apiKey } = serviceAccess(session);
  const concurrency = readConcurrency(options.concurrency);
  const jobs = await readJobFiles(session, names);
  await using warehouse = await openWarehouse(session);
  const { db } = warehouse;
  for (const job of jobs) await register(session, db, job);
  // Only here, because it looks around for files of its own as soon as it is loaded.
  const { runWorker } = await import('../worker/run-worker.ts');
  const events = createWorkerEvents((error) => session.log.warn({ err: error }, 'an observer failed'));
  const ownJobs = jobs.map(({ parsed }) => parsed);
  await using telemetry = await watchWork(session, db, { ownJobs, events, metricsPort: options.metricsPort });
  const watched = { ...session, onClientEvent: telemetry.onClientEvent };
  const pool = openPool(warehouse.address, queueConnections);
  try {
    await runWorker({
      ...{ warehouse: db, pool, log: session.log, clock: session.clock, runBy, stop: session.stop },
      leaseSeconds: session.config.leaseSeconds,
      identity: { run_by: runBy, version, key_fingerprint: keyFingerprint(apiKey), concurrency },
      events,
      openService: (job, command) => openService(watched, db, job.service, requestLimit(command, job.budget)),
      readDefinition: (job, definition) => jobFromDefinition(job, definition, jobFacts(session)),
      usedRequests: () => usedRequests(db, keyFingerprint(apiKey), monthOf(session.clock())),
    });
  } finally {
    await pool.end();
  }
  const { reason } = session.stop;
  return reason instanceof StoppedBySignal && reason.signal === 'SIGTERM'
    ? exitCodes.done
    : exitCodes.interrupted;
}

function readConcurrency(text: string): number {
  const many = Number(text);
  if (Number.isInteger(many) && many >= 1 && many <= 100) return many;
  throw new ConfigError(`--concurrency is "${text}".`, { hint: 'It must be a whole number from 1 to 100.' });
}

/** The jobs named, which must have a schedule, or all in `jobs/`. */
async function readJobFiles(session: Session, names: readonly string[]): Promise<ReadJob[]> {
  const paths = names.length > 0 ? names : await jobFilesIn('jobs', process.cwd());
  const jobs = await Promise.all(paths.map((path) => readWithDefinition(session, path)));
  const unscheduled = jobs.find(({ parsed }) => !parsed.schedule);
  if (names.length > 0 && unscheduled) {
    throw new ConfigError(`${unscheduled.parsed.path} has no schedule.`, {
      hint: `Give it one, or hand it to the workers once: gmsi backfill ${unscheduled.job} --enqueue`,
    });
  }
  return jobs;
}

async function register(
  session: Session,
  db: Warehouse,
  { job, definition, parsed }: ReadJob,
): Promise<void> {
  if (!parsed.schedule) return unscheduleJob(db, job);
  const { sync = null, backfill = null, timezone } = parsed.schedule;
  const schedule = { sync, backfill, timezone };
  await registerJob(db, { job, definition, schedule }, { at: session.clock(), by: runBy });
  session.log.info({ job, ...schedule }, 'scheduled');
}
