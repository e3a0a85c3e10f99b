import type { Temporal } from 'temporal-polyfill';
import { findJobFile, jobFilesIn, jobNameOf, readJobFileAgain } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { parseJob } from '../config/read-job.ts';
import { ConfigError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { databaseTime } from '../warehouse/health.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import { raiseAlert, resolveAlert } from '../warehouse/tables/alerts.ts';
import { forgetJob, registerJob, scheduleIn } from '../warehouse/tables/schedules.ts';

/** The job files of a worker: those that it names, or those of the folder `jobs/`. */
export type JobFiles = Awaited<ReturnType<typeof openJobFiles>>;

interface File {
  /** The last version that could be read. */
  readonly good?: { readonly text: string; readonly job: Job };
  /** Why it cannot be read now. */
  readonly problem?: string;
}

/**
 * Reads a worker's job files for the first time.
 * @param names by name or path; those of `jobs/` if there are none
 * @param readEvery milliseconds between two readings; shorter in tests
 * @throws ConfigError if a file cannot be read
 */
export async function openJobFiles(
  names: readonly string[],
  given: {
    readonly cwd: string;
    readonly today: () => Temporal.PlainDate;
    /** Host, process and version, as stored with each job. */
    readonly by: string;
    readonly log: Log;
    readonly readEvery?: number;
  },
) {
  const { cwd, today, by, log, readEvery = 60_000 } = given;
  let files = new Map<string, File>();
  const found = await Promise.all(
    (names.length > 0 ? names : await jobFilesIn('jobs', cwd)).map((name) => findJobFile(name, cwd)),
  );
  for (const file of found) files.set(file.path, { good: { text: file.text, job: parseJob(file, today()) } });
  let hasFiles = files.size > 0;
  let readAt = performance.now();

  const jobsOf = (some: ReadonlyMap<string, File>) =>
    [...some.values()].flatMap(({ good }) => good?.job ?? []);
  const runningOf = (some: ReadonlyMap<string, File>) =>
    hasFiles ? jobsOf(some).map(({ name }) => name) : null;

  async function store(warehouse: Warehouse, file: Job): Promise<object> {
    const { name: job, definition } = file;
    const schedule = scheduleIn(file);
    await registerJob(warehouse, { job, definition, schedule }, { at: await databaseTime(warehouse), by });
    return { job, ...schedule };
  }

  async function readOne(path: string, warehouse: Warehouse, process: KeptProcess): Promise<void> {
    const known: File = files.get(path) ?? {};
    const name = jobNameOf(path);
    const read = await readGood(path, known, today(), cwd);
    if (read === 'gone') return remove(path, name, warehouse, process);
    const cause = { job: name, kind: 'job file' } as const;
    if ('problem' in read) {
      if (read.problem === known.problem) return;
      const goesOn = known.good ? 'its last readable version stays in use' : 'the job is not run';
      const message = `The file of job ${name} cannot be read, so ${goesOn}: ${read.problem}`;
      await raiseAlert(warehouse, cause, { message, details: {} });
      log.error({ job: name, why: read.problem }, `a job file cannot be read; ${goesOn}`);
      files.set(path, { ...known, problem: read.problem });
      return;
    }
    const isSame = read.text === known.good?.text;
    if (isSame && known.problem === undefined) return;
    const about = isSame ? { job: name } : await store(warehouse, read.job);
    if (known.problem !== undefined) await resolveAlert(warehouse, cause);
    await change(path, { good: read }, process);
    const what = isSame ? 'can be read again' : known.good ? 'has changed' : 'is new';
    log.info(about, `a job file ${what}`);
  }

  async function remove(path: string, name: string, warehouse: Warehouse, process: KeptProcess) {
    const { good } = files.get(path)!;
    // A job that this worker never had may be another one's.
    if (!good) await resolveAlert(warehouse, { job: name, kind: 'job file' });
    const isForgotten = await change(path, undefined, process, async () =>
      good ? forgetJob(warehouse, name, process) : true,
    );
    const goesOn = isForgotten ? 'the job no longer runs' : 'other workers that have the file go on';
    log.info({ job: name }, `a job file was removed; ${goesOn}`);
  }

  /** Says which jobs are run with a file or without it, then remembers it. If that fails, the next reading tries again. */
  async function change<Result>(
    path: string,
    file: File | undefined,
    process: KeptProcess,
    andThen?: () => Promise<Result>,
  ): Promise<Result | undefined> {
    const others = [...files].filter(([other]) => other !== path);
    const next = new Map(file ? [...files, [path, file]] : others);
    hasFiles ||= file !== undefined;
    await process.run(runningOf(next));
    const result = await andThen?.();
    files = next;
    return result;
  }

  return {
    /** The last version of each file that could be read, by job. */
    get jobs(): ReadonlyMap<string, Job> {
      return new Map(jobsOf(files).map((job) => [job.name, job]));
    },
    /** The jobs whose files cannot be read now. */
    get unreadable(): readonly string[] {
      return [...files].flatMap(([path, { problem }]) => (problem === undefined ? [] : jobNameOf(path)));
    },
    /** The jobs that the worker runs; `null` if it has never had a job file: every job that others have stored. */
    get running(): readonly string[] | null {
      return runningOf(files);
    },
    /** Returns true once a minute, and after `readSoon`. */
    isDue: (): boolean => performance.now() - readAt >= readEvery,
    /** Makes the next reading due. */
    readSoon(): void {
      readAt = Number.NEGATIVE_INFINITY;
    },
    /** Stores all jobs and their schedules, as when a worker starts. */
    async register(warehouse: Warehouse): Promise<void> {
      for (const { good, problem } of files.values()) {
        if (!good) continue;
        const about = await store(warehouse, good.job);
        // A worker that could not read the file may have ended since.
        if (problem === undefined) await resolveAlert(warehouse, { job: good.job.name, kind: 'job file' });
        if (good.job.schedule) log.info(about, 'scheduled');
      }
    },
    /**
     * Reads the files again. Stores jobs that are new or have changed, and removes those whose files are gone. A file that
     * cannot be read is an alert, and the job stays as it was.
     */
    async readAgain(warehouse: Warehouse, process: KeptProcess): Promise<void> {
      readAt = performance.now();
      const paths = names.length > 0 ? [] : await jobFilesIn('jobs', cwd);
      for (const path of new Set([...paths, ...files.keys()])) await readOne(path, warehouse, process);
    },
  };
}

/** Reads a file. @returns `gone` if it was removed, or why it cannot be read */
async function readGood(path: string, { good }: File, today: Temporal.PlainDate, cwd: string) {
  try {
    const file = await readJobFileAgain(path, cwd);
    if (!file) return 'gone';
    return file.text === good?.text ? good : { text: file.text, job: parseJob(file, today) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { problem: error.message };
  }
}
