import { counted, number, share } from '../../numbers.ts';
import { moment } from '../../time.ts';
import { isNeverLoaded, type Known } from './known.ts';

/** Says in one sentence how complete the warehouse is, what failed, when it was last loaded, and what is left of the budget. */
export function summaryOf({ jobs = [], loads = [], failures, requests }: Known): string {
  const parts = [completeness(jobs), failures && failed(failures), lastLoad(loads), budget(jobs, requests)];
  const sentence = parts.filter(Boolean).join('; ');
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`;
}

function completeness(jobs: NonNullable<Known['jobs']>): string | undefined {
  const loaded = jobs.filter((job) => job.series !== null && !isNeverLoaded(job));
  if (loaded.length === 0) return undefined;
  const sum = (of: 'series' | 'complete') => loaded.reduce((total, job) => total + job[of]!, 0);
  // Jobs whose period has ended would say nothing about how current the others are.
  const latest = loaded
    .map(({ to }) => to!)
    .toSorted()
    .at(-1);
  const reached = loaded.filter(({ to, complete_to }) => to === latest && complete_to !== null);
  const until = reached.map(({ complete_to }) => complete_to!).toSorted()[0];
  return `${number(sum('complete'))} of ${number(sum('series'))} series complete${until ? ` to ${until}` : ''}`;
}

function failed(failures: NonNullable<Known['failures']>): string {
  const count = (state: string) =>
    failures.filter((one) => one.state === state).reduce((total, { windows }) => total + windows, 0);
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
