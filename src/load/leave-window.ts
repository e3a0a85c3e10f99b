import { GmsiError } from '../errors.ts';
import { RequestRefused } from '../service/errors.ts';
import { ClaimLost, forLog } from '../warehouse/errors.ts';
import { leaveRefused } from '../warehouse/tables/refusals.ts';
import { type ClaimedWindow, type Leaving, leaveWindow } from '../warehouse/tables/windows.ts';
import { endedBy, type LoadEnd, type UnderWay } from './ends.ts';
import type { Load } from './load.ts';
import { presentParts } from './steps.ts';

/**
 * How the drain of a claimed window ended:
 * - `given back`: the window is free, at its checkpoint; `ends` is set if an error ends the whole load
 * - `taken over`: another load has claimed it
 * - `failed` or `refused`: the service or the warehouse returned `error`
 */
export type WindowEnd =
  | { readonly is: 'drained' | 'taken over' }
  | {
      readonly is: 'failed' | 'refused';
      readonly error: unknown;
      /** True if the service refuses only this series, or old days of it, so that the next windows may succeed. */
      readonly concernsSeriesOnly: boolean;
    }
  | { readonly is: 'given back'; readonly ends?: LoadEnd & { readonly underWay: UnderWay } };

/** Leaves a window whose drain ended with an error; decides whether the error ends only the window or the whole load. */
export async function leaveAfter(load: Load, window: ClaimedWindow, error: unknown): Promise<WindowEnd> {
  if (load.abort.aborted) return giveBack(load, window);
  if (error instanceof ClaimLost) return takenOver(load, window);
  const ends = endedBy(error);
  if (ends) return giveBack(load, window, ends);
  return error instanceof RequestRefused ? refuse(load, window, error) : fail(load, window, error);
}

function takenOver({ log }: Load, window: ClaimedWindow): WindowEnd {
  log.warn({ window: window.window_id }, 'another load has taken this window over');
  return { is: 'taken over' };
}

/** Frees a window at its checkpoint. */
export async function giveBack(
  load: Load,
  window: ClaimedWindow,
  ends?: LoadEnd & { readonly underWay: UnderWay },
): Promise<WindowEnd> {
  await leave(load, window, { state: 'pending' });
  return ends ? { is: 'given back', ends } : { is: 'given back' };
}

async function fail(load: Load, window: ClaimedWindow, error: unknown): Promise<WindowEnd> {
  load.totals.windows_failed++;
  const message = error instanceof Error ? error.message : String(error);
  await leave(load, window, { state: 'failed', error: message });
  const about = describeWindow(window);
  load.log.warn({ ...about, why: message }, 'a window failed');
  if (!(error instanceof GmsiError)) load.log.debug({ ...about, err: error }, 'the error was unexpected');
  return { is: 'failed', error, concernsSeriesOnly: false };
}

/** Stores that a window was refused; the warehouse decides which other windows of the series are refused with it. */
async function refuse(load: Load, window: ClaimedWindow, error: RequestRefused): Promise<WindowEnd> {
  const { warehouse, loadId, totals, log } = load;
  const at = { windowId: window.window_id, loadId };
  const refusal = { status: error.status, error: error.message };
  const left = await leaveRefused(warehouse, at, refusal);
  if (!left) return takenOver(load, window);
  totals.windows_failed += 1 + left.skipped;
  const about = { ...describeWindow(window), why: error.message };
  log.warn(about, left.state === 'failed' ? 'a window failed' : 'a window was refused');
  if (left.skipped > 0)
    log.warn(
      { ...about, windows: left.skipped },
      'the service has answered nothing older of this series, so its older windows are skipped',
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
    const message = 'the window could not be given back; it is free once its lease runs out';
    load.log.warn({ window: window.window_id, ...forLog(error) }, message);
  }
}

function describeWindow(window: ClaimedWindow) {
  const { match_type: _, ...series } = presentParts(window);
  const { window_id, first_day, last_day } = window;
  return { window: window_id, ...series, first_day, last_day };
}
