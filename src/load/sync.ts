import { planDueSync } from '../plan/plan-sync.ts';
import { forLog } from '../warehouse/errors.ts';
import { leaveJob, takeJob } from '../warehouse/tables/schedules.ts';
import { countOpen } from '../warehouse/tables/windows.ts';
import { type LoadEnd, moreSevere } from './ends.ts';
import { drainToEnd, goneBack, isKnown } from './evidence.ts';
import { countingTotals, type Load, type LoadContext, type LoadResult, nothingDone } from './load.ts';
import { type LiveRead, readLive } from './read-live.ts';
import { resolveLoad, withLearnedFacts } from './resolve-load.ts';
import { runLoad } from './run-load.ts';

export interface SyncResult extends LoadResult {
  readonly live: Omit<LiveRead, 'end'>;
  /** Series that the job's cadence skipped. */
  readonly seriesSkipped: number;
}

const noLive: SyncResult['live'] = { series: 0, records: 0, failed: 0 };

/**
 * Brings a job's series up to date. Drains the lookback days again and every missing day since the watch began, then reads
 * the live feed. A live answer may be incomplete: the days that it reaches have just been drained, and the next sync drains them
 * again.
 * @throws if the load cannot begin, for example because the service refuses the key
 */
export async function sync(given: LoadContext): Promise<SyncResult> {
  const context = await withLearnedFacts(given);
  const { warehouse } = context;
  const resolved = await resolveLoad(context);
  const nothing = () => ({ ...resolved.nothingToDo(), live: noLive, seriesSkipped: 0 });
  if (!resolved.scope) return nothing();

  const plan = await planDueSync(context, resolved.scope, { ...resolved, now: resolved.clocks.now() });
  if (!plan) return nothing();

  const { scope, live } = plan;
  const nobody = { loadId: 0, leaseSeconds: context.process.leaseSeconds };
  const open = await countOpen(warehouse, scope, nobody);
  const windows = open.free + open.held;
  let answered = noLive;
  const about = { command: 'sync', ...resolved, scope, windows, live: live.length } as const;
  const result = await runLoad(context, about, async (load, onLive) => {
    const drained = await drainToEnd(load, { days: plan, series: plan.series });
    if (live.length === 0 || !mayContinue(drained, load)) return drained;
    const { end, ...read } = await readLive(load, live, onLive);
    answered = read;
    const whole = moreSevere(drained, end);
    if (await isKnown(load)) return whole;
    return moreSevere(whole, { outcome: 'incomplete', error: goneBack('this load') });
  });
  return { ...result, live: answered, seriesSkipped: plan.seriesSkipped };
}

/** A sync that another process may have been running. */
export interface SyncUnlessRunning extends SyncResult {
  /** True if another process is syncing the job, so that this one did nothing. */
  readonly isElsewhere: boolean;
}

/** Syncs a job unless another living process, such as a worker, is syncing it. */
export async function syncUnlessRunning(context: LoadContext): Promise<SyncUnlessRunning> {
  const { job, log, process, warehouse } = context;
  const own = { job: job.name, command: 'sync' } as const;
  if (!(await takeJob(warehouse, own, process))) {
    const nothing = nothingDone(countingTotals(context.client), 0);
    return { ...nothing, isElsewhere: true, live: noLive, seriesSkipped: 0 };
  }
  try {
    return { ...(await sync(context)), isElsewhere: false };
  } finally {
    // If this fails, the job is free once this process has stopped.
    await leaveJob(warehouse, own, process.processId).catch((error) =>
      log.warn(forLog(error), 'the job could not be released'),
    );
  }
}

/** Returns true if nothing stopped the whole load, even if some windows failed. */
function mayContinue({ outcome }: LoadEnd, { stop }: Load): boolean {
  return (outcome === 'done' || outcome === 'incomplete') && !stop.aborted;
}
