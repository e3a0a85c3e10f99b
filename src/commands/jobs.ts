import { openWarehouse, type Session, today } from '../compose.ts';
import type { Job } from '../config/job.ts';
import { JobFileError } from '../config/problems.ts';
import { typed } from '../config/typed.ts';
import { exitCodes } from '../exit.ts';
import { type ListedJob, listJob, readAllJobs } from '../plan/list-jobs.ts';
import { print, printJson, snakeCased } from '../terminal/print.ts';
import { asTyped, type Cell, count, minute, nextStep, share, table } from '../terminal/table.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';

/** `gmsi jobs`: lists the job files, how far each is loaded, and when it runs next; sends no request. */
export async function jobsCommand(session: Session): Promise<number> {
  const { folder, areExamples, jobs, broken: unreadable } = await readAllJobs(process.cwd(), today(session));
  const { listed, unresolved } = await listAll(session, jobs);
  const broken = [...unreadable.map(({ error }) => error), ...unresolved];
  if (session.json) {
    printJson(snakeCased({ folder, jobs: listed, broken: broken.map(({ message }) => message) }));
  } else {
    const origin = areExamples
      ? 'There is no folder jobs/ here. These are the examples of the program.\n\n'
      : '';
    const none = jobs.length + broken.length === 0 ? `No job files in ${folder}.\n` : '';
    const problems = broken.map(({ message }) => `\n${message}\n`).join('');
    print(`${origin}${none}${describe(listed)}${problems}${suggestion(areExamples ? [] : listed, session)}`);
  }
  return broken.length > 0 ? exitCodes.doNotRetry : exitCodes.done;
}

/** Lists the jobs; those that name something that the service does not list are `unresolved`. */
async function listAll(session: Session, jobs: readonly Job[]) {
  const listed: ListedJob[] = [];
  const unresolved: JobFileError[] = [];
  if (jobs.length === 0) return { listed, unresolved };
  await using warehouse = await openWarehouse(session);
  const lookups = await readLookups(warehouse.patient);
  const when = { now: session.clock(), today: today(session) };
  for (const job of jobs) {
    try {
      listed.push(await listJob(warehouse.patient, lookups, job, when));
    } catch (error) {
      if (!(error instanceof JobFileError)) throw error;
      unresolved.push(error);
    }
  }
  return { listed, unresolved };
}

function describe(jobs: readonly ListedJob[]): string {
  if (jobs.length === 0) return '';
  const rows = jobs.map(({ job, feed, from, to, series, nextRun, covered, wanted }): Cell[] => [
    job,
    feed,
    from,
    to,
    series ?? '',
    covered === null || wanted === null
      ? ''
      : { text: share(covered, wanted), style: covered === wanted ? 'green' : 'yellow' },
    nextRun ? `${nextRun.command} ${minute(nextRun.at)}` : '',
  ]);
  const unknown = jobs.filter(({ series }) => series === null).length;
  const note = unknown
    ? `\n${count(unknown, 'job')} cannot be counted before ${asTyped('lookups')} has fetched the lists of the service.\n`
    : '';
  const head = ['job', 'feed', 'from', 'to', 'series', 'covered', 'next run (UTC)'];
  return `${table(head, rows, { least: ['feed', 'from', 'to', 'series'] })}\n${note}`;
}

/** Suggests the job that needs the fewest requests, since some need more than a month has. */
function suggestion(jobs: readonly ListedJob[], { config }: Session): string {
  if (jobs.length === 0 || !config.apiKey) return nextStep('init');
  if (jobs.some(({ series }) => series === null)) return nextStep('lookups');
  const missing = ({ covered, wanted }: ListedJob) => (wanted ?? 0) - (covered ?? 0);
  const [least] = jobs.filter((job) => missing(job) > 0).toSorted((a, b) => missing(a) - missing(b));
  return nextStep(`plan ${typed((least ?? jobs[0]!).job)}`);
}
