import type { Job } from '../config/job.ts';
import type { Feed, RecordReader } from '../feeds/feed.ts';
import type { OtherSeries } from '../feeds/reading/other-series.ts';
import type { Log } from '../log.ts';
import type { ShortenedPeriod } from '../plan/days.ts';
import type { Client } from '../service/client.ts';
import type { PageCounts } from '../warehouse/commit.ts';
import type { PatientWarehouse } from '../warehouse/connect.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import { addPage, type LoadTotals, noTotals } from '../warehouse/tables/loads.ts';
import type { Origin } from '../warehouse/tables/origin.ts';
import type { KnownPartitions } from '../warehouse/tables/rows.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import { noWindows, type WindowsByState } from '../warehouse/tables/windows.ts';
import type { Clocks } from './clocks.ts';
import type { UnderWay } from './ends.ts';
import { type CommittedPage, published } from './stages.ts';

/** One load of one job. */
export interface Load {
  readonly loadId: number;
  readonly command: 'backfill' | 'sync';
  readonly job: Job;
  readonly feed: Feed;
  readonly scope: WindowScope;
  /** True to allow a window to retract most rows of its days; otherwise such a window fails. */
  readonly acceptRetractions: boolean;
  readonly client: Client;
  readonly warehouse: PatientWarehouse;
  readonly reader: RecordReader;
  readonly otherSeries: OtherSeries;
  /** The fields that records may have; `undefined` if they may have any. */
  readonly knownFields: ReadonlySet<string> | undefined;
  /** The process that runs it; its heartbeat keeps the load's windows. */
  readonly process: KeptProcess;
  readonly origin: Origin;
  readonly partitions: KnownPartitions;
  readonly log: Log;
  /** The time by the earlier clock. */
  readonly clock: () => Date;
  readonly clocks: Clocks;
  /** When it began, by this machine's clock. */
  readonly startedAt: Date;
  /** Counted up as pages are committed. */
  readonly totals: LoadTotals;
  /** Fires when no further page may be requested; pages in flight are still committed. */
  readonly stop: AbortSignal;
  /** Fires when requests under way must end as well. */
  readonly abort: AbortSignal;
  /** Fires `stop` and, depending on `underWay`, `abort`. */
  readonly end: (underWay: UnderWay) => void;
}

/** Adds a committed page, or live answer, to a load's totals. */
export function countPage({ totals, feed }: Load, counts: PageCounts): void {
  addPage(totals, counts);
  published.committed.publish({ feed: feed.name, counts } satisfies CommittedPage);
}

export interface LoadContext {
  readonly job: Job;
  readonly warehouse: PatientWarehouse;
  readonly client: Client;
  readonly log: Log;
  readonly clock: () => Date;
  readonly process: KeptProcess;
  /** See `Load`; false by default. */
  readonly acceptRetractions?: boolean;
  /** The user's reason for the load, stored in `loads`. */
  readonly reason?: string | undefined;
  /** Stops the load normally: pages in flight are committed. */
  readonly stop: AbortSignal;
  /** Called once the load has begun. */
  readonly onStart?: (progress: () => LoadProgress) => void;
}

export interface LoadProgress {
  readonly totals: Readonly<LoadTotals>;
  /** Finished windows and live answers; `all` is their number at the beginning. */
  readonly done: number;
  readonly all: number;
}

export interface LoadResult {
  readonly outcome: LoadOutcome;
  /** The error that ended the load early, if one did. */
  readonly error: unknown;
  /** `undefined` if there was nothing to load. */
  readonly loadId: number | undefined;
  readonly totals: Readonly<LoadTotals>;
  /** As in `RecordReader`. */
  readonly rejectedValues: RecordReader['rejectedValues'];
  /** The job's windows after the load. */
  readonly windows: WindowsByState;
  readonly scope: WindowScope | undefined;
  /** How a history limit shortened the job's period; `undefined` if it did not. */
  readonly historyLimit: ShortenedPeriod | undefined;
  /** Wall time of the load in seconds. */
  readonly seconds: number;
}

/** The result of a load that had nothing to do. */
export function nothingDone(totals: LoadTotals, seconds: number): LoadResult {
  return {
    outcome: 'done',
    error: undefined,
    loadId: undefined,
    totals,
    rejectedValues: new Map(),
    windows: noWindows,
    seconds,
    scope: undefined,
    historyLimit: undefined,
  };
}

/** Returns totals at zero, with the requests that the client counts. */
export function countingTotals(client: Client): LoadTotals {
  return {
    ...noTotals,
    get requests() {
      return client.requests;
    },
  };
}
