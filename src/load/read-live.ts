import type { Series } from '../feeds/feed.ts';
import { RequestRefused } from '../service/errors.ts';
import { commitLive } from './commit-page.ts';
import { failuresInARow } from './drain-all.ts';
import { endOf, type LoadEnd, moreSevere } from './ends.ts';
import { fetchLive } from './fetch-page.ts';
import { countPage, type Load } from './load.ts';
import { timesOfLive, warnOfOtherDays } from './other-days.ts';
import { readPage } from './read-page.ts';
import { inStage, presentParts } from './stages.ts';
import { refuseUnknownFields } from './unknown-fields.ts';

export interface LiveRead {
  /** Series whose live answer was committed. */
  readonly series: number;
  readonly records: number;
  /** Series without an answer; the historical feed returns their headlines later. */
  readonly failed: number;
  readonly end: LoadEnd;
}

/**
 * Reads the live feed once for each series, several at a time, and commits each answer.
 * @param onDone called after each series, with or without an answer
 */
export async function readLive(
  load: Load,
  all: readonly Series[],
  onDone: (series: Series) => void,
): Promise<LiveRead> {
  const counts = { series: 0, records: 0, failed: 0 };
  let end: LoadEnd = { outcome: 'done', error: undefined };
  const waiting = all.values();
  let failedInARow = 0;

  async function work(): Promise<void> {
    for (const key of waiting) {
      if (load.stop.aborted || endsRun(end)) return;
      try {
        counts.records += await readOne(load, key);
        counts.series++;
        failedInARow = 0;
      } catch (error) {
        if (load.abort.aborted) return;
        const isOfSeries = error instanceof RequestRefused && error.isOfKey;
        const isHopeless = !isOfSeries && ++failedInARow >= failuresInARow + load.job.service.concurrency;
        const whole = endOf(error) ?? {
          outcome: 'incomplete' as const,
          error: isHopeless ? error : undefined,
        };
        end = moreSevere(end, whole);
        if (whole.outcome !== 'budget') counts.failed++;
        load.log.warn({ ...presentParts(key), why: (error as Error).message }, 'a live request failed');
      }
      onDone(key);
    }
  }

  await Promise.all(Array.from({ length: load.job.service.concurrency }, work));
  if (load.stop.aborted && !endsRun(end)) end = { outcome: 'interrupted', error: undefined };
  return { ...counts, end };
}

async function readOne(load: Load, series: Series): Promise<number> {
  return inStage('live', load, presentParts(series), async () => {
    const { feed, client, job, clocks } = load;
    const askedAt = clocks.machine();
    const page = await inStage('fetch', load, {}, () =>
      fetchLive(client, feed, series, job.service.pageSize, job.service.parameters, load.abort),
    );
    await load.origin.check(client.servedBy, client.answeredAt);
    refuseUnknownFields(page.records, load.knownFields);
    const read = await inStage('read', load, { records: page.records.length }, () =>
      readPage(page.records, { ...load, table: feed.table, series }, timesOfLive(load.clock())),
    );
    const { records } = read;
    const asked = { at: askedAt, ...clocks.daysAt(askedAt, job.lookbackDays) };
    const commit = () => commitLive(load, { ...read, series }, asked);
    countPage(load, await inStage('commit', load, { records }, commit));
    warnOfOtherDays(load, series, read.outside);
    return records;
  });
}

function endsRun({ outcome, error }: LoadEnd): boolean {
  return outcome !== 'done' && error !== undefined;
}
