import { openWarehouse, readJobs, refuseNoWarehouse, type Session, today } from '../../compose.ts';
import { typedJob } from '../../config/find-job-file.ts';
import type { Job } from '../../config/job.ts';
import { feedNamed } from '../../feeds/catalog.ts';
import { withLearnedReading } from '../../load/resolve-load.ts';
import { firstUnsettledDay, plannedDays, wantedDays } from '../../plan/days.ts';
import { missingLists, scopeOf } from '../../plan/scope.ts';
import { print, printJson } from '../../terminal/print.ts';
import { type Cell, count, facts, minute, nextStep, number, share, table } from '../../terminal/table.ts';
import { oneLine } from '../../terminal/text.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import {
  coverageByFeed,
  coverageOf,
  coveredStretches,
  type FeedCoverage,
  failuresOf,
  gapsOf,
  loadsOfJobs,
  usageByMonth,
  type WindowCount,
  type WindowFailure,
  windowCounts,
} from '../../warehouse/questions/status.ts';
import { reportCadence } from '../../warehouse/tables/cadence.ts';
import { readLookups } from '../../warehouse/tables/lookups.ts';
import { askedAgain, countRefused } from '../../warehouse/tables/refusals.ts';
import { seriesIn } from '../../warehouse/tables/series.ts';
import { countByState } from '../../warehouse/tables/windows.ts';
import { describeHistoryLimit } from '../load-summary.ts';
import { describeCadence } from '../plan.ts';
import { budgetsOf, describeBudget, drawnFeeds, drawnJob, ownJobs, stripsOfJob } from './strips.ts';
import { watchStatus } from './watch-status.ts';

const shown = { gaps: 8, troubles: 8, loads: 5, months: 3 };

/** `gmsi status [<job>…]`: shows what is loaded, what is missing, and why; sends no request. */
export async function statusCommand(
  session: Session,
  names: string[],
  { watch = false }: { readonly watch?: boolean } = {},
): Promise<number> {
  if (watch) return watchStatus(session, names);
  const jobs = await readJobs(session, names);
  refuseNoWarehouse(session);
  await using warehouse = await openWarehouse(session);
  const { db } = warehouse;
  // Only about the named jobs; what all jobs share is shown if none is named.
  const isOfAll = jobs.length === 0;
  const reports = await Promise.all(jobs.map((job) => statusOf(session, db, job)));
  const scopes = reports.flatMap(({ scope }) => scope ?? []);
  const status = {
    warehouse: warehouse.description,
    jobs: reports.map(({ scope: _, strips: __, ...report }) => report),
    ...(isOfAll && { coverage: await coverageByFeed(db), windows: await windowCounts(db) }),
    troubles: await failuresOf(db, isOfAll ? undefined : scopes, shown.troubles),
    loads: await loadsOfJobs(db, isOfAll ? undefined : jobs.map(({ name }) => name), shown.loads),
    usage: await usageByMonth(db, shown.months),
    budgets: await budgetsOf(session, db, isOfAll ? await ownJobs(session) : jobs),
  };
  if (session.json) {
    printJson(status);
    return 0;
  }
  const { coverage, windows, loads, usage, budgets } = status;
  const stretches = coverage ? await coveredStretches(db) : [];
  const sections = [
    `Warehouse: ${status.warehouse}`,
    ...reports.map(describeJob),
    coverage && section('Coverage', 'nothing is covered yet', coverage, coverageColumns),
    coverage && coverage.length > 0 && drawnFeeds(coverage, stretches),
    windows && section('Windows', 'none planned yet', windows, windowColumns),
    status.troubles.length > 0 && describeTroubles(status.troubles),
    section('Last loads', 'none yet', loads, loadColumns),
    section('Requests booked', 'none yet', usage, usageColumns),
    ...budgets.map(describeBudget),
  ];
  print(`${sections.filter((text) => text).join('\n\n')}\n${nextOf(jobs, reports)}`);
  return 0;
}

/** Suggests to load failed windows, to plan missing days, or else a check; if no job was named, the list of jobs. */
function nextOf(jobs: readonly Job[], reports: readonly JobStatus[]): string {
  if (jobs.length === 0) return nextStep('jobs');
  const failed = reports.findIndex((one) => one.series !== null && one.windows.failed > 0);
  if (failed >= 0) return nextStep(`backfill ${typedJob(jobs[failed]!.path)}`);
  const open = reports.findIndex((one) => one.series === null || one.covered < one.wanted);
  return nextStep(`${open < 0 ? 'check' : 'plan'} ${typedJob(jobs[Math.max(open, 0)]!.path)}`);
}

type JobStatus = Awaited<ReturnType<typeof statusOf>>;

async function statusOf(session: Session, db: Warehouse, job: Job) {
  const lookups = await readLookups(db);
  if (missingLists(feedNamed(job.feed), lookups).length > 0)
    return { job: job.name, series: null, strips: undefined, scope: undefined };
  const { job: inForce } = await withLearnedReading(db, job);
  const { days = wantedDays(job, today(session))!, historyLimit } = plannedDays(inForce, today(session));
  const scope = scopeOf(inForce, days, lookups);
  const firstUnsettled = firstUnsettledDay(today(session), job.lookbackDays);
  const lastSettled = firstUnsettled.subtract({ days: 1 }).toString();
  const settled = scope.from <= lastSettled && { ...scope, to: earlier(scope.to, lastSettled) };
  return {
    job: job.name,
    series: seriesIn(scope),
    period: { from: scope.from, to: scope.to },
    historyLimit: historyLimit ?? null,
    ...(settled ? await coverageOf(db, settled) : { covered: 0, wanted: 0 }),
    /** Days that may still change, and so do not count as covered. */
    settling:
      scope.to > lastSettled ? { from: later(scope.from, firstUnsettled.toString()), to: scope.to } : null,
    windows: await countByState(db, scope),
    refused: await countRefused(db, scope),
    cadence: await reportCadence(db, scope),
    gaps: settled ? await gapsOf(db, settled, shown.gaps) : [],
    strips: session.json ? undefined : await stripsOfJob(db, scope),
    scope,
  };
}

const earlier = (a: string, b: string) => (a < b ? a : b);
const later = (a: string, b: string) => (a > b ? a : b);

/** A property of each row, or what a function makes of it, by the heads of the columns. */
type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => Cell)>>;

const coverageColumns: Columns<FeedCoverage> = {
  feed: 'feed',
  'match type': 'match_type',
  series: 'series',
  days: 'days',
  oldest: 'oldest',
  newest: 'newest',
};
const windowColumns: Columns<WindowCount> = {
  feed: 'feed',
  state: 'state',
  windows: 'windows',
  'half drained': ({ half_drained }) => half_drained || null,
};
const troubleColumns: Columns<WindowFailure> = {
  window: ({ window_id }) => String(window_id),
  feed: 'feed',
  country: 'country',
  topic: 'topic',
  ticker: 'ticker',
  'match type': 'match_type',
  variant: 'variant',
  from: 'first_day',
  to: 'last_day',
  state: 'state',
};
const loadColumns: Columns<Awaited<ReturnType<typeof loadsOfJobs>>[number]> = {
  load: ({ load_id }) => String(load_id),
  job: 'job',
  'began (UTC)': ({ started_at }) => minute(started_at),
  outcome: ({ outcome, heartbeat_at }) =>
    outcome ?? (Date.now() - heartbeat_at.getTime() < 60_000 ? 'running' : 'killed'),
  windows: 'windows_drained',
  requests: 'requests',
  records: 'records',
  new: 'rows_inserted',
  changed: 'rows_changed',
  retracted: 'rows_retracted',
};
const usageColumns: Columns<Awaited<ReturnType<typeof usageByMonth>>[number]> = {
  month: ({ month }) => month.slice(0, 7),
  key: 'key_fingerprint',
  requests: 'requests',
};

/** The columns that a narrow terminal does without, the least important first. */
const least = ['match type', 'variant', 'requests', 'windows', 'changed', 'records', 'began (UTC)', 'feed'];

function section<Row>(title: string, empty: string, rows: readonly Row[], columns: Columns<Row>): string {
  if (rows.length === 0) return `${title}: ${empty}`;
  const cells = rows.map((row) =>
    Object.values(columns).map((cell) => (typeof cell === 'function' ? cell(row) : (row[cell] as Cell))),
  );
  return `${title}\n${table(Object.keys(columns), cells, { least })}`;
}

/** The reasons stand below the table, each once, because they are long and windows often share one. */
function describeTroubles(troubles: readonly WindowFailure[]): string {
  const reasons = [...new Set(troubles.flatMap(({ last_error }) => last_error ?? []))].map((reason) => {
    const ids = troubles.filter((one) => one.last_error === reason).map(({ window_id }) => window_id);
    return `window${ids.length === 1 ? '' : 's'} ${ids.join(', ')}: ${oneLine(reason)}`;
  });
  return [section('Failed or refused', '', troubles, troubleColumns), ...reasons].join('\n');
}

function describeJob(status: JobStatus): string {
  if (status.series === null)
    return `Job ${status.job}: its series are not known yet. Run gmsi lookups, or the job.`;
  const { covered, wanted, settling, windows } = status;
  const states = Object.entries(windows)
    .filter(([, many]) => many > 0)
    .map(([state, many]) => `${number(many)} ${state}`);
  const lines = [
    `Job ${status.job}`,
    facts([
      ['series', status.series],
      ['period', `${status.period.from} to ${status.period.to}`],
      ['history limit', describeHistoryLimit(status.historyLimit ?? undefined)],
      [
        'covered',
        wanted === 0
          ? undefined
          : `${number(covered)} of ${number(wanted)} days (${covered === wanted ? 'all' : share(covered, wanted)})`,
      ],
      [
        'recent days',
        settling && `${settling.from} to ${settling.to} may still change; each sync loads them again`,
      ],
      ['windows', states.join(', ') || 'none'],
      ['refused', describeRefused(status)],
      ['cadence', describeCadence(status.cadence)],
    ]),
  ];
  if (status.strips) lines.push('', drawnJob(status.strips, status.period));
  if (status.gaps.length > 0) {
    lines.push(
      '',
      table(
        ['missing from', 'to', 'series', 'example'],
        status.gaps.map((gap) => [gap.from, gap.to, gap.series, gap.example]),
      ),
    );
    if (status.gaps.length === shown.gaps)
      lines.push(`(the ${count(shown.gaps, 'range')} that most series miss)`);
  }
  return lines.join('\n');
}

function describeRefused({ job, refused: { asked, skipped } }: JobStatus & { series: number }) {
  if (asked + skipped === 0) return undefined;
  const why = skipped === 0 ? '' : `, ${number(skipped)} older ones skipped because of these`;
  return `${number(asked)} by the service${why}; each run requests at most ${askedAgain} again, gmsi backfill ${job} --retry-refused all`;
}
