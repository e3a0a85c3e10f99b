import { Cron } from 'croner';
import { openWarehouse, type Session, today } from '../compose.ts';
import { allJobFiles } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { readJob } from '../config/read-job.ts';
import { exitCodes } from '../exit.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { missingLists, scopeOf } from '../load/resolve-load.ts';
import { plannedDays } from '../plan/days.ts';
import { print, printJson } from '../terminal/print.ts';
import { count, nextStep, table } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { seriesIn } from '../warehouse/tables/series.ts';
import { coverageOf } from '../warehouse/tables/status.ts';

type ListedJob = Awaited<ReturnType<typeof listOne>>;

/** `gmsi jobs`: lists the job files, how far each is loaded, and when it runs next; sends no request. */
export async function jobsCommand(session: Session): Promise<number> {
  const { folder, paths, areExamples } = await allJobFiles(process.cwd());
  const read = await Promise.allSettled(paths.map((path) => readJob(path, today(session))));
  const broken = read.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []));
  const jobs = read.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const listed = jobs.length > 0 ? await listAll(session, jobs) : [];
  if (session.json) {
    printJson({ folder, jobs: listed, broken: broken.map(({ message }) => message) });
  } else {
    const origin = areExamples
      ? 'There is no folder jobs/ here; these examples come with the program.\n\n'
      : '';
    const none = paths.length === 0 ? `No job files in ${folder}.\n` : '';
    const problems = broken.map(({ message }) => `\n${message}\n`).join('');
    print(
      `${origin}${none}${describe(listed, session.clock())}${problems}${suggestion(areExamples ? [] : listed)}`,
    );
  }
  return broken.length > 0 ? exitCodes.doNotRetry : exitCodes.done;
}

async function listAll(session: Session, jobs: readonly Job[]): Promise<ListedJob[]> {
  await using warehouse = await openWarehouse(session);
  const lookups = await readLookups(warehouse.db);
  const listed: ListedJob[] = [];
  for (const job of jobs) listed.push(await listOne(session, warehouse.db, lookups, job));
  return listed;
}

async function listOne(session: Session, db: Warehouse, lookups: StoredLookups, job: Job) {
  const { days } = plannedDays(job, today(session));
  const isKnown = missingLists(feedNamed(job.feed), lookups).length === 0;
  const scope = days && isKnown ? scopeOf(job, days, lookups) : undefined;
  const coverage = scope && (await coverageOf(db, scope));
  return {
    ...{ job: job.name, feed: job.feed, from: job.startDate.toString(), to: job.endDate.toString() },
    // `null` if the service's lists were never fetched.
    series: scope ? seriesIn(scope) : null,
    ...{ covered: coverage?.covered ?? null, wanted: coverage?.wanted ?? null },
    nextRun: nextRunOf(job, session.clock()),
  };
}

/** The next run of its schedule, for `gmsi work`; `null` if it has none. */
function nextRunOf({ schedule }: Job, now: Date) {
  if (!schedule) return null;
  const runs = (['sync', 'backfill'] as const).flatMap((command) => {
    const expression = schedule[command];
    if (expression === undefined) return [];
    const at = new Cron(expression, { timezone: schedule.timezone, mode: '5-part' }).nextRun(now);
    return at ? [{ command, at }] : [];
  });
  return runs.toSorted((a, b) => a.at.getTime() - b.at.getTime())[0] ?? null;
}

function describe(jobs: readonly ListedJob[], now: Date): string {
  if (jobs.length === 0) return '';
  const rows = jobs.map(({ job, feed, from, to, series, nextRun, ...coverage }) => [
    ...[job, feed, from, to, series ?? '', share(coverage)],
    nextRun ? `${nextRun.command} ${moment(nextRun.at, now)}` : '',
  ]);
  const unknown = jobs.filter(({ series }) => series === null).length;
  const note = unknown
    ? `\n${count(unknown, 'job')} without numbers: gmsi lookups fetches the lists that name their series.\n`
    : '';
  return `${table(['job', 'feed', 'from', 'to', 'series', 'covered', 'next run (UTC)'], rows)}\n${note}`;
}

function share({ covered, wanted }: Pick<ListedJob, 'covered' | 'wanted'>): string {
  if (covered === null || wanted === null) return '';
  // 100% only if it is complete.
  return covered === wanted ? '100%' : `${(Math.floor((covered / wanted) * 1000) / 10).toFixed(1)}%`;
}

/** The time alone if it is today. */
function moment(at: Date, now: Date): string {
  const [day, time] = [at.toISOString().slice(0, 10), at.toISOString().slice(11, 16)];
  return day === now.toISOString().slice(0, 10) ? time : `${day} ${time}`;
}

function suggestion(jobs: readonly ListedJob[]): string {
  const open = jobs.find(({ covered, wanted }) => covered === null || covered !== wanted);
  return jobs.length === 0 ? nextStep('init') : nextStep(`plan ${(open ?? jobs[0]!).job}`);
}
