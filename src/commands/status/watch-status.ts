import { setTimeout as sleep } from 'node:timers/promises';
import { openWarehouse, readJobs, refuseNoWarehouse, type Session } from '../../compose.ts';
import type { Job } from '../../config/job.ts';
import { exitCodes } from '../../exit.ts';
import { keyFingerprint, monthOf, requestLimit } from '../../rate/budget.ts';
import { isOutputClosed, output, printJson } from '../../terminal/print.ts';
import { redrawing } from '../../terminal/status-line.ts';
import {
  count,
  fittingParts,
  type LinePart,
  minute,
  number,
  shortenedName,
  table,
} from '../../terminal/table.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import { lastRuns, type QueuedJob, workSoFar } from '../../warehouse/questions/status.ts';
import { queueSummary, unlessQueueIsMissing } from '../../warehouse/tables/queue.ts';
import { usedRequests } from '../../warehouse/tables/requests.ts';
import { countByState, type WindowsByState } from '../../warehouse/tables/windows.ts';
import { livingWorkers } from '../../warehouse/tables/workers.ts';

/** Milliseconds between two looks. */
const interval = 2_000;

/** With `--json`, how many unchanged looks until the last document is printed again. */
const looksUnsaid = 10;

/** Looks that the rate is measured over; loads report their counts only every few seconds. */
const looksForRate = 8;

/**
 * `gmsi status [<job>…] --watch`: what the workers are doing, updated every 2 seconds until it is stopped or nobody reads
 * its output any more.
 */
export async function watchStatus(session: Session, names: readonly string[]): Promise<number> {
  const jobs = await readJobs(session, names);
  refuseNoWarehouse(session);
  await using warehouse = await openWarehouse(session);
  const { stop, clock, json } = session;
  const draw = redrawing(output);
  const looks: Look[] = [];
  let [last, unsaid] = ['', 0];
  while (!stop.aborted && !isOutputClosed()) {
    looks.push({ at: clock().getTime(), ...(await workSoFar(warehouse.db)) });
    if (looks.length > looksForRate) looks.shift();
    const watched = await look(session, warehouse.db, jobs, rateOf(looks));
    if (json) {
      const told = JSON.stringify(watched);
      unsaid = told === last ? unsaid + 1 : 0;
      // Sometimes also if nothing changed: only a write shows that nobody reads any longer.
      if (unsaid % looksUnsaid === 0) printJson({ at: clock(), ...watched }, 0);
      last = told;
    } else
      draw(
        `${clock().toISOString().slice(0, 19).replace('T', ' ')} UTC\n\n${describe(watched, output.isTTY ? output.columns - 1 : Number.POSITIVE_INFINITY)}`,
      );
    await sleep(interval, undefined, { signal: stop }).catch(() => {});
  }
  return stop.aborted ? exitCodes.interrupted : exitCodes.done;
}

type Look = { readonly at: number } & Awaited<ReturnType<typeof workSoFar>>;

/** Requests and records a second, to a tenth. */
function rateOf(looks: readonly Look[]) {
  const [first, last] = [looks[0]!, looks.at(-1)!];
  const seconds = (last.at - first.at) / 1000;
  const perSecond = (many: number) => (seconds === 0 ? 0 : Math.round((10 * many) / seconds) / 10);
  return {
    requests: perSecond(last.requests - first.requests),
    records: perSecond(last.records - first.records),
  };
}

type Watched = Awaited<ReturnType<typeof look>>;
type WatchedRun = Watched['runs'][number];

async function look(
  { config, clock }: Session,
  db: Warehouse,
  jobs: readonly Job[],
  rate: ReturnType<typeof rateOf>,
) {
  const workers = await livingWorkers(db, config.leaseSeconds);
  const none = { waiting: 0, running: 0, retrying: 0 };
  const queue = (await unlessQueueIsMissing(() => queueSummary(db))) ?? none;
  const { apiKey } = config;
  const used = apiKey ? await usedRequests(db, keyFingerprint(apiKey), monthOf(clock())) : null;
  const names = new Set(jobs.map(({ name }) => name));
  const runs: (Omit<QueuedJob, 'scope'> & { readonly windows: WindowsByState })[] = [];
  for (const { scope, ...run } of await lastRuns(db)) {
    if (names.size === 0 || names.has(run.job)) runs.push({ ...run, windows: await countByState(db, scope) });
  }
  const left = ({ name: job, budget }: Job) => {
    const of = (command: 'backfill' | 'sync') => Math.max(0, requestLimit(command, budget) - (used ?? 0));
    return { job, backfill: of('backfill'), sync: of('sync') };
  };
  return {
    workers: workers.length,
    /** Tasks that they work on at a time. */
    slots: workers.reduce((sum, { concurrency }) => sum + concurrency, 0),
    queue,
    rate,
    used,
    left: jobs.map(left),
    runs,
  };
}

/** @param columns of the terminal; on a narrow terminal, the least important parts are left out */
function describe({ workers, slots, queue, rate, used, left, runs }: Watched, columns: number): string {
  const { waiting, running, retrying } = queue;
  const label = 10;
  const line = (name: string, ...parts: LinePart[]) =>
    `${name.padEnd(label)}${fittingParts(parts, columns - label, ', ')}`;
  const lines = [
    workers === 0
      ? line('workers', [0, 'none is running'])
      : line('workers', [1, number(workers)], [0, `${count(slots, 'task')} at a time`]),
    line(
      'queue',
      [2, `${number(waiting)} waiting`],
      [1, `${number(running)} running`],
      [0, `${number(retrying)} to retry`],
    ),
    line('rate', [0, `${number(rate.requests)} requests/s`], [1, `${number(rate.records)} records/s`]),
    ...(used === null ? [] : [line('requests', [0, `${number(used)} booked this month`])]),
  ];
  const budgets = left.map(({ job, backfill, sync }) => [shortenedName(job, columns), backfill, sync]);
  const ordered = runs.toSorted((a, b) => Number(a.finished_at !== null) - Number(b.finished_at !== null));
  return [
    lines.join('\n'),
    ...(left.length === 0
      ? []
      : [table(['requests left for', 'backfills', 'syncs'], budgets, { columns, least: ['syncs'] })]),
    runs.length === 0 ? 'No job was queued yet.' : describeRuns(ordered, columns),
  ].join('\n\n');
}

function describeRuns(runs: readonly WatchedRun[], columns: number): string {
  const rows = runs.map((run) => {
    const { drained, pending, draining, failed, refused } = run.windows;
    return [
      ...[shortenedName(run.job, columns), run.command, String(run.run_id), stateOf(run)],
      ...[drained, pending, draining, failed, refused],
    ];
  });
  const counts = ['drained', 'pending', 'draining', 'failed', 'refused'];
  const least = ['run', 'refused', 'draining', 'command', 'pending', 'failed', 'state'];
  return table(['job', 'command', 'run', 'state', ...counts], rows, { columns, least });
}

function stateOf({ finished_at, outcome, resumes_at, paused_because, started_at }: WatchedRun): string {
  if (finished_at === null) return `since ${minute(started_at)} UTC`;
  if (resumes_at !== null) return `paused (${paused_because}) until ${minute(resumes_at)} UTC`;
  return `${outcome} at ${minute(finished_at)} UTC`;
}
