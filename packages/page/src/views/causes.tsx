import { cureOf } from '../loader.ts';
import { counted, number, share } from '../numbers.ts';
import { Flowing, Swatch } from '../parts.tsx';
import { daysOfFeeds, groupedBy, type Row } from '../rows.ts';
import { Table } from '../table.tsx';
import { moment } from '../time.ts';
import { Copied, costOf, free, quoted } from './commands.tsx';

/** Something that is wrong, and the command that cures it. */
export interface Cause {
  /** False if it only may become a failure. */
  readonly isFailure: boolean;
  readonly what: string;
  readonly why: string;
  /** Jobs, series and days that it is about. */
  readonly where?: readonly string[];
  /** What to do before the command. */
  readonly before?: string | undefined;
  readonly command?: string;
  readonly cost?: string;
}

/** Shows what is wrong: cause, count, and the command that cures it with its cost. */
export function Causes({ causes }: { causes: readonly Cause[] }) {
  if (causes.length === 0) return null;
  return (
    <Table
      label="What is wrong, and what to do about it"
      kind="causes"
      rows={causes}
      keyOf={({ what, why, where }) => `${what} ${why} ${where}`}
      columns={[
        {
          title: 'what is wrong',
          show: ({ isFailure, what }) => (
            <strong class={isFailure ? 'failed' : 'refused'}>
              <Swatch kind={isFailure ? 'failed' : 'refused'} />
              {what}
            </strong>
          ),
        },
        {
          title: 'why',
          show: ({ why, where = [] }) => (
            <div class="anywhere">
              {why}
              <div class="quiet">
                <Flowing text={where.join(' · ')} />
              </div>
            </div>
          ),
        },
        {
          title: 'what to do',
          show: ({ before, command, cost }) => (
            <>
              {before && <div>{before}, then:</div>}
              {command && <Copied text={command} cost={cost} />}
            </>
          ),
        },
      ]}
    />
  );
}

/** Returns all that is wrong: failures first, in the order in which they cost data. */
export function causesOf(known: Known): Cause[] {
  const causes = [
    ...keyRefused(known),
    ...lateJobs(known),
    ...noWorker(known),
    ...budgets(known),
    ...unreadableJobs(known),
    ...endedLoads(known),
    ...failedWindows(known),
    ...otherVersions(known),
    ...otherAlerts(known),
    ...notedChecks(known),
    ...changedFields(known),
  ];
  return causes.toSorted((a, b) => Number(b.isFailure) - Number(a.isFailure));
}

/** Lists names; counts those after the third. */
export function listed(names: readonly string[]): string {
  const shown = [...new Set(names)];
  return shown.length <= 4
    ? shown.join(', ')
    : `${shown.slice(0, 3).join(', ')} and ${number(shown.length - 3)} others`;
}

function groups<One>(rows: readonly One[], by: (row: One) => string) {
  return [...groupedBy(rows, by).values()];
}

const refusal = 'key refused';

function keyRefused({ alerts = [] }: Known): Cause[] {
  const refused = alerts.find(({ kind }) => kind === refusal);
  const cure = { command: 'npx gmsi doctor', cost: costOf(1) };
  return refused ? [{ isFailure: true, what: 'API key refused', why: refused.message, ...cure }] : [];
}

function budgets({ jobs = [] }: Known): Cause[] {
  const limited = jobs.filter((job) => job.spent_by !== null && !isNeverLoaded(job));
  return groups(limited, ({ requests_per_month }) => String(requests_per_month)).map((of) => {
    const { job, requests_per_month, requests_used, spent_by } = of[0];
    const names = listed(of.map(({ job }) => job));
    const isOver = isSpent(of[0]);
    const used = `${counted(requests_used!, 'request')} sent this month; the limit is ${number(requests_per_month!)}.`;
    const then = isOver
      ? 'Until the next one (UTC), nothing more is loaded.'
      : 'What is scheduled needs more.';
    return {
      isFailure: isOver,
      what: isOver ? 'Budget spent' : `Budget lasts until ${moment(spent_by!)}`,
      why: `${used} ${then} The plan says what would save requests.`,
      where: [names],
      command: `npx gmsi plan ${quoted(job)}`,
      cost: free,
    };
  });
}

/** Finds jobs whose last load failed as a whole or was killed. */
function endedLoads({ loads = [], jobs = [], alerts = [] }: Known): Cause[] {
  const last = groups(loads, ({ job, feed }) => `${job}\n${feed}`).map(([load]) => load);
  const isNamed = (job: string) => alerts.some((alert) => alert.kind === refusal && alert.job === job);
  const ended = last.filter(({ state, job }) => ['failed', 'killed'].includes(state) && !isNamed(job));
  return groups(ended, ({ state, error }) => `${state}\n${error}`).map((of) => {
    const [{ state, error, command, job }] = of;
    const isKilled = state === 'killed';
    const name = job || command;
    const cost = jobs.find((one) => one.job === job)?.backfill_requests;
    return {
      isFailure: true,
      what: of.length === 1 ? `Load of ${name} ${state}` : `${counted(of.length, 'load')} ${state}`,
      why: error ?? 'It ended without an outcome.',
      ...(of.length > 1 && { where: [listed(of.map(({ job }) => job))] }),
      ...(isKilled && job
        ? { command: `npx gmsi backfill ${quoted(job)}`, cost: costOf(cost) }
        : { command: 'npx gmsi doctor', cost: costOf(1) }),
    };
  });
}

/** Finds windows that failed or were refused, with one command for all of a kind. */
export function failedWindows({
  failures = [],
  jobs = [],
  loads = [],
}: Pick<Known, 'failures' | 'jobs' | 'loads'>): Cause[] {
  return failures.map(
    ({ state, job, cause, says, windows, series, example, first_day, last_day, is_wanted }) => {
      const of = jobs.find((one) => one.job === job);
      const isRunning = loads.some((load) => load.job === job && load.state === 'running');
      return {
        isFailure: state === 'failed' && is_wanted,
        what: `${counted(windows, 'window')} ${state}`,
        why: says ?? 'The reason is not known.',
        where: [
          `${counted(series, 'series', 'series')}${job === null ? '' : ` of ${job}`}${series === 1 ? ':' : ', such as'} ${example}`,
          `${first_day} to ${last_day}`,
          ...(isRunning ? ['a load of the job is running'] : []),
          ...(is_wanted ? [] : ['no job wants these days any more']),
        ],
        ...(!is_wanted && { command: 'npx gmsi repair --windows', cost: free }),
        // A running load retries them, and a spent budget allows no request.
        ...(is_wanted &&
          job !== null &&
          !isRunning &&
          !(of && isSpent(of)) && {
            cost: of?.backfill_requests
              ? `${costOf(of.backfill_requests)}: all that ${job} still misses`
              : `at least ${counted(windows, 'request')}`,
            ...cureOnPage(cause, job),
          }),
      };
    },
  );
}

/** The cure of failed windows: the command at its end, and what is to be done before it. */
function cureOnPage(
  cause: Row<'failures'>['cause'],
  job: string,
): Pick<Cause, 'before' | 'command' | 'cost'> {
  const [command, ...before] = cureOf(cause, quoted(job)).split(', then ').toReversed();
  return {
    before: before[0]?.replace(/^gmsi /, 'npx gmsi '),
    command: `npx ${command}`,
    ...(cause === 'too old' && { cost: free }),
  };
}

function unreadableJobs({ jobs = [] }: Known): Cause[] {
  return jobs.flatMap(({ job, problem }) =>
    problem === null ? [] : { isFailure: true, what: `${job} cannot be used`, why: problem },
  );
}

function notedChecks({ checks = [] }: Known): Cause[] {
  const noted = checks.filter(({ result }) => result === 'failed' || result === 'warned');
  return groups(noted, ({ result }) => result).map((of) => {
    const jobs = [...new Set(of.map(({ job }) => job))];
    const titles = of.map(({ title, findings }) => `“${title}” (${counted(findings, 'finding')})`);
    return {
      isFailure: of[0].result === 'failed',
      what: `${counted(of.length, 'check')} ${of[0].result}`,
      why: `${listed(jobs)}: ${titles.length === 1 ? 'this does not hold' : 'these do not hold'}: ${listed(titles)}.`,
      command: `npx gmsi check ${jobs.map(quoted).join(' ')}`,
      cost: free,
    };
  });
}

/** Finds scheduled jobs that no living worker runs. */
function noWorker({ jobs = [] }: Known): Cause[] {
  const idle = jobs.filter(({ scheduled, workers }) => scheduled && workers === 0);
  if (idle.length === 0) return [];
  const { projected, requests_used } = idle[0]!;
  const isKnown = projected !== null && idle.every(({ series }) => series !== null);
  const cost = isKnown ? projected - requests_used! : null;
  return [
    {
      isFailure: true,
      what: 'No worker',
      why: `Nothing runs what is scheduled: ${listed(idle.map(({ job }) => job))}.`,
      command: 'npx gmsi work',
      cost: cost === 0 ? free : cost === null ? costOf(null) : `${costOf(cost)} until the month ends`,
    },
  ];
}

/** Finds jobs that are later than they may be, whether or not a worker runs them. */
function lateJobs({ jobs = [] }: Known): Cause[] {
  return jobs.flatMap(({ job, late, backfill_requests }) =>
    late === null
      ? []
      : {
          isFailure: true,
          what: `${job}: late`,
          why: late,
          command: `npx gmsi backfill ${quoted(job)}`,
          cost: costOf(backfill_requests),
        },
  );
}

/** Finds jobs of which workers run another version than the file's. */
function otherVersions({ jobs = [] }: Known): Cause[] {
  return jobs.flatMap(({ job, other_version_by }) =>
    other_version_by === null
      ? []
      : {
          isFailure: false,
          what: `${job}: two versions`,
          why: `Workers run another version of the file, stored by ${other_version_by}. The last worker to start or see a change wins.`,
        },
  );
}

/** Returns the alerts that the other causes do not tell: failed exports, and late jobs of other folders. */
function otherAlerts({ alerts = [], jobs = [] }: Known): Cause[] {
  const isTold = (kind: string, name: string) => kind === 'late' && jobs.some(({ job }) => job === name);
  const told = [refusal, 'budget', 'failed windows'];
  return alerts
    .filter(({ kind, job }) => !told.includes(kind) && !isTold(kind, job))
    .map(({ kind, job, message }) => ({
      isFailure: true,
      what: `${job}: ${kind}`,
      why: message,
      command: `npx gmsi ${kind === 'job file' ? 'validate' : 'status'} ${quoted(job)}`,
      cost: free,
    }));
}

function changedFields({ fields = [] }: Known): Cause[] {
  return groups(fields, ({ feed, change }) => `${feed}\n${change}`).map((of) => {
    const [{ feed, change }] = of;
    const names = listed(of.map(({ field }) => field));
    return {
      isFailure: false,
      what: `${counted(of.length, 'field')} ${change}`,
      why:
        change === 'new'
          ? `Records of ${feed} have fields without a column, kept in extra: ${names}. “fields” in the job gives them a column.`
          : `Records of ${feed} no longer have ${names}. If a field has a new name, add it under “fields” in the job.`,
      command: 'npx gmsi repair --dry-run',
      cost: free,
    };
  });
}

/** What the view knows so far. A list is `undefined` until it is answered, or if the server's user may not see it. */
export type Known = {
  readonly [Of in 'feeds' | 'jobs' | 'loads' | 'failures' | 'requests' | 'checks' | 'fields' | 'alerts']:
    | readonly Row<Of>[]
    | undefined;
};

/** True if every series has all days that no longer change. */
export function hasAllDays({ complete, series }: Row<'jobs'>): boolean {
  return series !== null && complete === series;
}

/** True for jobs that nobody has loaded, unless other jobs have loaded all of their days. */
export function isNeverLoaded(job: Row<'jobs'>): boolean {
  return job.problem === null && job.last_load_at === null && !hasAllDays(job);
}

/** True if a job may send no more requests this month. */
export function isSpent({ requests_used, requests_per_month }: Row<'jobs'>): boolean {
  return requests_used !== null && requests_per_month !== null && requests_used >= requests_per_month;
}

/** Says in one sentence how complete the warehouse is, what failed, when it was last loaded, and what is left of the budget. */
export function summaryOf({ feeds = [], jobs, loads = [], failures, requests }: Known): string {
  const parts = [
    jobs && completeness(jobs, feeds),
    failures && failed(failures),
    lastLoad(loads),
    budget(jobs ?? [], requests),
  ];
  const sentence = parts.filter(Boolean).join('; ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

function completeness(
  jobs: NonNullable<Known['jobs']>,
  feeds: NonNullable<Known['feeds']>,
): string | undefined {
  const loaded = jobs.filter((job) => job.series !== null && !isNeverLoaded(job));
  if (loaded.length === 0) return loadedSeries(feeds);
  // Two jobs may have the same series.
  const sum = (of: 'own_series' | 'own_complete') => loaded.reduce((total, job) => total + job[of]!, 0);
  const others = feeds.reduce((total, { series }) => total + series, 0) > sum('own_series');
  // Of jobs whose periods end on different days, no day is that of all.
  const isAlike = loaded.every(({ to }) => to === loaded[0]!.to);
  const reached = isAlike ? loaded.flatMap(({ complete_to }) => complete_to ?? []) : [];
  const until = reached.toSorted()[0];
  const of = `${number(sum('own_series'))} series${others ? ' of the jobs' : ''}`;
  const said = `${number(sum('own_complete'))} of ${of} complete${until ? ` to ${until}` : ''}`;
  return others ? `${said}; in all, ${loadedSeries(feeds)}` : said;
}

/** The same of all that was requested, by whatever job: nobody can say then which days are complete. */
function loadedSeries(feeds: NonNullable<Known['feeds']>): string | undefined {
  const newest = daysOfFeeds(feeds).newest;
  const series = feeds.reduce((total, feed) => total + feed.series, 0);
  return newest && `${number(series)} series, last requested day ${newest}`;
}

function failed(failures: NonNullable<Known['failures']>): string {
  const count = (state: string) =>
    failures
      .filter((one) => one.state === state && one.is_wanted)
      .reduce((total, { windows }) => total + windows, 0);
  const parts = (['failed', 'refused'] as const).flatMap((state) => {
    const windows = count(state);
    return windows > 0 ? `${counted(windows, 'window')} ${state}` : [];
  });
  return parts.join(', ') || 'nothing failed';
}

function lastLoad(loads: NonNullable<Known['loads']>): string | undefined {
  const running = loads.filter(({ state }) => state === 'running');
  if (running.length > 1) return `${number(running.length)} loads run now`;
  if (running.length === 1) return `${running[0]!.job || running[0]!.command} is being loaded`;
  return loads[0] && `last load ${shortMoment(loads[0].ended_at)}`;
}

/** Omits the day if it is today. */
function shortMoment(text: string): string {
  const shown = moment(text);
  return shown.startsWith(moment(Date.now()).slice(0, 10)) ? shown.slice(11) : shown;
}

function budget(jobs: NonNullable<Known['jobs']>, requests: Known['requests']): string | undefined {
  const limits = jobs.flatMap(({ requests_per_month }) => requests_per_month ?? []);
  const own = requests?.find(({ is_own }) => is_own);
  if (limits.length === 0 || !own) return undefined;
  const most = Math.max(...limits);
  return `${share(Math.max(0, most - own.requests), most)} of the month's requests left`;
}
