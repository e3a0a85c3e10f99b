import { kindOf } from '../errors.ts';
import type { LoadOutcome } from '../warehouse/database.ts';

/** How a load ended, with the error if one ended it early. */
export interface LoadEnd {
  readonly outcome: LoadOutcome;
  readonly error: unknown;
}

/**
 * What happens to requests under way when a load ends. `finish` waits for them, however slow the service is: they already
 * count against the budget, and a later load would have to send them again.
 */
export type UnderWay = 'abort' | 'abort soon' | 'finish';

/**
 * How serious an end is. A refused key needs a person, a spent budget needs the next month, failed windows need only a
 * rerun.
 */
const severity: Record<LoadOutcome, number> = {
  done: 0,
  incomplete: 1,
  interrupted: 2,
  budget: 3,
  failed: 4,
};

/** Returns the more serious of two ends; if they are equally serious, the first one with an error. */
export function moreSevere(first: LoadEnd, second: LoadEnd): LoadEnd {
  const difference = severity[second.outcome] - severity[first.outcome];
  return difference > 0 || (difference === 0 && first.error === undefined) ? second : first;
}

/** Returns how an error ends the whole load; `undefined` if it concerns only one window or series. */
export function endOf(error: unknown): (LoadEnd & { readonly underWay: UnderWay }) | undefined {
  const kind = kindOf(error);
  if (kind === 'warehouse') return { outcome: 'incomplete', error, underWay: 'abort' };
  if (kind === 'budget') return { outcome: 'budget', error, underWay: 'finish' };
  if (kind === 'fatal') return { outcome: 'failed', error, underWay: 'abort' };
  return undefined;
}
