import { Gauge, type Registry } from 'prom-client';
import type { ReadStandings } from '../answer/standing.ts';
import type { Job } from '../config/job.ts';
import { inTime, shared } from '../in-time.ts';
import type { Log } from '../log.ts';
import { livingWorkers } from '../questions/runs.ts';
import { windowCounts } from '../questions/status.ts';
import type { Warehouse } from '../warehouse/connect.ts';

/** In milliseconds; Prometheus waits 10 seconds by default. */
const patience = 8_000;

export interface GaugesContext {
  readonly warehouse: Warehouse;
  readonly readStandings: ReadStandings;
  readonly jobs: () => Promise<readonly Job[]>;
  readonly leaseSeconds: number;
  readonly log: Log;
}

/**
 * Creates the gauges that are the same in all processes of a warehouse, because they are read from it at each scrape.
 * @returns a function that updates them; if the warehouse does not answer, it leaves only `gmsi_warehouse_up`, at 0
 */
export function createWarehouseGauges(
  registry: Registry,
  { warehouse, readStandings, jobs, leaseSeconds, log }: GaugesContext,
): () => Promise<void> {
  const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
    new Gauge<Label>({ name, help, labelNames, registers: [registry] });

  const up = gauge(
    'gmsi_warehouse_up',
    '1 if the warehouse answers; else 0, and the metrics read from it are omitted.',
  );
  const windows = gauge('gmsi_windows', 'Windows that are not loaded.', 'feed', 'state');
  // The label is not `job`, because Prometheus uses that name for the scraped target.
  const lag = gauge(
    'gmsi_job_lag_seconds',
    "Time since the end (24:00 UTC) of the newest covered day of the job's series that is furthest behind. Counts from " +
      'start_date if a series has no covered day, and at most up to end_date. Days within lookback are never covered, so a ' +
      'job that is up to date lags by lookback to lookback + 1 days, plus the time until its next run.',
    'job_name',
  );
  const maxLag = gauge(
    'gmsi_job_max_lag_seconds',
    'alerts.max_lag of the job file, if it has one.',
    'job_name',
  );
  const budgetLeft = gauge(
    'gmsi_job_budget_left_requests',
    'budget.requests_per_month of the job minus all requests booked with the key this calendar month (UTC).',
    'job_name',
  );
  const budgetProjected = gauge(
    'gmsi_job_budget_projected_left_requests',
    'gmsi_job_budget_left_requests minus the fewest requests that the schedules of all jobs still need this month. Below ' +
      '0, the budget will not last.',
    'job_name',
  );
  const workers = gauge('gmsi_workers', 'Processes of gmsi work with a heartbeat within the lease.');

  function forget(): void {
    for (const one of [windows, lag, maxLag, budgetLeft, budgetProjected]) one.reset();
    workers.remove();
  }

  async function read() {
    return {
      windows: await windowCounts(warehouse),
      standings: await readStandings(await jobs()),
      workers: (await livingWorkers(leaseSeconds).query.execute(warehouse)).rows.length,
    };
  }

  function set(found: Awaited<ReturnType<typeof read>>): void {
    forget();
    for (const { feed, state, windows: many } of found.windows) windows.set({ feed, state }, many);
    for (const { job, lagSeconds, budget } of found.standings) {
      const label = { job_name: job.name };
      const longest = job.alerts.maxLag;
      lag.set(label, lagSeconds);
      if (longest !== undefined) maxLag.set(label, longest * 24 * 3600);
      if (!budget) continue;
      budgetLeft.set(label, budget.limit - budget.used);
      budgetProjected.set(label, budget.limit - budget.projected);
    }
    workers.set(found.workers);
  }

  const readOnce = shared(read);

  return async () => {
    try {
      set(await inTime(readOnce(), patience));
      up.set(1);
    } catch (error) {
      log.warn({ why: (error as Error).message }, 'the warehouse could not be read for metrics');
      forget();
      up.set(0);
    }
  };
}
