import { GmsiError, withHint } from '../errors.ts';
import { RequestRefused } from '../service/errors.ts';
import { ClaimLost, forLog } from '../warehouse/errors.ts';
import { leaveRefused } from '../warehouse/tables/refusals.ts';
import { type ClaimedWindow, type Leaving, leaveWindow } from '../warehouse/tables/windows.ts';
import { endOf, type LoadEnd, type UnderWay } from './ends.ts';
import type { Load } from './load.ts';
import { presentParts } from './stages.ts';

/**
 * How the drain of a claimed window ended:
 * - `pending`: the window is free, at its checkpoint; `end` is set if an error ends the whole load
 * - `lost`: another load has claimed it
 * - `failed` or `refused`: the service or the warehouse returned `error`
 */
export type LeftWindow =
  | { readonly is: 'drained' | 'lost' }
  | {
      readonly is: 'failed' | 'refused';
      readonly error: unknown;
      /** True if the service refuses only this series, or old days of it, so that the next windows may succeed. */
      readonly concernsSeriesOnly: boolean;
    }
  | { readonly is: 'pending'; readonly end?: LoadEnd & { readonly underWay: UnderWay } };

/** Leaves a window whose drain ended with an error; decides whether the error ends only the window or the whole load. */
export async function leaveAfter(load: Load, window: ClaimedWindow, error: unknown): Promise<LeftWindow> {
  if (load.abort.aborted) return leavePending(load, window);
  if (error instanceof ClaimLost) return leaveLost(load, window);
  const end = endOf(error);
  if (end) return leavePending(load, window, end);
  return error instanceof RequestRefused ? refuse(load, window, error) : fail(load, window, error);
}

function leaveLost({ log }: Load, window: ClaimedWindow): LeftWindow {
  log.warn({ window: window.window_id }, 'another load has taken this window over');
  return { is: 'lost' };
}

/** Frees a window at its checkpoint. */
export async function leavePending(
  load: Load,
  window: ClaimedWindow,
  end?: LoadEnd & { readonly underWay: UnderWay },
): Promise<LeftWindow> {
  await leave(load, window, { state: 'pending' });
  return end ? { is: 'pending', end } : { is: 'pending' };
}

async function fail(load: Load, window: ClaimedWindow, error: unknown): Promise<LeftWindow> {
  load.totals.windows_failed++;
  const cause = error instanceof GmsiError ? error.causeCode : 'unexpected';
  const why = withHint(error);
  await leave(load, window, { state: 'failed', cause, error: why });
  const about = describeWindow(window);
  load.log.warn({ ...about, why }, 'a window failed');
  if (!(error instanceof GmsiError)) load.log.debug({ ...about, err: error }, 'the error was unexpected');
  return { is: 'failed', error, concernsSeriesOnly: false };
}

/** Stores that a window was refused; the warehouse decides which other windows of the series are refused with it. */
async function refuse(load: Load, window: ClaimedWindow, error: RequestRefused): Promise<LeftWindow> {
  const { warehouse, loadId, totals, log } = load;
  const at = { windowId: window.window_id, loadId };
  const refusal = { status: error.status, error: error.message };
  const left = await leaveRefused(warehouse, at, refusal);
  if (!left) return leaveLost(load, window);
  totals.windows_failed += 1 + left.skipped;
  const about = { ...describeWindow(window), why: error.message };
  log.warn(about, left.state === 'failed' ? 'a window failed' : 'a window was refused');
  if (left.skipped > 0)
    log.warn(
      { ...about, windows: left.skipped },
      'the service has never returned anything older for this series, so its older windows are skipped',
    );
  return {
    is: left.state,
    error,
    concernsSeriesOnly: error.isOfKey || left.is_older_than_answered || totals.windows_drained > 0,
  };
}

async function leave(load: Load, window: ClaimedWindow, leaving: Leaving): Promise<void> {
  const at = { windowId: window.window_id, loadId: load.loadId };
  try {
    // To mark a window as failed, this waits until the server is back, or the load would claim it again. To give it back, it
    // tries once: the lease frees it anyway.
    const warehouse = leaving.state === 'pending' ? load.warehouse.plain : load.warehouse;
    await leaveWindow(warehouse, at, leaving);
  } catch (error) {
    const message = 'the window could not be released; it is free once its lease runs out';
    load.log.warn({ window: window.window_id, ...forLog(error) }, message);
  }
}

function describeWindow(window: ClaimedWindow) {
  const { match_type: _, ...series } = presentParts(window);
  const { window_id, first_day, last_day } = window;
  return { window: window_id, ...series, first_day, last_day };
}
