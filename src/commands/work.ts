import {
  openService,
  openWarehouse,
  runBy,
  type Session,
  serviceAccess,
  today,
  usualConnections,
} from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import { jobFromDefinition } from '../config/read-job.ts';
import { ConfigError } from '../errors.ts';
import { exitCodes, StoppedBySignal } from '../exit.ts';
import { tryWebhooks } from '../observe/alerts.ts';
import { startTelemetry } from '../observe/start-telemetry.ts';
import { version } from '../package.ts';
import { withStoredJobs } from '../plan/list-jobs.ts';
import { countedAs, monthOf, requestLimit } from '../service/budget.ts';
import { wholeNumber } from '../terminal/arguments.ts';
import { isAtTerminal, printResult } from '../terminal/print.ts';
import { tableOf } from '../terminal/table.ts';
import { databaseTime } from '../warehouse/health.ts';
import { usedRequests } from '../warehouse/tables/requests.ts';
import { type JobFiles, openJobFiles } from '../worker/job-files.ts';
import { runWorker } from '../worker/run-worker.ts';
import { aJob, type Command, examples, gmsiCommand } from './command.ts';

const define = (work: Command) =>
  work
    .argument(
      '[job...]',
      `${aJob} (default: all in jobs/; without job files, all that other workers have stored)`,
    )
    .option(
      '--concurrency <number>',
      'backfills to run at a time, and syncs',
      wholeNumber({ from: 1, to: 20 }),
      4,
    )
    .option('--test-alert', 'only post a test message to GMSI_ALERT_WEBHOOK_URL and the webhooks of the jobs')
    .addHelpText(
      'after',
      examples('gmsi work', 'gmsi work g7-inflation --concurrency 4', 'gmsi work --test-alert'),
    );

/** `gmsi work [<job>…]`: runs scheduled and queued work until it is stopped. */
export const work = gmsiCommand(
  { define, schemaUse: 'upgrades' },
  async (session, names, { concurrency, testAlert }) => {
    const { log, clock, stop, config } = session;
    const own = { cwd: process.cwd(), today: () => today(session), by: runBy, log };
    const jobFiles = await openJobFiles(names, own);
    if (testAlert) return tryAlerts(session, jobFiles);
    const { apiKey } = serviceAccess(session);
    if (names.length > 0) refuseUnscheduled(jobFiles);
    if (!isAtTerminal()) process.on('SIGHUP', jobFiles.readSoon);
    // Each sync that runs uses a connection.
    await using warehouse = await openWarehouse(session, 'current', usualConnections + concurrency);
    const { db } = warehouse;
    // Of its own and every stored job: one that no worker runs may be late, too. Only jobs whose files are here have webhooks,
    // which the warehouse does not store.
    await using telemetry = await startTelemetry({
      ...session,
      warehouse: db,
      runBy,
      jobs: () => withStoredJobs(db, [...jobFiles.jobs.values()], today(session)),
      unreadable: () => jobFiles.unreadable,
    });
    const watched = { ...session, onClientEvent: telemetry.onClientEvent };
    await runWorker({
      warehouse: db,
      ...{ log, clock, stop, jobFiles },
      databaseClock: () => databaseTime(db),
      leaseSeconds: config.leaseSeconds,
      storage: config.storage,
      identity: { command: 'work', run_by: runBy, version, concurrency },
      openService: (job, command) => {
        const ofJob = { ...watched, log: log.child({ job: job.name }) };
        return openService(ofJob, db, job.service, requestLimit(command, job.budget));
      },
      readDefinition: (job, definition) => jobFromDefinition(job, definition, today(session)),
      usedRequests: () => usedRequests(db, countedAs(apiKey), monthOf(clock())),
    });
    const { reason } = stop;
    return reason instanceof StoppedBySignal && reason.signal === 'SIGTERM'
      ? exitCodes.done
      : exitCodes.interrupted;
  },
);

/** Posts test messages. @returns the code of a failure if a webhook did not accept one */
async function tryAlerts(session: Session, { jobs }: JobFiles): Promise<number> {
  const { config, clock, stop: signal } = session;
  const webhooks = await tryWebhooks([...jobs.values()], { config, clock, signal });
  if (webhooks.length === 0) {
    throw new ConfigError('No webhook is set.', {
      hint: 'Set GMSI_ALERT_WEBHOOK_URL, or alerts.webhook_url in a job file.',
    });
  }
  printResult(session, { webhooks }, () =>
    tableOf(webhooks, { webhook: 'setting', 'test message': ({ why }) => why ?? 'accepted' }),
  );
  return webhooks.some(({ why }) => why !== null) ? exitCodes.incomplete : exitCodes.done;
}

/** A named job without a schedule is more likely a mistake than a job to wait for. */
function refuseUnscheduled({ jobs }: JobFiles): void {
  const unscheduled = [...jobs.values()].find(({ schedule }) => !schedule);
  if (unscheduled) {
    throw new ConfigError(`${unscheduled.path} has no schedule.`, {
      hint: `Add one, or queue the job once: gmsi backfill ${typedJob(unscheduled.path)} --enqueue`,
    });
  }
}
