import { setMaxListeners } from 'node:events';
import { Temporal } from 'temporal-polyfill';
import type { Client } from '../api/client.ts';
import { feedNamed } from '../feeds/catalog.ts';
import type { Job } from '../job/job.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { countOpen } from '../warehouse/queries/claims.ts';
import { finishLoad, type LoadTotals, startLoad } from '../warehouse/queries/loads.ts';
import { countByState, type WindowsByState } from '../warehouse/queries/window-counts.ts';
import type { WindowScope } from '../warehouse/queries/window-scope.ts';
import { rememberFields } from '../warehouse/queries/wire-fields.ts';
import type { LoadOutcome } from '../warehouse/tables/database.ts';
import { wantedDays } from '../window/wanted-days.ts';
import { drainAll, type LoadEnd } from './drain-all.ts';
import { keepLease } from './lease.ts';
import type { Load } from './load.ts';
import { originOf } from './origin.ts';
import { type PlanOptions, planWindows } from './plan-windows.ts';
import type { Ledger } from './request-budget.ts';
import { freshLookups, listsFor, scopeOf } from './resolve-job.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

export interface BackfillContext {
  readonly job: Job;
  readonly warehouse: Warehouse;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly log: Log;
  readonly clock: () => Date;
  readonly leaseSeconds: number;
  /** Host, process and version, for `loads`. */
  readonly runBy: string;
  readonly plan: PlanOptions;
  /** Fires when the run is to stop in order: pages in hand are committed. */
  readonly stop: AbortSignal;
  /** Called once there is something to watch. */
  readonly onStart?: (progress: () => BackfillProgress) => void;
}

export interface BackfillProgress {
  readonly totals: Readonly<LoadTotals>;
  /** Windows that were open when the run began. */
  readonly windows: number;
}

export interface BackfillResult {
  readonly outcome: LoadOutcome;
  /** Why the run ended early, where it did. */
  readonly error: unknown;
  /** `undefined` where there was nothing to load. */
  readonly loadId: number | undefined;
  readonly totals: Readonly<LoadTotals>;
  /** The job's windows as the run leaves them. */
  readonly windows: WindowsByState;
  readonly scope: WindowScope | undefined;
  /** Wall time of the run in seconds. */
  readonly seconds: number;
}

/** How long requests under way may still take once the run is told to stop, in milliseconds. */
const graceOnStop = 10_000;

/**
 * Drains every day of the job's period that is not covered yet, resuming half-drained windows first. Whatever ends it
 * early, what is committed stays, and a rerun goes on from there.
 * @throws what makes it impossible to begin: a job that cannot be resolved, a key that is refused
 */
export async function backfill(context: BackfillContext): Promise<BackfillResult> {
  const { job, warehouse, client, clock, stop } = context;
  const startedAt = performance.now();
  const feed = feedNamed(job.feed);
  const reader = feed.reader(job.fields);
  const origin = originOf(warehouse);
  const lookups = await freshLookups(warehouse, client, origin, {
    lists: listsFor(feed),
    clock,
    signal: stop,
  });
  const today = Temporal.PlainDate.from(clock().toISOString().slice(0, 10));
  const days = wantedDays(job, today);
  const totals = countingTotals(client);
  const nothing = {
    windows: { pending: 0, draining: 0, drained: 0, failed: 0, refused: 0 },
    scope: undefined,
  };
  const seconds = () => (performance.now() - startedAt) / 1000;
  if (!days)
    return { outcome: 'done', error: undefined, loadId: undefined, totals, ...nothing, seconds: seconds() };

  const scope = scopeOf(job, days, lookups);
  await planWindows(warehouse, job, scope, context.plan);
  const nobody = { loadId: 0, leaseSeconds: context.leaseSeconds };
  const open = await withWarehouseRetries(() => countOpen(warehouse, scope, nobody));
  if (open.free + open.held === 0) {
    const windows = await countByState(warehouse, scope);
    const outcome = windows.refused > 0 ? 'incomplete' : 'done';
    return { outcome, error: undefined, loadId: undefined, totals, windows, scope, seconds: seconds() };
  }

  const about = { command: 'backfill', job: job.name, feed: feed.name, run_by: context.runBy };
  const loadId = await withWarehouseRetries(() => startLoad(warehouse, about));
  const log = context.log.child({ load: loadId, job: job.name });
  const lease = keepLease(warehouse, loadId, context.leaseSeconds, totals, log);
  const ending = endings(stop);
  const load: Load = {
    ...{
      loadId,
      job,
      feed,
      scope,
      isBackfilled: true,
      client,
      warehouse,
      reader,
      lease,
      origin,
      partitions: new Set(),
      log,
      clock,
      totals,
    },
    ...{ stop: ending.stop, abort: ending.abort },
  };
  context.onStart?.(() => ({ totals, windows: open.free + open.held }));

  let end: LoadEnd = { outcome: 'failed', error: undefined };
  try {
    end = await drainAll(load, context.leaseSeconds, ending.end);
  } finally {
    lease.stop();
    ending.dispose();
    await close(load, end, context.ledger);
  }
  const windows = await withWarehouseRetries(() => countByState(warehouse, scope));
  return { ...end, loadId, totals, windows, scope, seconds: seconds() };
}

/** Writes down how the load ended. What cannot be written is logged: the lease and the block of requests cover for it. */
async function close(load: Load, end: LoadEnd, ledger: Ledger): Promise<void> {
  const { warehouse, loadId, log, totals, feed, reader } = load;
  const error = end.error instanceof Error ? end.error.message : null;
  const writes = [
    ledger.settle(),
    finishLoad(warehouse, loadId, end.outcome, totals, error),
    rememberFields(warehouse, feed.name, loadId, reader.fieldsSeen).then(({ appeared, vanished }) => {
      if (appeared.length > 0)
        log.warn({ fields: appeared }, 'records carry fields that no load has met before');
      if (vanished.length > 0) log.warn({ fields: vanished }, 'records no longer carry these fields');
    }),
  ];
  for (const write of await Promise.allSettled(writes)) {
    if (write.status === 'rejected')
      log.warn({ err: write.reason }, 'the end of the load could not be written down');
  }
}

/** The two signals of a load, fired from outside (`stop`) or from within. */
function endings(outside: AbortSignal) {
  const stop = new AbortController();
  const abort = new AbortController();
  // Every request under way listens to them.
  setMaxListeners(0, stop.signal, abort.signal);
  let grace: NodeJS.Timeout | undefined;
  const end = (now: boolean) => {
    stop.abort();
    if (now) abort.abort();
    else grace ??= setTimeout(() => abort.abort(), graceOnStop);
  };
  const onOutside = () => end(false);
  if (outside.aborted) onOutside();
  else outside.addEventListener('abort', onOutside, { once: true });
  const dispose = () => {
    clearTimeout(grace);
    outside.removeEventListener('abort', onOutside);
  };
  return { stop: stop.signal, abort: abort.signal, end, dispose };
}

function countingTotals(client: Client): LoadTotals {
  return {
    get requests() {
      return client.stats().requests;
    },
    ...{
      windows_drained: 0,
      windows_failed: 0,
      pages: 0,
      records: 0,
      rows_inserted: 0,
      rows_changed: 0,
      records_rejected: 0,
    },
  } as LoadTotals;
}
