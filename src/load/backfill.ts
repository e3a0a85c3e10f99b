import { planRefresh } from '../plan/plan-refresh.ts';
import { type PlanOptions, planWindows } from '../plan/plan-windows.ts';
import { countByState, countOpen } from '../warehouse/tables/windows.ts';
import { drainToEnd } from './evidence.ts';
import type { LoadContext, LoadResult } from './load.ts';
import { resolveLoad, withLearnedFacts } from './resolve-load.ts';
import { runLoad } from './run-load.ts';

export interface BackfillContext extends LoadContext {
  /** `refresh`: the covered days that were drained longest ago, instead of those that are missing. */
  readonly plan: PlanOptions | 'refresh';
}

/**
 * Drains every day of the job's period that is not covered yet. Half-drained windows come first. If the load ends early,
 * committed pages stay, and a rerun continues after them.
 * @throws if the load cannot begin, for example because the service refuses the key
 */
export async function backfill(given: BackfillContext): Promise<LoadResult> {
  const { context, resolved, open: all } = await planBackfill(given);
  const { scope } = resolved;
  if (!scope) return resolved.nothingToDo();
  const { warehouse } = context;
  if (all === 0) {
    const windows = await countByState(warehouse, scope);
    const nothing = resolved.nothingToDo();
    return { ...nothing, ...(windows.refused > 0 ? { outcome: 'incomplete' } : {}), windows, scope };
  }

  const wanted = context.plan === 'refresh' ? undefined : { days: { ignoreCoverage: false } };
  const about = { command: 'backfill', ...resolved, scope, windows: all, live: 0 } as const;
  return runLoad(context, about, (load) => drainToEnd(load, wanted));
}

/**
 * Plans a backfill.
 * @returns what it is resolved to, and how many windows are open, including those that were planned before
 */
export async function planBackfill(given: BackfillContext) {
  const context = await withLearnedFacts(given);
  const { job, warehouse, process } = context;
  const resolved = await resolveLoad(context);
  const { scope, today } = resolved;
  if (!scope) return { context, resolved, open: 0 };
  if (context.plan === 'refresh') {
    const open = await planRefresh(warehouse, job, scope, today, context);
    return { context, resolved, open };
  }
  await planWindows(warehouse, job, scope, context.plan, today.toString(), context);
  const { free, held } = await countOpen(warehouse, scope, { loadId: 0, leaseSeconds: process.leaseSeconds });
  return { context, resolved, open: free + held };
}
