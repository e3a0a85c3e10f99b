import { planRefresh } from '../plan/plan-refresh.ts';
import { type PlanOptions, planWindows } from '../plan/plan-windows.ts';
import { countByState, countOpen } from '../warehouse/tables/windows.ts';
import type { LoadEnd } from './ends.ts';
import { drainToEnd } from './evidence.ts';
import { type LoadContext, type LoadResult, openLoad } from './load.ts';
import { resolveLoad, withLearnedFacts } from './resolve-load.ts';

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
  const { scope, historyLimit, totals, seconds } = resolved;
  if (!scope) return resolved.nothingToDo();
  const { warehouse } = context;
  if (all === 0) {
    const windows = await countByState(warehouse, scope);
    const nothing = resolved.nothingToDo();
    return { ...nothing, ...(windows.refused > 0 ? { outcome: 'incomplete' } : {}), windows, scope };
  }

  const opened = await openLoad(context, {
    command: 'backfill',
    ...resolved,
    scope,
    windowsPlanned: all,
  });
  // A window that restarts may count twice, so progress is capped.
  const done = () => Math.min(all, totals.windows_drained + totals.windows_failed);
  context.onStart?.(() => ({ totals, done: done(), all }));

  let end: LoadEnd = { outcome: 'failed', error: undefined };
  try {
    const wanted = context.plan === 'refresh' ? undefined : { days: { ignoreCoverage: false } };
    end = await drainToEnd(opened, wanted);
  } finally {
    end = resolved.endWithNotes(end);
    await opened.close(end);
  }
  const windows = await countByState(warehouse, scope);
  const { rejectedValues } = resolved.reader;
  return {
    ...end,
    loadId: opened.load.loadId,
    totals,
    rejectedValues,
    windows,
    scope,
    historyLimit,
    seconds: seconds(),
  };
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
