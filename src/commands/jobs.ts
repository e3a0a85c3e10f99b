import { openWarehouse, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { exitCodes } from '../exit.ts';
import { readAllJobs } from '../plan/list-jobs.ts';
import { print, printJson, snakeCased } from '../terminal/print.ts';
import { nextStep } from '../terminal/table.ts';
import { describeJobs, type JobOfFile, listJobs } from './jobs-table.ts';

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
    const described = listed.length > 0 ? `${describeJobs(listed)}\n` : '';
    print(`${origin}${none}${described}${problems}${suggestion(areExamples ? [] : listed, session)}`);
  }
  return broken.length > 0 ? exitCodes.doNotRetry : exitCodes.done;
}

/** Lists the jobs of files that can be read. */
async function listAll(
  session: Session,
  jobs: readonly Job[],
): Promise<Awaited<ReturnType<typeof listJobs>>> {
  if (jobs.length === 0) return { listed: [], unresolved: [] };
  await using warehouse = await openWarehouse(session);
  return await listJobs(session, warehouse.patient, jobs);
}

/** Suggests the job that needs the fewest requests, since some need more than a month has. */
function suggestion(jobs: readonly JobOfFile[], { config }: Session): string {
  if (jobs.length === 0 || !config.apiKey) return nextStep('init');
  if (jobs.some(({ series }) => series === null)) return nextStep('lookups');
  const missing = ({ covered, wanted }: JobOfFile) => (wanted ?? 0) - (covered ?? 0);
  const [least] = jobs.filter((job) => missing(job) > 0).toSorted((a, b) => missing(a) - missing(b));
  return nextStep(`plan ${typedJob((least ?? jobs[0]!).path)}`);
}
