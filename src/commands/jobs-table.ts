import { type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import type { JobFileError } from '../config/problems.ts';
import { feedNamed } from '../feeds/catalog.ts';
import {
  type JobState,
  type ListedJob,
  listJob,
  standingsReader,
  stateOfJob,
} from '../observe/job-standing.ts';
import { type EmptiedDays, emptiedDays } from '../questions/emptied.ts';
import { recentLoads } from '../questions/runs.ts';
import { asTyped, type Columns, count, minute, number, share, tableOf } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { describeEmptied } from './load-summary.ts';

/** A job, its state, the path of its file, and the days whose rows are gone. */
export type JobOfFile = Omit<ListedJob, 'completeness'> & {
  readonly state: JobState;
  readonly why: string | null;
  /** True if its budget of the month is spent. */
  readonly isSpent: boolean;
  readonly path: string;
  readonly emptied: EmptiedDays | null;
};

/** Lists jobs; those that name something that the service does not list are `unresolved`. */
export async function listJobs(
  session: Session,
  db: Warehouse,
  jobs: readonly Job[],
  isSpent: (job: Job, isBehind: boolean) => boolean,
) {
  const listed: JobOfFile[] = [];
  const unresolved: JobFileError[] = [];
  const { clock, config } = session;
  // Nobody asks for budgets here, and they take a while.
  const about = { apiKey: undefined, clock, leaseSeconds: config.leaseSeconds };
  const readStandings = standingsReader(db, about);
  const loads = await recentLoads(db, config.leaseSeconds);
  for (const standing of await readStandings(jobs)) {
    if (standing.problem) {
      unresolved.push(standing.problem);
      continue;
    }
    const { completeness: _, ...one } = await listJob(db, standing, today(session));
    const { job, scope } = standing;
    const emptied = scope && (await emptiedDays(db, feedNamed(job.feed).table, scope));
    const now = {
      loads: loads.get(job.name),
      isSpent: isSpent(job, one.isComplete === false),
      isEmptied: emptied !== undefined,
    };
    listed.push({
      ...one,
      ...stateOfJob(standing, one, now),
      isSpent: now.isSpent,
      path: job.path,
      emptied: emptied ?? null,
    });
  }
  return { listed, unresolved };
}

const styles = { good: 'green', working: 'green', behind: 'yellow', failing: 'red', stopped: 'red' } as const;

/**
 * Describes jobs: how far each is loaded, who runs it and when; then what is missing or late, and the command that loads it.
 * @param stuck jobs with windows that need a person first
 */
export function describeJobs(jobs: readonly JobOfFile[], stuck: readonly string[]): string {
  const columns: Columns<JobOfFile> = {
    job: 'job',
    state: ({ state }) => ({ text: state, style: styles[state] }),
    why: 'why',
    feed: 'feed',
    from: 'from',
    to: 'to',
    'series complete': ({ series, complete }) =>
      series === null || complete === null ? '' : `${number(complete)} of ${number(series)}`,
    'days loaded': ({ covered, wanted, isComplete }) =>
      covered === null || wanted === null
        ? ''
        : { text: share(covered, wanted), style: isComplete ? 'green' : 'yellow' },
    'next run (UTC)': nextRunOf,
  };
  const shown = tableOf(jobs, columns, {
    least: ['feed', 'from', 'to', 'series complete', 'next run (UTC)'],
  });
  return [shown, ...notesOn(jobs, stuck)].join('\n\n');
}

/** Says when a job runs next, if it does. */
export function nextRunOf({ nextRun, otherVersionBy }: JobOfFile): string {
  if (!nextRun) return '';
  const when = `${nextRun.isDue ? 'since ' : ''}${minute(nextRun.at)}`;
  return `${nextRun.command} ${when}${otherVersionBy === null ? '' : ', by another version of the file'}`;
}

function notesOn(jobs: readonly JobOfFile[], stuck: readonly string[]): string[] {
  const note = (of: (job: JobOfFile) => boolean, say: (names: string, many: number) => string) => {
    const named = jobs.filter(of);
    return named.length > 0 ? [say(named.map(({ path }) => typedJob(path)).join(' '), named.length)] : [];
  };
  return [
    ...jobs.flatMap(({ late }) => late ?? []),
    ...jobs.flatMap(({ job, path, emptied }) =>
      emptied ? `Rows of ${job} are gone: ${describeEmptied(emptied, path)}` : [],
    ),
    ...jobs.flatMap(({ job, otherVersionBy }) =>
      otherVersionBy === null
        ? []
        : `Workers run another version of job ${job}, which ${otherVersionBy} has stored. ` +
          'The last worker to start, or to see its file change, wins.',
    ),
    ...note(
      ({ job, covered, wanted }) => (covered ?? 0) < (wanted ?? 0) && !stuck.includes(job),
      (names, many) =>
        `${count(many, 'job lacks', 'jobs lack')} days. To load them: ${asTyped(`backfill ${names}`)}`,
    ),
    ...note(
      ({ job, covered, wanted, isComplete }) =>
        isComplete === false && (covered ?? 0) === (wanted ?? 0) && !stuck.includes(job),
      (names, many) =>
        `${count(many, 'job has', 'jobs have')} windows that are not loaded. To load them: ${asTyped(`backfill ${names}`)}`,
    ),
    ...note(
      ({ isScheduled, workers }) => isScheduled && workers === 0,
      (names) =>
        `No worker runs ${names}, so nothing is loaded as scheduled. To start one: ${asTyped('work')}`,
    ),
    ...note(
      ({ series }) => series === null,
      (_, many) => `${count(many, 'job')} cannot be counted yet. Run ${asTyped('lookups')}.`,
    ),
  ];
}
