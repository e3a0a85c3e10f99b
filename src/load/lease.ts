import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { forLog } from '../warehouse/errors.ts';
import { beat, type LoadTotals } from '../warehouse/tables/loads.ts';
import { ownsWindow } from '../warehouse/tables/windows.ts';

/** A load's claim on its windows, renewed by a heartbeat. */
export interface Lease {
  /**
   * Returns true if the window is still this load's. Queries the warehouse only if the last heartbeat is older than half the
   * lease, as after a suspended process or an unreachable warehouse.
   */
  owns(windowId: number): Promise<boolean>;
  /** Ends the heartbeat. */
  stop(): void;
}

/** Starts the heartbeat of a load: a beat every sixth of the lease, so that a few beats may fail. */
export function keepLease(
  warehouse: Warehouse,
  loadId: number,
  leaseSeconds: number,
  totals: LoadTotals,
  log: Log,
): Lease {
  let lastBeat = now();
  let beating = false;

  async function beatOnce(by: Warehouse): Promise<void> {
    const sentAt = now();
    await beat(by, loadId, totals);
    lastBeat = sentAt;
  }

  const heart = setInterval(
    () => {
      if (beating) return;
      beating = true;
      beatOnce(warehouse.plain)
        .catch((error) => log.warn(forLog(error), 'the heartbeat did not reach the warehouse'))
        .finally(() => {
          beating = false;
        });
    },
    (leaseSeconds * 1000) / 6,
  );

  return {
    async owns(windowId) {
      if (since(lastBeat) < (leaseSeconds * 1000) / 2) return true;
      await beatOnce(warehouse);
      return ownsWindow(warehouse, windowId, loadId);
    },
    stop: () => clearInterval(heart),
  };
}

/** Reads two clocks: the monotonic one stops while a machine sleeps, and the wall clock can be set back. */
function now() {
  return { monotonic: performance.now(), wall: Date.now() };
}

function since(then: ReturnType<typeof now>): number {
  const { monotonic, wall } = now();
  return Math.max(monotonic - then.monotonic, wall - then.wall);
}
