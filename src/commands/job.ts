import { Argument } from '@commander-js/extra-typings';
import { openWarehouse } from '../compose.ts';
import { jobFilesIn, jobNameOf } from '../config/find-job-file.ts';
import { typed } from '../config/typed.ts';
import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { oneName } from '../one-name.ts';
import { printResult, snakeCased } from '../terminal/print.ts';
import { asTyped } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { databaseTime } from '../warehouse/health.ts';
import {
  type JobInHand,
  jobInHand,
  knownJobs,
  pauseJob,
  resumeJob,
  stopJob,
} from '../warehouse/tables/schedules.ts';
import { type Command, examples, gmsiCommand } from './command.ts';

const actions = ['pause', 'resume', 'stop'] as const;

const define = (job: Command) =>
  job
    .addArgument(
      new Argument('<action>', 'pause it until you resume it, or stop only what runs or waits now').choices(
        actions,
      ),
    )
    .argument('<job...>', 'name of a job; its file may be gone')
    .addHelpText(
      'after',
      examples('gmsi job pause g7-inflation', 'gmsi job resume g7-inflation', 'gmsi job stop g7-inflation'),
    );

/**
 * `gmsi job pause|resume|stop <job>…`: says what workers are to do with jobs, without their files. A load that a person started
 * goes on. Sends no request.
 */
export const job = gmsiCommand({ define }, async (session, action, names) => {
  await using warehouse = await openWarehouse(session);
  const { patient: db } = warehouse;
  const known = await knownJobs(db);
  const jobs = [...new Set(await Promise.all(names.map((name) => namedIn(known, name))))];
  const changes: Change[] = [];
  for (const one of jobs) {
    // Read first, so that what is said stays right if the reply to the change is lost and the change is made again.
    const before = await jobInHand(db, one, session.config.leaseSeconds);
    await change(db, action, one);
    changes.push(changeOf(one, before));
  }
  printResult(session, snakeCased({ action, jobs: changes }), () => describe(action, changes));
  return undefined;
});

type Action = (typeof actions)[number];

async function change(db: Warehouse, action: Action, one: string): Promise<void> {
  if (action === 'resume') return resumeJob(db, one);
  const at = await databaseTime(db);
  return action === 'pause' ? pauseJob(db, one, at) : stopJob(db, one, at);
}

/**
 * Returns a job by its name, or the path of its file.
 * @throws ConfigError if no worker knows it
 */
async function namedIn(known: readonly string[], given: string): Promise<string> {
  const names = [oneName(given), jobNameOf(given)];
  const found = names.find((name) => known.includes(name));
  if (found !== undefined) return found;
  const files = (await jobFilesIn('jobs', process.cwd())).map(jobNameOf);
  const ofFile = names.find((name) => files.includes(name));
  if (ofFile !== undefined)
    throw new ConfigError(`No worker knows the job ${ofFile}, so none runs it.`, {
      hint: `gmsi work stores the jobs that it has files for. To queue this one: gmsi backfill ${typed(ofFile)} --enqueue`,
    });
  throw new ConfigError(`There is no job ${given}.`, {
    hint: known.length > 0 ? knownNames(given, known) : 'No worker has stored a job yet: gmsi work does.',
  });
}

interface Change {
  readonly job: string;
  readonly wasPaused: boolean;
  /** The commands that a worker was running, that waited for one, and that waited after failures or for the budget. */
  readonly loading: readonly string[];
  readonly queued: readonly string[];
  readonly waiting: readonly string[];
  readonly isScheduled: boolean;
}

function changeOf(name: string, before: readonly JobInHand[]): Change {
  const commandsOf = (some: (one: JobInHand) => boolean) => before.filter(some).map(({ command }) => command);
  return {
    job: name,
    wasPaused: before.some(({ paused_because }) => paused_because === 'operator'),
    loading: commandsOf(({ is_loading }) => is_loading),
    queued: commandsOf(({ is_loading, due_at }) => due_at !== null && !is_loading),
    waiting: commandsOf(
      ({ due_at, paused_because }) =>
        due_at === null && (paused_because === 'failures' || paused_because === 'budget'),
    ),
    isScheduled: before.some(({ cron }) => cron !== null),
  };
}

function describe(action: Action, changes: readonly Change[]): string {
  const lines = changes.map((of) => `${of.job}: ${saysOf[action](of)}`);
  const words = changes.map((of) => typed(of.job)).join(' ');
  const next = action === 'pause' ? `\nTo continue: ${asTyped(`job resume ${words}`)}\n` : '';
  return `${lines.join('\n')}\n${next}`;
}

const saysOf: Readonly<Record<Action, (of: Change) => string>> = {
  pause({ wasPaused, loading, queued, waiting }) {
    const kept = [...queued, ...waiting];
    return [
      wasPaused ? 'was paused already.' : 'paused.',
      loading.length > 0 && `${theirs(loading)} after the requests in flight, and will continue.`,
      kept.length > 0 && `Queued until it is resumed: ${kept.join(', ')}.`,
    ]
      .filter(Boolean)
      .join(' ');
  },
  resume({ wasPaused, loading, queued, isScheduled }) {
    if (!wasPaused) return 'was not paused.';
    const due = [...loading, ...queued];
    return [
      'resumed.',
      due.length > 0 && `Continues now: ${due.join(', ')}.`,
      isScheduled && 'Its schedule goes on.',
    ]
      .filter(Boolean)
      .join(' ');
  },
  stop({ wasPaused, loading, queued, waiting, isScheduled }) {
    const cancelled = [...queued, ...waiting];
    return [
      loading.length + cancelled.length > 0 ? 'stopped.' : 'nothing was running or queued.',
      loading.length > 0 && `${theirs(loading)} after the requests in flight.`,
      cancelled.length > 0 && `Cancelled: ${cancelled.join(', ')}.`,
      wasPaused ? 'It is still paused.' : isScheduled && 'Its schedule goes on.',
    ]
      .filter(Boolean)
      .join(' ');
  },
};

function theirs(commands: readonly string[]): string {
  return commands.length === 1 ? `Its ${commands[0]} ends` : `Its ${commands.join(' and ')} end`;
}
