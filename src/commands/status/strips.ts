import { type Session, today } from '../../compose.ts';
import type { Job } from '../../config/job.ts';
import { dayRange, daysIn } from '../../plan/days.ts';
import { readAllJobs } from '../../plan/list-jobs.ts';
import { keyFingerprint, monthOf } from '../../rate/budget.ts';
import { output } from '../../terminal/print.ts';
import { budgetBar, coverageStrip } from '../../terminal/strip.ts';
import { count, fittingParts, number, share, shortenedName } from '../../terminal/table.ts';
import { columnsOf, padEnd, padStart } from '../../terminal/text.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import {
  type CoveredStretch,
  coveredStretches,
  type FeedCoverage,
  type SeriesColumn,
} from '../../warehouse/questions/status.ts';
import { usedRequests } from '../../warehouse/tables/requests.ts';
import { seriesIn, type WindowScope } from '../../warehouse/tables/series.ts';

/** Covered days as a strip: of a job, a part of it, or a feed. */
interface Strip {
  readonly name: string;
  readonly series: number;
  readonly stretches: readonly CoveredStretch[];
}

/** The columns that may tell a job's series apart, the most telling first. */
const dimensions = [
  ['country', 'countries'],
  ['ticker', 'tickers'],
  ['topic', 'topics'],
  ['variant', 'variants'],
] as const satisfies readonly (readonly [SeriesColumn, keyof WindowScope])[];

/** How many parts of a job have a strip of their own. */
const atMost = 8;

/**
 * A strip of all series, and below it those of the countries, tickers or topics that are not covered, the emptiest first. If
 * nothing is covered, all are alike.
 */
export async function stripsOfJob(db: Warehouse, scope: WindowScope) {
  const [by, list] = dimensions.find(([, list]) => scope[list].length > 1) ?? dimensions[0];
  const stretches = await coveredStretches(db, { scope, by });
  const all: Strip = { name: 'all', series: seriesIn(scope), stretches };
  const series = seriesIn(scope) / scope[list].length;
  const parts = scope[list].map((name) => ({
    name,
    series,
    stretches: stretches.filter((one) => one.name === name),
  }));
  if (parts.length === 1 || stretches.length === 0) return { strips: [all], left: 0 };
  const open = parts.filter((part) => coveredIn(part) < wantedIn(part, scope));
  const emptiest = open.toSorted((a, b) => coveredIn(a) - coveredIn(b));
  return {
    strips: [all, ...emptiest.slice(0, atMost)],
    left: Math.max(0, open.length - atMost),
  };
}

type Period = Pick<WindowScope, 'from' | 'to'>;

function daysOf({ from, to }: Period): number {
  return daysIn(dayRange(from, to));
}

/** Days of all its series together. */
function coveredIn({ stretches }: Strip): number {
  return stretches.reduce((sum, stretch) => sum + daysOf(stretch) * stretch.series, 0);
}

function wantedIn({ series }: Strip, period: Period): number {
  return series * daysOf(period);
}

/** The strips of a job. */
export function drawnJob({ strips, left }: Awaited<ReturnType<typeof stripsOfJob>>, period: Period): string {
  const more = left === 0 ? '' : `\n(and ${count(left, 'more', 'more')} not complete)`;
  return `${drawn(strips, period)}${more}`;
}

/** Strips below each other as wide as the terminal, with the first and the last day above them. */
function drawn(strips: readonly Strip[], period: Period): string {
  const names = strips.map(({ name }) => shortenedName(name, output.columns));
  const label = Math.max(...names.map(columnsOf));
  const room = Math.max(21, output.columns - label - 2 - 8);
  const lines = strips.map((strip, at) => {
    const cells = coverageStrip(strip.stretches, period, strip.series, room);
    return `${padEnd(names[at]!, label)}  ${cells}  ${padStart(share(coveredIn(strip), wantedIn(strip, period)), 6)}`;
  });
  const width = Math.min(room, daysOf(period));
  const ends = width < 21 ? period.from : `${period.from}${padStart(period.to, width - period.from.length)}`;
  return [`${padEnd('', label)}  ${ends}`, ...lines].join('\n');
}

/** The strips of all feeds over the period of them all. */
export function drawnFeeds(feeds: readonly FeedCoverage[], stretches: readonly CoveredStretch[]): string {
  const [from] = feeds.flatMap(({ oldest }) => oldest ?? []).toSorted();
  const to = feeds
    .flatMap(({ newest }) => newest ?? [])
    .toSorted()
    .at(-1);
  if (from === undefined || to === undefined) return '';
  const strips = feeds.map(({ feed, match_type, series }) => {
    const name = match_type === 'COMBINED' || match_type === '' ? feed : `${feed} ${match_type}`;
    return { name, series, stretches: stretches.filter((one) => one.name === name) };
  });
  return drawn(strips, { from, to });
}

/** The job files of the working directory that can be read; nobody runs the program's examples as they are. */
export async function ownJobs(session: Session): Promise<readonly Job[]> {
  const { areExamples, jobs } = await readAllJobs(process.cwd(), today(session));
  return areExamples ? [] : jobs;
}

/** The budgets of jobs and what is used of them this month; none without a key, because each has its own count. */
export async function budgetsOf({ config: { apiKey }, clock }: Session, db: Warehouse, jobs: readonly Job[]) {
  if (!apiKey) return [];
  const used = await usedRequests(db, keyFingerprint(apiKey), monthOf(clock()));
  const budgets = new Map(jobs.map(({ budget }) => [JSON.stringify(budget), budget]));
  return [...budgets.values()].map(({ requestsPerMonth: limit, reserve }) => {
    const isOf = ({ budget }: Job) => budget.requestsPerMonth === limit && budget.reserve === reserve;
    return {
      month: monthOf(clock()).slice(0, 7),
      jobs: jobs.filter(isOf).map(({ name }) => name),
      used,
      limit,
      reserve,
    };
  });
}

/** A bar, and its numbers. */
export function describeBudget({ jobs, ...budget }: Awaited<ReturnType<typeof budgetsOf>>[number]): string {
  const { month, used, limit, reserve } = budget;
  const whose = jobs.length > 3 ? count(jobs.length, 'job') : jobs.join(', ');
  const told = fittingParts(
    [
      [
        2,
        `${number(used)} of ${number(limit)} requests in ${month} (${share(Math.min(used, limit), limit)})`,
      ],
      [1, reserve > 0 ? `${number(reserve)} kept for syncs` : ''],
      [0, `budget of ${whose}`],
    ],
    output.columns,
    ', ',
  );
  return `${budgetBar(budget, Math.min(output.columns, columnsOf(told)))}\n${told}`;
}
