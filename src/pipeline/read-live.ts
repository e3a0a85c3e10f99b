import { BudgetSpent } from '../api/errors.ts';
import { GmsiError } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import { WarehouseFull, WarehouseUnavailable } from '../warehouse/errors.ts';
import type { SeriesKey } from '../warehouse/queries/window-scope.ts';
import { commitLive } from './commit-page.ts';
import { failuresInARow, type LoadEnd } from './drain-all.ts';
import { fetchLive } from './fetch-page.ts';
import { countPage, type Load } from './load.ts';
import { readPage } from './read-page.ts';

export interface LiveRead {
  /** Series whose live answer is in. */
  readonly series: number;
  readonly records: number;
  /** Series that gave none; the historical feed brings their headlines later. */
  readonly failed: number;
  /** Series whose answer was as long as it may be: what else there was is not in it. */
  readonly cutOff: readonly SeriesKey[];
  readonly end: LoadEnd;
}

/** Reads the live feed once for each series, several at a time, and commits what it brings. */
export async function readLive(load: Load, all: readonly SeriesKey[], onDone: () => void): Promise<LiveRead> {
  const counts = { series: 0, records: 0, failed: 0 };
  const cutOff: SeriesKey[] = [];
  let end: LoadEnd = { outcome: 'done', error: undefined };
  const waiting = all.values();
  let inARow = 0;

  async function work(): Promise<void> {
    for (const key of waiting) {
      if (load.stop.aborted || endsRun(end)) return;
      try {
        const { records, isCutOff } = await readOne(load, { ...key, matchType: load.scope.matchType });
        counts.series++;
        counts.records += records;
        inARow = 0;
        if (isCutOff) cutOff.push(key);
      } catch (error) {
        if (load.abort.aborted) return;
        const isHopeless = ++inARow >= failuresInARow + load.job.service.concurrency;
        // What ended the run stays its end, whatever else still fails on the way out.
        if (!endsRun(end))
          end = endedBy(error) ?? { outcome: 'incomplete', error: isHopeless ? error : undefined };
        if (!(error instanceof BudgetSpent)) counts.failed++;
        load.log.warn({ ...key, why: (error as Error).message }, 'a live answer could not be had');
      }
      onDone();
    }
  }

  await Promise.all(Array.from({ length: load.job.service.concurrency }, work));
  if (load.stop.aborted && !endsRun(end)) end = { outcome: 'interrupted', error: undefined };
  return { ...counts, cutOff, end };
}

async function readOne(load: Load, series: Series): Promise<{ records: number; isCutOff: boolean }> {
  const page = await fetchLive(load.client, load.feed, series, load.job.service.parameters, load.abort);
  await load.origin.check(load.client.servedBy);
  const { rows, rejected } = readPage(page.records, load.reader);
  const { loadId, feed } = load;
  const records = page.records.length;
  const counts = await commitLive(
    load.warehouse,
    { feed, series, loadId, rows, rejected, records, polledAt: load.clock() },
    load.partitions,
  );
  countPage(load.totals, counts);
  return { records, isCutOff: page.isCutOff || page.nextToken !== null };
}

/** What an error means for the rest of the run; `undefined` where it concerns one series only. */
function endedBy(error: unknown): LoadEnd | undefined {
  if (error instanceof BudgetSpent) return { outcome: 'budget', error };
  if (error instanceof WarehouseUnavailable || error instanceof WarehouseFull)
    return { outcome: 'incomplete', error };
  return error instanceof GmsiError && error.kind === 'fatal' ? { outcome: 'failed', error } : undefined;
}

function endsRun({ outcome, error }: LoadEnd): boolean {
  return outcome !== 'done' && error !== undefined;
}
