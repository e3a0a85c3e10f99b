import { setTimeout as sleep } from 'node:timers/promises';
import { openWarehouse, readJobs, refuseNoWarehouse, type Session } from '../../compose.ts';
import type { Job } from '../../config/job.ts';
import { exitCodes } from '../../exit.ts';
import { keyFingerprint, monthOf, requestLimit } from '../../rate/budget.ts';
import { isOutputClosed, output, printJson } from '../../terminal/print.ts';
import { redrawing } from '../../terminal/status-line.ts';
import { fittingParts, type LinePart, minute, number, shortenedName, table } from '../../terminal/table.ts';
import type { Warehouse } from '../../warehouse/connect.ts';
import { type WorkersJob, workersJobs, workSoFar } from '../../warehouse/questions/status.ts';
import { usedRequests } from '../../warehouse/tables/requests.ts';
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

async function look(
  { config, clock }: Session,
  db: Warehouse,
  jobs: readonly Job[],
  rate: ReturnType<typeof rateOf>,
) {
  const workers = await livingWorkers(db, config.leaseSeconds);
  const { apiKey } = config;
  const used = apiKey ? await usedRequests(db, keyFingerprint(apiKey), monthOf(clock())) : null;
  const names = new Set(jobs.map(({ name }) => name));
  const known = await workersJobs(db, config.leaseSeconds);
  const left = ({ name: job, budget }: Job) => {
    const of = (command: 'backfill' | 'sync') => Math.max(0, requestLimit(command, budget) - (used ?? 0));
    return { job, backfill: of('backfill'), sync: of('sync') };
  };
  return {
    workers: workers.length,
    rate,
    used,
    left: jobs.map(left),
    jobs: known.filter(({ job }) => names.size === 0 || names.has(job)),
  };
}

/** @param columns of the terminal; on a narrow terminal, the least important parts are left out */
function describe({ workers, rate, used, left, jobs }: Watched, columns: number): string {
  const label = 10;
  const line = (name: string, ...parts: LinePart[]) =>
    `${name.padEnd(label)}${fittingParts(parts, columns - label, ', ')}`;
  const loading = jobs.filter(({ is_loading }) => is_loading).length;
  const due = jobs.filter(({ is_loading, due_at }) => due_at !== null && !is_loading).length;
  const lines = [
    line('workers', [0, workers === 0 ? 'none is running' : number(workers)]),
    line('jobs', [1, `${number(loading)} being loaded`], [0, `${number(due)} waiting`]),
    line('rate', [0, `${number(rate.requests)} requests/s`], [1, `${number(rate.records)} records/s`]),
    ...(used === null ? [] : [line('requests', [0, `${number(used)} booked this month`])]),
  ];
  const budgets = left.map(({ job, backfill, sync }) => [shortenedName(job, columns), backfill, sync]);
  return [
    lines.join('\n'),
    ...(left.length === 0
      ? []
      : [table(['requests left for', 'backfills', 'syncs'], budgets, { columns, least: ['syncs'] })]),
    jobs.length === 0 ? 'No job was queued yet.' : describeJobs(jobs, columns),
  ].join('\n\n');
}

function describeJobs(jobs: readonly WorkersJob[], columns: number): string {
  const rows = jobs
    .toSorted((a, b) => Number(b.is_loading) - Number(a.is_loading))
    .map((one) => {
      const { job, command, windows_planned, windows_drained, windows_failed, records } = one;
      const counts = [windows_planned, windows_drained, windows_failed, records];
      return [shortenedName(job, columns), command, stateOf(one), ...counts];
    });
  const least = ['records', 'windows', 'failed', 'drained', 'command', 'state'];
  return table(['job', 'command', 'state', 'windows', 'drained', 'failed', 'records'], rows, {
    columns,
    least,
  });
}

function stateOf({
  is_loading,
  due_at,
  outcome,
  resumes_at,
  paused_because,
  finished_at,
  records,
}: WorkersJob): string {
  if (is_loading) return `since ${minute(due_at!)} UTC`;
  if (due_at !== null) return `waiting since ${minute(due_at)} UTC`;
  if (resumes_at !== null) return `paused (${paused_because}) until ${minute(resumes_at)} UTC`;
  if (finished_at !== null) return `${outcome} at ${minute(finished_at)} UTC`;
  return records === null ? 'not due yet' : 'loading, by a command';
}
