import { openWarehouse, readJobs, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { listsFor, scopeOf, withLearnedReading } from '../load/resolve-load.ts';
import { plannedDays, type ShortenedPeriod, wantedDays } from '../plan/days.ts';
import { print, printJson } from '../terminal/print.ts';
import { count, facts, nextStep, number, table } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type CadenceReport, reportCadence } from '../warehouse/tables/cadence.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { askedAgain, countRefused } from '../warehouse/tables/refusals.ts';
import { seriesIn, type WindowScope } from '../warehouse/tables/series.ts';
import {
  coverageByFeed,
  coverageOf,
  gapsOf,
  lastLoads,
  type SharedGap,
  troubles,
  usageByMonth,
  windowCounts,
} from '../warehouse/tables/status.ts';
import { countByState, type WindowsByState } from '../warehouse/tables/windows.ts';
import { describeHistoryLimit } from './load-summary.ts';
import { describeCadence } from './plan.ts';
import { watchStatus } from './watch-status.ts';

const shown = { gaps: 8, troubles: 8, loads: 5, months: 3 };

interface JobStatus {
  readonly job: string;
  readonly series: number;
  readonly period: { readonly from: string; readonly to: string };
  readonly historyLimit: ShortenedPeriod | null;
  readonly covered: number;
  readonly wanted: number;
  readonly windows: WindowsByState;
  /** Of the refused ones, those that were asked for, and those that were skipped because of them. */
  readonly refused: { readonly asked: number; readonly skipped: number };
  /** What leaving out quiet series has saved and cost so far. */
  readonly cadence: CadenceReport;
  readonly gaps: readonly SharedGap[];
}

/** `gmsi status [<job>…]`: what is loaded, what is missing, and why; sends no request. */
export async function statusCommand(
  session: Session,
  names: string[],
  { watch = false }: { readonly watch?: boolean } = {},
): Promise<number> {
  if (watch) return watchStatus(session, names);
  const jobs = await readJobs(session, names);
  await using warehouse = await openWarehouse(session);
  const { db } = warehouse;
  // Only about the named jobs; what all jobs share is shown if none is named.
  const isOfAll = jobs.length === 0;
  const reports = await Promise.all(jobs.map((job) => statusOf(session, db, job)));
  const scopes = reports.flatMap(({ scope }) => (scope ? [scope] : []));
  const status = {
    warehouse: warehouse.description,
    jobs: reports.map(({ scope: _, ...report }) => report),
    ...(isOfAll && { coverage: await coverageByFeed(db), windows: await windowCounts(db) }),
    troubles: await troubles(db, isOfAll ? undefined : scopes, shown.troubles),
    loads: await lastLoads(db, isOfAll ? undefined : jobs.map(({ name }) => name), shown.loads),
    usage: await usageByMonth(db, shown.months),
  };
  if (session.json) printJson(status);
  else print(`${describe(status)}${nextOf(jobs, reports)}`);
  return 0;
}

/** Suggests a backfill of the first job that is not covered; if no job was named, the list of jobs. */
function nextOf(jobs: readonly Job[], reports: readonly Awaited<ReturnType<typeof statusOf>>[]): string {
  if (jobs.length === 0) return nextStep('jobs');
  const open = reports.findIndex((one) => one.series === null || one.covered < one.wanted);
  return nextStep(`${open < 0 ? 'check' : 'plan'} ${typedJob(jobs[Math.max(open, 0)]!.path)}`);
}

async function statusOf(
  session: Session,
  db: Warehouse,
  job: Job,
): Promise<(JobStatus | { job: string; series: null }) & { scope?: WindowScope }> {
  const lookups = await readLookups(db);
  const lists = listsFor(feedNamed(job.feed));
  if (lists.some((list) => lookups.refreshedAt[list] === null)) return { job: job.name, series: null };
  const { job: inForce } = await withLearnedReading(db, job);
  const { days = wantedDays(job, today(session))!, historyLimit } = plannedDays(inForce, today(session));
  const scope = scopeOf(job, days, lookups);
  return {
    job: job.name,
    series: seriesIn(scope),
    period: { from: scope.from, to: scope.to },
    historyLimit: historyLimit ?? null,
    ...(await coverageOf(db, scope)),
    windows: await countByState(db, scope),
    refused: await countRefused(db, scope),
    cadence: await reportCadence(db, scope),
    gaps: await gapsOf(db, scope, shown.gaps),
    scope,
  };
}

function describe(status: {
  warehouse: string;
  jobs: readonly (JobStatus | { job: string; series: null })[];
  coverage?: Awaited<ReturnType<typeof coverageByFeed>>;
  windows?: Awaited<ReturnType<typeof windowCounts>>;
  troubles: Awaited<ReturnType<typeof troubles>>;
  loads: Awaited<ReturnType<typeof lastLoads>>;
  usage: Awaited<ReturnType<typeof usageByMonth>>;
}): string {
  const sections = [
    `Warehouse: ${status.warehouse}`,
    ...status.jobs.map(describeJob),
    status.coverage &&
      section(
        'Coverage',
        ['feed', 'match type', 'series', 'days', 'oldest', 'newest'],
        status.coverage.map((row) => [
          row.feed,
          row.match_type,
          row.series,
          row.days,
          row.oldest,
          row.newest,
        ]),
        'nothing is covered yet',
      ),
    status.windows &&
      section(
        'Windows',
        ['feed', 'state', 'windows', 'half drained'],
        status.windows.map((row) => [row.feed, row.state, row.windows, row.half_drained || null]),
        'none planned yet',
      ),
    status.troubles.length === 0
      ? ''
      : section(
          'Failed or refused',
          [
            'window',
            'feed',
            'country',
            'topic',
            'ticker',
            'match type',
            'variant',
            'from',
            'to',
            'state',
            'why',
          ],
          status.troubles.map((row) => [
            ...[
              String(row.window_id),
              row.feed,
              row.country,
              row.topic,
              row.ticker,
              row.match_type,
              row.variant,
            ],
            row.first_day,
            row.last_day,
            row.state,
            row.last_error,
          ]),
          '',
        ),
    section(
      'Last loads',
      ['load', 'job', 'began (UTC)', 'outcome', 'windows', 'requests', 'records', 'new', 'changed'],
      status.loads.map((row) => [
        String(row.load_id),
        row.job,
        minute(row.started_at),
        row.outcome ?? (Date.now() - row.heartbeat_at.getTime() < 60_000 ? 'running' : 'killed'),
        row.windows_drained,
        row.requests,
        row.records,
        row.rows_inserted,
        row.rows_changed,
      ]),
      'none yet',
    ),
    section(
      'Requests booked',
      ['month', 'key', 'requests'],
      status.usage.map((row) => [row.month.slice(0, 7), row.key_fingerprint, row.requests]),
      'none yet',
    ),
  ];
  return `${sections.filter((text) => text).join('\n\n')}\n`;
}

function describeJob(status: JobStatus | { job: string; series: null }): string {
  if (status.series === null)
    return `Job ${status.job}: nothing is known of what it selects from yet; gmsi lookups or the first run fetches them.`;
  const { covered, wanted, windows } = status;
  const share = covered === wanted ? 'all' : `${((100 * covered) / wanted).toFixed(1)}%`;
  const states = Object.entries(windows)
    .filter(([, many]) => many > 0)
    .map(([state, many]) => `${number(many)} ${state}`);
  const lines = [
    `Job ${status.job}`,
    facts([
      ['series', status.series],
      ['period', `${status.period.from} to ${status.period.to}`],
      ['history limit', describeHistoryLimit(status.historyLimit ?? undefined)],
      ['covered', `${number(covered)} of ${number(wanted)} days (${share})`],
      ['windows', states.join(', ') || 'none'],
      ['refused', describeRefused(status)],
      ['cadence', describeCadence(status.cadence)],
    ]),
  ];
  if (status.gaps.length > 0) {
    lines.push(
      '',
      table(
        ['not covered from', 'to', 'series', 'for instance'],
        status.gaps.map((gap) => [gap.from, gap.to, gap.series, gap.example]),
      ),
    );
    if (status.gaps.length === shown.gaps)
      lines.push(`(the ${count(shown.gaps, 'range')} that most series miss)`);
  }
  return lines.join('\n');
}

function describeRefused({ job, refused: { asked, skipped } }: JobStatus): string | undefined {
  if (asked + skipped === 0) return undefined;
  const why = skipped === 0 ? '' : `, ${number(skipped)} older ones not asked for because of them`;
  return `${number(asked)} by the service${why}; each run asks again for ${askedAgain} at the most, gmsi backfill ${job} --retry-refused for all`;
}

function section(
  title: string,
  head: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
  empty: string,
): string {
  return rows.length === 0 ? `${title}: ${empty}` : `${title}\n${table(head, rows)}`;
}

function minute(instant: Date): string {
  return instant.toISOString().slice(0, 16).replace('T', ' ');
}
