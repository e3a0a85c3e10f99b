import { Option } from '@commander-js/extra-typings';
import { cureOfEmptied } from '../answer/cures.ts';
import { openWarehouse, type Session, today } from '../compose.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { partOf } from '../config/part-of-job.ts';
import { typedOptions } from '../config/typed.ts';
import { ConfigError } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { contradiction, type ReadingInForce, withLearnedReading } from '../load/resolve-load.ts';
import { firstUnsettledDay, plannedDays } from '../plan/days.ts';
import { forecast } from '../plan/forecast.ts';
import {
  forecastSchedule,
  requestsOfAll,
  requestsOfSyncs,
  type ScheduleForecast,
} from '../plan/forecast-schedule.ts';
import { listedPart, notListed } from '../plan/not-listed.ts';
import { lackingReserve } from '../plan/schedule-cost.ts';
import { missingLists, scopeOf, settlingPart } from '../plan/scope.ts';
import { type EmptiedDays, emptiedDays } from '../questions/emptied.ts';
import { countedAs, monthOf, startOfNextMonth } from '../service/budget.ts';
import { printResult, snakeCased } from '../terminal/print.ts';
import { showSteps } from '../terminal/progress.ts';
import {
  asTyped,
  count,
  daysFrom,
  duration,
  facts,
  minute,
  nextStep,
  number,
  sayingAsTyped,
  tableOf,
} from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { readLookups } from '../warehouse/tables/lookups.ts';
import { askedAgain } from '../warehouse/tables/refusals.ts';
import { usedRequests } from '../warehouse/tables/requests.ts';
import { seriesIn, type WindowScope } from '../warehouse/tables/series.ts';
import { type Command, examples, gmsiCommand, type OptionsOf, withJobs } from './command.ts';
import { describeHistoryLimit, describeSettling } from './load-summary.ts';
import { forEachJob, namedJobs, reportBroken } from './named-jobs.ts';
import { planOffline } from './plan-offline.ts';

const define = (plan: Command) =>
  withJobs(plan)
    .option('--full-refresh', 'plan all days, also covered ones')
    .option('--retry-refused', 'plan all windows that the service refused, too')
    .addOption(
      new Option(
        '--offline',
        'only check the job files (default: all in jobs/), without a warehouse or a key, such as in CI',
      ).conflicts(['all', 'from', 'to', 'country', 'topic', 'ticker', 'fullRefresh', 'retryRefused']),
    )
    .addHelpText('after', examples('gmsi plan g7-inflation', 'gmsi plan --offline'));

type PlanFlags = OptionsOf<typeof define>;

type PlannedJob = Awaited<ReturnType<typeof planJob>>;

/** `gmsi plan <job>…`: shows what a backfill would do and cost, or with `--offline` checks job files only; sends no request. */
export const plan = gmsiCommand({ define }, async (session, names, options) => {
  if (options.offline) return planOffline(session, names);
  const named = await namedJobs(session, names, options);
  const jobs = named.jobs.map((job) => partOf(job, options, today(session)));
  await using warehouse = await openWarehouse(session);
  using steps = showSteps(session.log, session.progress);
  const plans = await forEachJob({ ...named, jobs }, (job) => {
    const show = (step: string) => steps.show(() => `${job.name}: ${step}`);
    show('planning');
    return planJob(session, warehouse.patient, job, options, show);
  });
  steps[Symbol.dispose]();
  const document = snakeCased({ jobs: plans.map((one) => asJson(session, one)) });
  const text = () => plans.map((one) => describe(session, one)).join('\n\n');
  printResult(session, document, () => `${text()}\n${nextOf(session, plans, options)}`);
  return reportBroken(named.broken);
});

function nextOf(
  { config }: Session,
  plans: readonly PlannedJob[],
  { all: _, ...options }: PlanFlags,
): string {
  const [open] = plans.filter(({ forecast }) => forecast.leastRequests > 0);
  if (!open) return '';
  return nextStep(config.apiKey ? `backfill ${typedJob(open.job.path)}${typedOptions(options)}` : 'init');
}

async function planJob(
  session: Session,
  db: Warehouse,
  asked: Job,
  options: PlanFlags,
  show: (step: string) => void,
) {
  const { job, endDate } = await withLearnedReading(db, asked);
  const lookups = await readLookups(db);
  const missing = missingLists(feedNamed(job.feed), lookups);
  if (missing.length > 0) {
    throw new ConfigError(`The list of ${missing.join(' and ')} is not loaded yet.`, {
      hint: 'Run gmsi lookups first (5 requests).',
    });
  }
  const { days, historyLimit } = plannedDays(job, today(session));
  if (!days) {
    throw new ConfigError(
      `${job.name} requests nothing: history limit ${describeHistoryLimit(historyLimit)}.`,
      {
        hint: 'If the service does have these days, set history_limit in the job file, which takes precedence.',
      },
    );
  }
  const whole = scopeOf(job, days, lookups);
  const scope = listedPart(whole);
  const flags = { fullRefresh: options.fullRefresh ?? false, retryRefused: options.retryRefused ?? false };
  const { apiKey } = session.config;
  const used = apiKey ? await usedRequests(db, countedAs(apiKey), monthOf(session.clock())) : null;
  const firstUnsettled = firstUnsettledDay(today(session), job.lookbackDays).toString();
  show(`computing what the schedule costs, ${count(seriesIn(scope), 'series', 'series')}`);
  const schedule = await forecastSchedule(db, job, scope, { now: session.clock(), firstUnsettled });
  show(`counting days and windows, ${count(seriesIn(scope), 'series', 'series')}`);
  return {
    job,
    endDate,
    scope,
    historyLimit,
    notListed: (await notListed(db, whole))?.message ?? null,
    forecast: await forecast(db, job, scope, flags, today(session).toString()),
    schedule,
    used,
    emptied: await emptiedDays(db, feedNamed(job.feed).table, scope),
    // Only days that are loaded again can have retractions.
    retractions: flags.fullRefresh
      ? 'windows that would lose too many rows fail, unless you add --accept-retractions'
      : undefined,
  };
}

function outlook(session: Session, { job, forecast: { leastRequests, expectedRequests }, used }: PlannedJob) {
  const requests = expectedRequests ?? leastRequests;
  const limit = job.budget.requestsPerMonth - job.budget.reserve;
  const left = Math.max(0, limit - (used ?? 0));
  const atRate = (many: number) => many / job.service.rate;
  const monthsToWait = requests <= left ? 0 : Math.ceil((requests - left) / limit);
  let end = session.clock();
  for (let month = 0; month < monthsToWait; month++) end = startOfNextMonth(end);
  const inLastMonth = monthsToWait === 0 ? requests : requests - left - (monthsToWait - 1) * limit;
  return {
    limit,
    left,
    seconds: atRate(requests),
    monthsToWait,
    end: new Date(end.getTime() + atRate(inLastMonth) * 1000),
  };
}

function describe(session: Session, planned: PlannedJob): string {
  const { job, scope, forecast: f, schedule, used } = planned;
  const { limit, left, seconds, monthsToWait, end } = outlook(session, planned);
  const nothing = f.leastRequests === 0;
  const resumed = f.openWindows.pending + f.openWindows.draining + f.openWindows.failed;
  const atRest = Number.isFinite(job.service.rate)
    ? `at ${number(job.service.rate)} requests a second`
    : 'as fast as the service answers';
  return `${facts([
    ['job', `${job.name} (${job.path})`],
    ['series', describeSeries(scope)],
    ['period', daysFrom(scope.from, scope.to)],
    ['history limit', describeHistoryLimit(planned.historyLimit)],
    ['not listed', planned.notListed ?? undefined],
    [
      'covered',
      f.wanted === 0 ? undefined : `${number(f.covered)} of ${number(f.wanted)} days, over all series`,
    ],
    ['recent days', describeSettling(settlingPart(scope, job, today(session)))],
    [
      'windows',
      nothing
        ? 'none: everything is covered'
        : `${number(f.newWindows)} new${resumed > 0 ? `, ${number(resumed)} left by earlier runs` : ''}`,
    ],
    [
      'refused',
      f.openWindows.refused > 0
        ? `${count(f.openWindows.refused, 'window')}, refused by the service or older than those; ` +
          `a load requests at most ${askedAgain} again (all with --retry-refused)`
        : undefined,
    ],
    ['rows gone', planned.emptied && describeEmptied(planned.emptied, job)],
    ['retractions', planned.retractions],
    ['end_date', describeReading(planned.endDate)],
    [
      'requests',
      nothing
        ? 'none'
        : `at least ${number(f.leastRequests)}` +
          (f.expectedRequests === null ? '' : `, about ${number(f.expectedRequests)} expected`),
    ],
    [
      'budget',
      used === null
        ? `${number(limit)} a month; without a key, the requests used are unknown`
        : `${number(left)} of ${number(limit)} requests left this month`,
    ],
    ['time', nothing ? undefined : `${duration(Math.max(1, seconds))} ${atRest}`],
    [
      'finishes',
      nothing
        ? undefined
        : monthsToWait > 0
          ? `about ${end.toISOString().slice(0, 10)}: the budget spreads it over ${count(monthsToWait + 1, 'month')}`
          : `about ${minute(end)} UTC if started now`,
    ],
  ])}${schedule ? `\n\n${describeSchedule(job, schedule)}` : ''}`;
}

function describeEmptied(range: EmptiedDays, { path, part }: Job): string {
  const again = sayingAsTyped(cureOfEmptied(range, typedJob(path), part).command);
  return `${daysFrom(range.from, range.to)} had rows, and has none left. To load them again: ${again}`;
}

function asJson(session: Session, planned: PlannedJob): object {
  const { job, scope, forecast, schedule, used } = planned;
  const { limit, left, seconds, end } = outlook(session, planned);
  return {
    job: job.name,
    path: job.path,
    feed: job.feed,
    series: seriesIn(scope),
    // In a scope, a dimension that the feed lacks is one empty text.
    selection: {
      countries: scope.countries.filter(Boolean),
      topics: scope.topics.filter(Boolean),
      tickers: scope.tickers.filter(Boolean),
      matchType: scope.matchType,
      variants: scope.variants.filter(Boolean),
    },
    period: { from: scope.from, to: scope.to },
    historyLimit: planned.historyLimit ?? null,
    notListed: planned.notListed,
    endDate: planned.endDate,
    emptied: planned.emptied ?? null,
    ...forecast,
    budget: { limit, used, left },
    schedule: schedule ?? null,
    secondsAtRateLimit: seconds,
    wouldEnd: end.toISOString(),
  };
}

function describeReading(endDate: ReadingInForce): string {
  if (endDate.contradicted !== null) return contradiction(endDate);
  if (endDate.by === 'nobody')
    return `unknown, so each window requests one extra day; to find out: ${asTyped('doctor --probe')}`;
  const said = endDate.by === 'probe' ? 'as a probe has learned' : 'as the job says';
  const effect = endDate.reading === 'ignored' ? ': each series is one window up to today' : '';
  return `${endDate.reading}, ${said}${effect}`;
}

/** Returns `6 countries × 4 topics × 2 variants, COMBINED`, for example. */
function describeSeries({ countries, topics, tickers, matchType, variants }: WindowScope): string {
  const crossed = [
    ...(countries[0] === '' ? [] : [count(countries.length, 'country', 'countries')]),
    ...(topics[0] === '' ? [] : [count(topics.length, 'topic')]),
    ...(tickers[0] === '' ? [] : [count(tickers.length, 'ticker')]),
    ...(variants.length === 1 ? [] : [count(variants.length, 'variant')]),
  ];
  const only = variants.length === 1 ? variants[0]! : '';
  return [crossed.join(' × ') || 'one', matchType, only].filter(Boolean).join(', ');
}

/** Compares the cost of a job's schedule with its budget, and lists what would cost less. */
export function describeSchedule(job: Job, schedule: ScheduleForecast): string {
  const { budget } = job;
  const { days, syncs, backfills, syncRequests, backfillRequests, choices } = schedule;
  const { refreshes, refreshRequests } = schedule;
  const spentBySyncs = requestsOfSyncs(job, schedule);
  const total = requestsOfAll(job, schedule);
  const saved = syncRequests - spentBySyncs;
  const lacking = lackingReserve(budget, { syncRequests: spentBySyncs, backfills });
  const spaced = saved > 0 ? `, ${number(saved)} of them saved by the cadence` : '';
  const lines = facts([
    [
      'schedule',
      count(syncs, 'sync', 'syncs') +
        (refreshes > 0 ? `, ${count(refreshes, 'refresh', 'refreshes')}` : '') +
        ` and ${count(backfills, 'backfill')} in ${days} days`,
    ],
    ['syncs cost', syncs > 0 ? `at least ${number(syncRequests)} requests${spaced}` : undefined],
    ['backfills', backfills > 0 ? `${number(backfillRequests)} to load recent days again` : undefined],
    [
      'refreshes',
      refreshes > 0
        ? `about ${number(refreshRequests)} to load again what was loaded longest ago (${budget.refreshPercent}% of the budget)`
        : undefined,
    ],
    ['in total', againstBudget(total, budget.requestsPerMonth, days)],
    [
      'reserve',
      lacking &&
        `${number(budget.reserve)}. Backfills could use up the budget that syncs need; set budget.reserve to ${number(lacking)}.`,
    ],
  ]);
  if (choices.length === 0) return lines;
  const cheaper = tableOf(choices, { 'to save requests': 'change', requests: 'requests', saves: 'saves' });
  return `${lines}\n\n${cheaper}`;
}

function againstBudget(requests: number, perMonth: number, days: number): string {
  const share = `${number(Math.round((1000 * requests) / perMonth) / 10)}% of ${number(perMonth)} a month`;
  const lasts = Math.floor((days * perMonth) / requests);
  return `${number(requests)}, ${share}${requests > perMonth ? `: enough for ${count(lasts, 'day')}` : ''}`;
}
