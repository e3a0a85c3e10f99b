import { z } from 'zod';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { dayAt } from '../plan/days.ts';
import { forecast } from '../plan/forecast.ts';
import { type BrokenJob, readAllJobs } from '../plan/list-jobs.ts';
import { listedPart } from '../plan/not-listed.ts';
import { wantedByJobs } from '../plan/wanted-days.ts';
import { type Failures, failuresOfOthers, unwantedWindows } from '../questions/coverage.ts';
import { type Question, timeText } from '../questions/reading.ts';
import { fieldChanges, lastChecks, openAlerts } from '../questions/runs.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { seriesIn } from '../warehouse/tables/series.ts';
import { type Cause, causesOf, type Known, ofBroken } from './causes.ts';
import { type JobStanding, standingsReader } from './standing.ts';

/**
 * - `good`: every day that no longer changes is loaded
 * - `working`: a load of it is running
 * - `behind`: a load cures what is missing
 * - `failing`: a person has to look
 * - `stopped`: nothing is loaded: no worker runs its schedule, nor did anything else load it of late, or the month's requests
 *   are spent; or somebody has paused it
 */
export const jobStates = ['good', 'working', 'behind', 'failing', 'stopped'] as const;
export type JobState = (typeof jobStates)[number];

const count = z.int().nullable();

/** A job: how it stands, how far it is loaded, who runs it and when, and its budget. */
export const jobRow = z.object({
  job: z.string(),
  path: z.string(),
  feed: z.string().nullable().describe('null if the file cannot be read.'),
  state: z.enum(jobStates),
  why: z.string().nullable().describe('Its worst cause in a few words.'),
  from: z.string().nullable(),
  to: z.string().nullable(),
  series: count.describe('null if the lists of the service were never fetched.'),
  complete: count.describe('Series that have all days that no longer change.'),
  is_complete: z
    .boolean()
    .nullable()
    .describe('True if each series has all these days, and no window is open, failed or refused.'),
  complete_to: z
    .string()
    .nullable()
    .describe('The last day up to which every series has all days; null if one lacks the first.'),
  recent: z
    .string()
    .nullable()
    .describe(
      'The last 90 days of its period, all series together, as lengths of equal states: covered 80, settling 3, partial 7. Partial: a series lacks it.',
    ),
  covered: count.describe('Days of all series together that no longer change; null if there are none yet.'),
  wanted: count,
  open: count.describe('Windows that are waiting or running.'),
  failed: count.describe('Windows.'),
  refused: count.describe('Windows.'),
  backfill_requests: count.describe(
    'About how many requests a backfill sends, all refused windows included; null if the job is complete, or nothing is known.',
  ),
  last_load_at: timeText.nullable().describe('null if it was never loaded.'),
  is_scheduled: z.boolean(),
  workers: z.int().describe('Living workers that run it.'),
  next_run: z
    .date()
    .nullable()
    .describe(
      'In the past if it is due or being loaded; null if no worker runs it, or nothing is to be run.',
    ),
  next_command: z.enum(['sync', 'backfill', 'refresh']).nullable(),
  other_version_by: z
    .string()
    .nullable()
    .describe('The process that has stored another version of the file, which workers run.'),
  requests_per_month: count,
  reserve: count,
  requests_used: count.describe('By all that use the key; null without a key.'),
  projected: count.describe("The least by the month's end."),
  spent_by: z.date().nullable().describe('null if the month ends before.'),
});
export type JobShown = z.output<typeof jobRow>;

/** The one answer: how each job stands, and all that is wrong, with what cures it. */
export interface Answer {
  readonly jobs: readonly JobShown[];
  readonly causes: readonly Cause[];
}

export interface AnswerContext {
  readonly broken?: readonly BrokenJob[];
  readonly typedAs: Known['typedAs'];
  /** Windows that failed or were refused of jobs that are not here, and windows that no job wants. */
  readonly others?: readonly Failures[];
  readonly unwanted?: readonly Failures[];
  /** What backfills cost, by job. */
  readonly requests?: ReadonlyMap<string, number>;
}

/**
 * Returns a function that says how the jobs of a folder stand, or only some jobs.
 * @param of without a key, no budgets are read
 */
export function answerReader(
  db: Warehouse,
  of: Parameters<typeof standingsReader>[1] & { readonly cwd: string },
): (named?: readonly Job[]) => Promise<Answer> {
  const { cwd, clock, leaseSeconds } = of;
  const readStandings = standingsReader(db, of);
  let slow: { readonly at: number; readonly of: string; readonly found: Required<Slow> } | undefined;

  /** What takes a while, from a minute ago at the earliest. */
  async function readSlow(
    standings: readonly JobStanding[],
    named?: readonly Job[],
  ): Promise<Required<Slow>> {
    const of = standings.map(({ job }) => job.name).join();
    if (slow?.of === of && performance.now() - slow.at < slowKeptFor) return slow.found;
    const known = await wantedByJobs(db, {
      cwd,
      leaseSeconds,
      today: dayAt(clock()),
      ...(named && { named }),
    });
    const wanted = 'wanted' in known ? known.wanted : undefined;
    const scopes = standings.flatMap(({ scope }) => scope ?? []);
    const others = named ? [] : await failuresOfOthers(db, scopes, wanted);
    const unwanted = named || !wanted ? [] : await unwantedWindows(db, wanted, leaseSeconds);
    const found = { others, unwanted, requests: await costs(db, standings, clock) };
    slow = { at: performance.now(), of, found };
    return found;
  }

  return async (named) => {
    const { jobs, broken } = named ? { jobs: named, broken: [] } : await readAllJobs(cwd, dayAt(clock()));
    const standings = await readStandings(jobs);
    const context = { ...(await readSlow(standings, named)), typedAs: ({ path }: Job) => typedJob(path) };
    const answer = await answerOn(db, standings, { ...context, broken });
    if (!named) return answer;
    const [names, feeds] = [named.map(({ name }) => name), named.map(({ feed }) => feed)];
    const isAsked = ({ job, feed }: Cause) => (job === null ? feeds.includes(feed!) : names.includes(job));
    return { ...answer, causes: answer.causes.filter(isAsked) };
  };
}

type Slow = Pick<AnswerContext, 'others' | 'unwanted' | 'requests'>;

/** In milliseconds. */
const slowKeptFor = 60_000;

/** Concludes how jobs stand. Everything that says how a job stands asks this. */
export async function answerOn(
  db: Warehouse,
  standings: readonly JobStanding[],
  { broken = [], typedAs, others = [], unwanted = [], requests = new Map() }: AnswerContext,
): Promise<Answer> {
  const rowsOf = async <Row>({ query }: Question<Row>) => (await query.execute(db)).rows;
  const emptied = await Promise.all(
    standings.map(async ({ job, findEmptied }) => [job.name, await findEmptied()] as const),
  );
  const known = {
    others,
    unwanted,
    emptied: new Map(emptied.flatMap(([name, days]) => (days ? [[name, days] as const] : []))),
    checks: await rowsOf(lastChecks),
    alerts: await rowsOf(openAlerts),
    fields: await rowsOf(fieldChanges),
    requests,
    typedAs,
  };
  const causes = causesOf(standings, broken, known);
  const shown = standings.map((standing) => shownJob(standing, causes, requests));
  return { jobs: [...broken.map(shownBroken), ...shown], causes };
}

/** Returns about how many requests a backfill of each job that is not complete sends. */
async function costs(
  db: Warehouse,
  standings: readonly JobStanding[],
  clock: () => Date,
): Promise<ReadonlyMap<string, number>> {
  const known = new Map<string, number>();
  const options = { fullRefresh: false, retryRefused: true };
  for (const { job, scope, completeness } of standings) {
    if (!scope || completeness?.is_complete !== false) continue;
    const { from, to } = completeness;
    const planned = await forecast(
      db,
      job,
      { ...listedPart(scope), from, to },
      options,
      dayAt(clock()).toString(),
    );
    known.set(job.name, planned.expectedRequests ?? planned.leastRequests);
  }
  return known;
}

/** The state that its causes make, the worst first. */
function stateOf(standing: JobStanding, causes: readonly Cause[]): Pick<JobShown, 'state' | 'why'> {
  const [worst] = causes.filter(({ job, severity }) => job === standing.job.name && severity !== 'note');
  const isRunning = standing.lastLoad?.is_running === true;
  if (isRunning && worst?.severity !== 'failing') return { state: 'working', why: null };
  if (!worst || worst.severity === 'note') return { state: 'good', why: null };
  return { state: worst.severity, why: worst.what };
}

const unknown = {
  ...(Object.fromEntries(Object.keys(jobRow.shape).map((column) => [column, null])) as {
    readonly [Column in keyof JobShown]: null;
  }),
  is_scheduled: false,
  workers: 0,
};

function shownBroken(broken: BrokenJob): JobShown {
  const { job, what } = ofBroken(broken);
  return { ...unknown, job: job!, path: broken.path, state: 'failing', why: what };
}

function shownJob(
  standing: JobStanding,
  causes: readonly Cause[],
  requests: ReadonlyMap<string, number>,
): JobShown {
  const { job, scope, completeness, lastLoad, work, budget } = standing;
  const { left_over: _, ...loaded } = completeness ?? {};
  // A period without a settled day has nothing that can be missing.
  const hasDays = completeness !== undefined && completeness.wanted > 0;
  return {
    ...unknown,
    ...loaded,
    recent: standing.recent,
    covered: hasDays ? completeness.covered : null,
    wanted: hasDays ? completeness.wanted : null,
    job: job.name,
    path: job.path,
    feed: job.feed,
    ...stateOf(standing, causes),
    from: job.startDate.toString(),
    to: job.endDate.toString(),
    series: scope ? seriesIn(scope) : null,
    backfill_requests: completeness?.is_complete === false ? (requests.get(job.name) ?? null) : null,
    last_load_at: lastLoad?.at ?? null,
    is_scheduled: work.isScheduled,
    workers: work.workers,
    next_run: work.nextRun?.at ?? null,
    next_command: work.nextRun?.command ?? null,
    other_version_by: work.otherVersionBy,
    requests_per_month: job.budget.requestsPerMonth,
    reserve: job.budget.reserve,
    requests_used: budget?.used ?? null,
    projected: budget?.projected ?? null,
    spent_by: budget?.spentBy ?? null,
  };
}

/** Returns true if only the spent budget keeps jobs from being good. */
export function isOnlyBudget({ jobs, causes }: Answer): boolean {
  const bad = jobs.filter(({ state }) => state !== 'good' && state !== 'working');
  const stopping = causes.filter(({ severity }) => severity === 'stopped');
  return bad.every(
    ({ job, state }) =>
      state === 'stopped' && stopping.every((one) => one.job !== job || one.code === 'budget spent'),
  );
}
