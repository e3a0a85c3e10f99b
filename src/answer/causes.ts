import { z } from 'zod';
import { jobNameOf, typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { typed, typedOptions } from '../config/typed.ts';
import { causeCodes } from '../errors.ts';
import type { BrokenJob } from '../plan/list-jobs.ts';
import type { Failures } from '../questions/coverage.ts';
import type { EmptiedDays } from '../questions/emptied.ts';
import type { CheckShown, FieldChange, OpenAlert } from '../questions/runs.ts';
import { count, daysFrom, minute, number, ofLimit } from '../terminal/table.ts';
import { type Cure, cureOf, cureOfEmptied } from './cures.ts';
import type { JobStanding } from './standing.ts';

/**
 * How a cause bears on its job:
 * - `failing`: a person has to look
 * - `stopped`: nothing is loaded, although nothing is broken
 * - `behind`: a load cures it
 * - `note`: the job is as well as without it
 */
const severities = ['failing', 'stopped', 'behind', 'note'] as const;
export type Severity = (typeof severities)[number];

/** What can be wrong, beside windows that failed (`CauseCode`): what costs data first. */
const codes = [
  'job file',
  'unknown name',
  'key refused',
  'late',
  'not listed',
  ...causeCodes,
  'rows gone',
  'load failed',
  'export failed',
  'alert',
  'check failed',
  'paused',
  'budget spent',
  'no worker',
  'series unknown',
  'days missing',
  'windows left',
  'budget short',
  'other version',
  'not wanted',
  'check warned',
  'fields changed',
] as const;
export type Code = (typeof codes)[number];

export const causeRow = z.object({
  code: z.enum(codes),
  severity: z.enum(severities).describe('What the job is by this cause; a note changes nothing.'),
  job: z.string().nullable(),
  feed: z.string().nullable(),
  what: z.string().describe('A few words.'),
  why: z.string().nullable(),
  about: z.string().nullable().describe('Series and days.'),
  windows: z.int().nullable().describe('null if it is not about windows.'),
  before: z.string().nullable().describe('What to do before the command.'),
  command: z.string().nullable().describe('null if time cures it, or only a person can.'),
  requests: z.int().nullable().describe('About how many the command sends; null if that is not known.'),
});
/** Something that is wrong, and what cures it. */
export type Cause = z.output<typeof causeRow>;

type Told = Pick<Cause, 'what'> & Partial<Pick<Cause, 'why' | 'about' | 'windows'>>;

function cause(
  code: Code,
  severity: Severity,
  { job, feed = null }: { readonly job: string | null; readonly feed?: string | null },
  told: Told,
  cure?: Partial<Cure> & { readonly requests?: number | null },
): Cause {
  const { before = null, command = null, isFree = false, requests = null } = cure ?? {};
  const nothing = { why: null, about: null, windows: null };
  const cost = isFree ? 0 : requests;
  return { code, severity, job, feed, ...nothing, ...told, before, command, requests: cost };
}

/** What is known beside the jobs. */
export interface Known {
  /** Windows that failed or were refused of jobs that are not here. */
  readonly others: readonly Failures[];
  /** Windows that no job wants. */
  readonly unwanted: readonly Failures[];
  /** Days of jobs of which all rows are gone. */
  readonly emptied: ReadonlyMap<string, EmptiedDays>;
  readonly checks: readonly CheckShown[];
  readonly alerts: readonly OpenAlert[];
  readonly fields: readonly FieldChange[];
  /** About how many requests a backfill of a job sends, as far as that is known. */
  readonly requests: ReadonlyMap<string, number>;
  /** Returns the word of a command that names a job. */
  readonly typedAs: (job: Job) => string;
}

/** Returns what is wrong with some jobs, and what nobody else tells: what costs data first. */
export function causesOf(jobs: readonly JobStanding[], broken: readonly BrokenJob[], known: Known): Cause[] {
  const names = new Set(jobs.map(({ job }) => job.name));
  const unread = new Set(broken.map(({ path }) => jobNameOf(path)));
  const all = [
    ...broken.map(ofBroken),
    ...jobs.flatMap((standing) => causesOfJob(standing, known)),
    ...known.others.map(ofOther),
    ...known.unwanted.map(notWanted),
    ...known.alerts.flatMap((alert) => (unread.has(alert.job) ? [] : ofAlert(alert, names))),
    ...changedFields(known.fields),
  ];
  const rank = ({ severity, code }: Cause) =>
    severities.indexOf(severity) * codes.length + codes.indexOf(code);
  return all.toSorted((a, b) => rank(a) - rank(b));
}

/** Returns how many requests a command may not send: only a sync uses the reserve. */
const kept = ({ budget }: Job, command: 'sync' | 'backfill') => (command === 'sync' ? 0 : budget.reserve);

/** Returns true if a command may send no more requests for a job this month. */
function isSpent({ job, budget }: JobStanding, command: 'sync' | 'backfill'): boolean {
  return budget !== undefined && budget.used >= budget.limit - kept(job, command);
}

/** Asks the service, and sends two requests. */
const doctor = { command: 'gmsi doctor', requests: 2 };
const lookups = { command: 'gmsi lookups', requests: 5 };

function causesOfJob(standing: JobStanding, known: Known): Cause[] {
  const { job, problem, notListed, failures } = standing;
  const emptied = known.emptied.get(job.name);
  const of = { job: job.name, feed: job.feed };
  const file = known.typedAs(job);
  const name = `${file}${typedOptions(job.part)}`;
  const isRunning = standing.lastLoad?.is_running === true;
  const requests = known.requests.get(job.name) ?? null;
  const again = cureOf('temporary', name);
  // A running load loads all days again that it can, and without requests nothing can be loaded.
  const isUseless = (command: string) =>
    command === again.command && (isRunning || isSpent(standing, 'backfill'));
  const load = (cure: Cure = again) =>
    isUseless(cure.command)
      ? undefined
      : { ...cure, requests: requests === null ? null : requests + (cure.requestsBefore ?? 0) };
  const late = lateness(standing);
  return [
    ...(problem
      ? [
          cause(
            'unknown name',
            'failing',
            of,
            { what: 'cannot run', why: problem.message },
            { before: 'correct the job file', command: `gmsi plan ${file}`, isFree: true },
          ),
        ]
      : []),
    ...(late ? [cause('late', 'failing', of, late, load())] : []),
    ...(notListed
      ? [
          cause(
            'not listed',
            'failing',
            of,
            {
              what: `not listed: ${notListed.names.join(', ')}`,
              why: `${notListed.message} ${notListed.hint}`,
            },
            lookups,
          ),
        ]
      : []),
    ...failures.map((one) => ofWindows(job.name, one, load(cureOf(one.cause, name)))),
    ...(emptied
      ? [
          cause(
            'rows gone',
            'failing',
            of,
            {
              what: 'rows are gone',
              why: `${daysFrom(emptied.from, emptied.to)} had rows, and has none left.`,
            },
            cureOfEmptied(emptied, file, job.part),
          ),
        ]
      : []),
    ...badEnd(standing, known),
    ...checked(known.checks, of, name),
    ...idle(standing, file),
    // Who is late lacks days.
    ...(problem || isRunning || (late && standing.scope) ? [] : missing(standing, load)),
  ];
}

/** Says how late a job is; `null` if it is not. */
function lateness({ job, newestCovered, lagSeconds }: JobStanding): Told | null {
  const { maxLag } = job.alerts;
  const days = lagSeconds / 86_400;
  if (maxLag === undefined || days <= maxLag) return null;
  const since =
    newestCovered === null
      ? 'At least one series has no covered day yet'
      : `All series are covered up to ${newestCovered}`;
  return { what: `${days.toFixed(1)} days late`, why: `${since}; ${count(maxLag, 'day')} are allowed.` };
}

/** Windows that failed or were refused for one cause. */
function ofWindows(job: string | null, one: Failures, cure: Parameters<typeof cause>[4]): Cause {
  const did = one.state === 'failed' ? 'failed' : one.windows === 1 ? 'was refused' : 'were refused';
  const told = { what: `${count(one.windows, 'window')} ${did}`, why: one.says, ...about(one) };
  return cause(one.cause ?? 'temporary', 'failing', { job, feed: one.feed }, told, cure);
}

function ofOther(one: Failures): Cause {
  return ofWindows(one.job, one, one.job === null ? undefined : cureOf(one.cause, typed(one.job)));
}

function notWanted(one: Failures): Cause {
  const what = `${count(one.windows, 'window')} that no job wants`;
  const why = one.state === 'pending' ? null : one.says;
  const repair = { command: 'gmsi check --repair windows', isFree: true };
  return cause('not wanted', 'note', { job: null, feed: one.feed }, { what, why, ...about(one) }, repair);
}

function about({ windows, series, example, first_day, last_day }: Failures) {
  const which = series === 1 ? example : `${count(series, 'series', 'series')}, such as ${example}`;
  return { about: `${which}; ${daysFrom(first_day, last_day)}`, windows };
}

/** An error that ended the last load as a whole. */
function badEnd({ job, lastLoad }: JobStanding, { alerts }: Known): Cause[] {
  const of = { job: job.name, feed: job.feed };
  // While the next load runs, its end is not known yet.
  if (lastLoad?.is_running) return [];
  const refusal = alerts.find((one) => one.kind === 'key refused' && one.job === job.name);
  const isAfter = !lastLoad || Date.parse(refusal?.raised_at ?? '') > Date.parse(lastLoad.at);
  if (refusal && (isAfter || lastLoad.state === 'failed'))
    return [cause('key refused', 'failing', of, { what: 'API key refused', why: refusal.message }, doctor)];
  if (lastLoad?.state !== 'failed') return [];
  return [cause('load failed', 'failing', of, { what: 'the last load failed', why: lastLoad.error }, doctor)];
}

function checked(
  checks: Known['checks'],
  of: { readonly job: string; readonly feed: string },
  name: string,
): Cause[] {
  return (['failed', 'warned'] as const).flatMap((result) => {
    const noted = checks.filter((one) => one.job === of.job && one.result === result);
    if (noted.length === 0) return [];
    const titles = noted.map(({ title, findings }) => `“${title}” (${count(findings, 'finding')})`);
    const told = {
      what: `${count(noted.length, 'check')} ${result}`,
      why: `${titles.length === 1 ? 'This does not hold' : 'These do not hold'}: ${titles.join(', ')}.`,
    };
    const severity = result === 'failed' ? 'failing' : 'note';
    return cause(`check ${result}`, severity, of, told, { command: `gmsi check ${name}`, isFree: true });
  });
}

/** Why nothing will be loaded, or not all that is scheduled. */
function idle(standing: JobStanding, name: string): Cause[] {
  const { job, scope, work, budget, completeness, lastLoad } = standing;
  const of = { job: job.name, feed: job.feed };
  const plan = { command: `gmsi plan ${name}`, isFree: true };
  const causes: Cause[] = [];
  const isOver = completeness?.is_complete === true && !work.isScheduled;
  // Without a schedule of syncs, it is loaded by backfills alone.
  const command = job.schedule?.sync === undefined ? 'backfill' : 'sync';
  if (budget && !isOver && (isSpent(standing, command) || budget.spentBy)) {
    const reserve = kept(job, command);
    const used = `${ofLimit(budget.used, budget.limit)} are used this month${reserve > 0 ? `; ${number(reserve)} are kept for syncs` : ''}.`;
    if (isSpent(standing, command)) {
      const why = `${used} The next ones are free on the first of the month (UTC).`;
      causes.push(
        cause('budget spent', 'stopped', of, { what: "the month's requests are spent", why }, plan),
      );
    } else {
      const why = `${used} The schedule needs at least ${number(budget.projected)} in total.`;
      const what = `the month's requests last until ${minute(budget.spentBy!)} UTC`;
      causes.push(cause('budget short', 'note', of, { what, why }, plan));
    }
  }
  if (work.isPaused) {
    const told = { what: 'paused by an operator', why: 'None of its scheduled or queued loads run.' };
    causes.push(cause('paused', 'stopped', of, told, { command: `gmsi job resume ${name}`, isFree: true }));
  }
  if (!work.isPaused && work.isScheduled && work.workers === 0 && !lastLoad?.is_running) {
    const told = { what: 'no worker runs it', why: 'Nothing is loaded as scheduled.' };
    const requests = budget && scope ? budget.projected - budget.used : null;
    // Cron may run it.
    const severity = lastLoad?.is_recent ? 'note' : 'stopped';
    causes.push(cause('no worker', severity, of, told, { command: 'gmsi work', requests }));
  }
  if (work.otherVersionBy !== null) {
    const why = `${work.otherVersionBy} has stored it. The last worker to start, or to see its file change, wins.`;
    causes.push(cause('other version', 'note', of, { what: 'workers run another version of the file', why }));
  }
  return causes;
}

/** What the next load would load, beside windows that failed or were refused. */
function missing(
  { job, scope, completeness, lastLoad }: JobStanding,
  load: () => Parameters<typeof cause>[4],
): Cause[] {
  const of = { job: job.name, feed: job.feed };
  if (!scope)
    return [cause('series unknown', 'behind', of, { what: 'its series are not known yet' }, lookups)];
  if (!completeness || completeness.is_complete) return [];
  const { left_over: days, open } = completeness;
  const why = lastLoad?.state === 'killed' ? 'Its last load was killed.' : null;
  if (days > 0)
    return [cause('days missing', 'behind', of, { what: `${count(days, 'day')} missing`, why }, load())];
  return open > 0
    ? [cause('windows left', 'behind', of, { what: `${count(open, 'window')} left`, why }, load())]
    : [];
}

/** A job file that cannot be read. */
export function ofBroken({ path, error }: BrokenJob): Cause {
  const edit = { before: 'correct the job file', command: `gmsi plan ${typedJob(path)}`, isFree: true };
  const told = { what: 'cannot be read', why: error.message };
  return cause('job file', 'failing', { job: jobNameOf(path) }, told, edit);
}

/** What only an alert tells: of exports, of files that a worker cannot read, and of jobs whose files are not here. */
function ofAlert({ kind, job, message }: OpenAlert, known: ReadonlySet<string>): Cause[] {
  const isTold = kind !== 'export failed' && kind !== 'job file';
  if (known.has(job) && isTold) return [];
  const code = isTold ? 'alert' : kind;
  return [cause(code, 'failing', { job }, { what: kind, why: message })];
}

function changedFields(fields: Known['fields']): Cause[] {
  const kinds = new Map(fields.map(({ feed, change }) => [`${feed} ${change}`, { feed, change }]));
  return [...kinds.values()].map(({ feed, change }) => {
    const of = fields.filter((one) => one.feed === feed && one.change === change);
    const names = of.map(({ field }) => field).join(', ');
    const why =
      change === 'new'
        ? `Records of ${feed} have fields without a column, kept in extra: ${names}. “fields” in a job file gives them one.`
        : `Records of ${feed} no longer have ${names}. If a field has a new name, add it under “fields” in the job file.`;
    const repair = { command: 'gmsi check --repair records --dry-run', isFree: true };
    return cause(
      'fields changed',
      'note',
      { job: null, feed },
      { what: `${count(of.length, 'field')} ${change}`, why },
      repair,
    );
  });
}
