import { GmsiError } from '../errors.ts';
import { BudgetSpent } from '../service/errors.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';

/** How a load ended, and the error that ended it early, if one did. */
export interface LoadEnd {
  readonly outcome: LoadOutcome;
  readonly error: unknown;
}

/**
 * What becomes of requests under way once a load ends. `finish` waits for them, however slow the service is, because they
 * count against the budget and would be sent again.
 */
export type UnderWay = 'abort' | 'abort soon' | 'finish';

/**
 * How serious an end is: a refused key needs a person, a spent budget needs time, and failed windows need only a rerun. So a
 * spent budget counts more than windows that failed before: until the next month, no rerun helps.
 */
const gravity: Record<LoadOutcome, number> = { done: 0, incomplete: 1, interrupted: 2, budget: 3, failed: 4 };

/** Of two ends of one load, the more serious one; of equal ones, the first that has an error. */
export function graver(first: LoadEnd, second: LoadEnd): LoadEnd {
  const difference = gravity[second.outcome] - gravity[first.outcome];
  return difference > 0 || (difference === 0 && first.error === undefined) ? second : first;
}

/** How an error ends a load, and its requests under way; `undefined` if it concerns one window or series only. */
export function endedBy(error: unknown): (LoadEnd & { readonly underWay: UnderWay }) | undefined {
  if (error instanceof WarehouseUnavailable || error instanceof WarehouseFull)
    return { outcome: 'incomplete', error, underWay: 'abort' };
  if (error instanceof BudgetSpent) return { outcome: 'budget', error, underWay: 'finish' };
  if (error instanceof GmsiError && error.kind === 'fatal')
    return { outcome: 'failed', error, underWay: 'abort' };
  return undefined;
}
