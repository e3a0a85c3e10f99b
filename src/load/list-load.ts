import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { forLog } from '../warehouse/errors.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import { finishLoad, type LoadTotals, startLoad, storeTotals } from '../warehouse/tables/loads.ts';

/** A load in the warehouse's list, with its totals as of the last heartbeat. */
export interface ListedLoad {
  readonly loadId: number;
  /** Stores how it ended. If that fails, it is tried again with each heartbeat, for as long as the process keeps what it owns. */
  end(warehouse: Warehouse, log: Log, outcome: LoadOutcome, error: unknown): Promise<void>;
}

/** Registers a load of a process. @param totals stored with each heartbeat */
export async function listLoad(
  warehouse: Warehouse,
  process: KeptProcess,
  about: Parameters<typeof startLoad>[2],
  totals: LoadTotals,
): Promise<ListedLoad> {
  const own = await startLoad(warehouse, process, about);
  const stopStoring = process.withEachBeat((by) => storeTotals(by, own, totals));
  return {
    loadId: own.loadId,
    async end(warehouse, log, outcome, error) {
      stopStoring();
      const message = error instanceof Error ? error.message : null;
      const finish = (by: Warehouse) => finishLoad(by, own, outcome, totals, message);
      await finish(warehouse).catch((error) => {
        log.warn(forLog(error), 'the end of the load could not be stored');
        const stop = process.withEachBeat((by) => finish(by).then(stop));
      });
    },
  };
}
