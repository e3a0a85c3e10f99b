import type { Job } from '../config/job.ts';
import { planDueSync } from '../plan/plan-sync.ts';
import { countByState, countOpen } from '../warehouse/tables/windows.ts';
import { claim } from '../warehouse/turns.ts';
import { endByClocks } from './clocks.ts';
import { drainAll } from './drain-all.ts';
import { type LoadEnd, moreSevere } from './ends.ts';
import {
  countingTotals,
  type LoadContext,
  type LoadResult,
  nothingDone,
  type OpenLoad,
  openLoad,
} from './load.ts';
import { type LiveRead, readLive } from './read-live.ts';
import { resolveLoad, withLearnedFacts } from './resolve-load.ts';

export interface SyncResult extends LoadResult {
  /** True if another sync of the job is running, so that this one did nothing. */
  readonly isElsewhere: boolean;
  readonly live: Omit<LiveRead, 'end'>;
  /** Series that the job's cadence skipped. */
  readonly seriesSkipped: number;
}

const noLive = { series: 0, records: 0, failed: 0 };

/**
 * Brings a job's series up to date. Drains the lookback days again and every day since the newest covered one, then reads
 * the live feed. A live answer may be incomplete: the days that it reaches have just been drained, and the next sync drains them
 * again. Does nothing if another sync of the job is running.
 * @throws if the load cannot begin, for example because the service refuses the key
 */
export async function sync(given: LoadContext): Promise<SyncResult> {
  const context = await withLearnedFacts(given);
  const { job, warehouse } = context;
  await using claimed = await claim(warehouse, 'syncing', nameOfSync(job));
  if (!claimed.isOurs)
    return {
      ...nothingDone(countingTotals(context.client), 0),
      isElsewhere: true,
      live: noLive,
      seriesSkipped: 0,
    };
  const resolved = await resolveLoad(context);
  const nothing = () => ({ ...resolved.nothingToDo(), isElsewhere: false, live: noLive, seriesSkipped: 0 });
  if (!resolved.scope) return nothing();

  const { totals } = resolved;
  const plan = await planDueSync(context, resolved.scope, { ...resolved, now: resolved.clocks.now() });
  if (!plan) return nothing();

  const { scope, live } = plan;
  const nobody = { loadId: 0, leaseSeconds: context.leaseSeconds };
  const open = await countOpen(warehouse, scope, nobody);
  const opened = await openLoad(context, {
    command: 'sync',
    ...resolved,
    scope,
    firstUnsettled: plan.firstUnsettled,
    windowsPlanned: open.free + open.held,
  });
  const all = open.free + open.held + live.length;
  let tried = 0;
  const done = () => Math.min(all, totals.windows_drained + totals.windows_failed + tried);
  context.onStart?.(() => ({ totals, done: done(), all }));

  let end: LoadEnd = { outcome: 'failed', error: undefined };
  let read: LiveRead | undefined;
  try {
    end = await drainAll(opened.load, context.leaseSeconds, opened.end);
    if (live.length > 0 && mayContinue(end, opened)) {
      read = await readLive(opened.load, live, () => tried++);
      end = moreSevere(end, read.end);
    }
  } finally {
    end = endByClocks(end, resolved.clocks);
    await opened.close(end);
  }
  const windows = await countByState(warehouse, scope);
  const { end: _, ...answered } = read ?? { ...noLive, end };
  return {
    ...end,
    loadId: opened.load.loadId,
    totals,
    windows,
    scope,
    seconds: resolved.seconds(),
    historyLimit: resolved.historyLimit,
    isElsewhere: false,
    live: answered,
    seriesSkipped: plan.seriesSkipped,
  };
}

/** Two job files may have the same name, so the lock name includes what they load. */
function nameOfSync({ feed, name, selections, matchType, variants, startDate }: Job): string {
  return JSON.stringify([feed, name, selections, matchType, variants, startDate.toString()]);
}

/** Returns true if nothing stopped the whole load, even if some windows failed. */
function mayContinue({ outcome }: LoadEnd, { load }: OpenLoad): boolean {
  return (outcome === 'done' || outcome === 'incomplete') && !load.stop.aborted;
}
