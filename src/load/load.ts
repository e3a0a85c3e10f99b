import { addAbortListener, setMaxListeners } from 'node:events';
import type { Job } from '../config/job.ts';
import { kindOf } from '../errors.ts';
import type { Feed, RecordReader } from '../feeds/feed.ts';
import type { OtherSeries } from '../feeds/reading/other-series.ts';
import type { Log } from '../log.ts';
import type { ShortenedPeriod } from '../plan/days.ts';
import type { Client } from '../service/client.ts';
import type { PageCounts } from '../warehouse/commit.ts';
import type { PatientWarehouse } from '../warehouse/connect.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { forLog } from '../warehouse/errors.ts';
import type { KeptProcess } from '../warehouse/keep-process.ts';
import { rememberFields } from '../warehouse/tables/learned.ts';
import { addPage, type LoadTotals, noTotals } from '../warehouse/tables/loads.ts';
import type { Origin } from '../warehouse/tables/origin.ts';
import type { KnownPartitions } from '../warehouse/tables/rows.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import type { WindowsByState } from '../warehouse/tables/windows.ts';
import { type Clocks, watchClocks } from './clocks.ts';
import type { LoadEnd, UnderWay } from './ends.ts';
import { type ListedLoad, listLoad } from './list-load.ts';
import { type CommittedPage, type LoadClosed, published } from './stages.ts';
import { knownFields as fieldsKnownTo } from './unknown-fields.ts';

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

/** A load that has begun. */
export interface OpenLoad {
  readonly load: Load;
  /** Fires the load's `stop` signal and, depending on `underWay`, its `abort` signal. */
  readonly end: (underWay: UnderWay) => void;
  /** Stores how the load ended, and leaves its windows. */
  close(end: LoadEnd): Promise<void>;
}

/** Milliseconds that `abort soon` leaves to requests under way. */
const grace = 10_000;

/** Returns the clocks that decide which days of a load are over. The service's is unknown before the first request. */
export function clocksOf({ client, clock: machine, log }: LoadContext): Clocks {
  const clocks = watchClocks({ machine, service: () => client.serviceTime, log });
  clocks.compare();
  return clocks;
}

/** Begins a load of a job: its row in `loads`, its signals. */
export async function openLoad(
  context: LoadContext,
  about: {
    readonly command: Load['command'];
    readonly feed: Feed;
    readonly scope: WindowScope;
    readonly reader: RecordReader;
    readonly otherSeries: OtherSeries;
    readonly origin: Origin;
    readonly clocks: Clocks;
    readonly totals: LoadTotals;
    /** Windows to drain. */
    readonly windowsPlanned: number;
  },
): Promise<OpenLoad> {
  const { job, client, process, reason = null } = context;
  const { command, feed, totals, windowsPlanned: windows_planned, ...rest } = about;
  const knownFields = await fieldsKnownTo(context.warehouse, job, about.reader);
  const row = { command, job: job.name, feed: feed.name, reason, windows_planned };
  const listed = await listLoad(context.warehouse, process, row, totals);
  const { loadId } = listed;
  const log = context.log.child({ load: loadId, job: job.name });
  const { stop, abort, end, dispose } = endings(context.stop);
  const warehouse = context.warehouse.patient({ log, signal: abort });
  const load: Load = {
    loadId,
    command,
    job,
    feed,
    client,
    warehouse,
    knownFields,
    process,
    log,
    totals,
    stop,
    abort,
    ...rest,
    acceptRetractions: context.acceptRetractions ?? false,
    clock: rest.clocks.now,
    startedAt: rest.clocks.machine(),
    partitions: new Set(),
  };
  published.opened.publish(load);
  return {
    load,
    end,
    async close(end) {
      dispose();
      await close(load, listed, end);
      published.closed.publish({ load, end } satisfies LoadClosed);
    },
  };
}

async function close(load: Load, listed: ListedLoad, end: LoadEnd): Promise<void> {
  const { loadId, log, feed, reader } = load;
  // Whoever has waited for minutes does not wait again.
  const warehouse = kindOf(end.error) === 'warehouse' ? load.warehouse.plain : load.warehouse;
  if (reader.rejectedValues.size > 0)
    log.warn(
      { values: Object.fromEntries(reader.rejectedValues) },
      'values could not be read, so they are null',
    );
  const writes = [
    listed.end(warehouse, log, end.outcome, end.error),
    rememberFields(warehouse, feed.name, loadId, reader.fieldsSeen).then(({ appeared, vanished }) => {
      if (appeared.length > 0)
        log.warn({ fields: someOf(appeared) }, 'records have fields that no load has seen before');
      if (vanished.length > 0) log.warn({ fields: someOf(vanished) }, 'records no longer have these fields');
    }),
  ];
  const failed = (await Promise.allSettled(writes)).find((write) => write.status === 'rejected');
  if (failed) log.warn(forLog(failed.reason), 'the fields of the load could not be stored');
}

/** Shortens a long list of fields for the log. */
function someOf(names: readonly string[]): readonly string[] {
  const shown = 20;
  return names.length > shown ? [...names.slice(0, shown), `and ${names.length - shown} more`] : names;
}

/** Returns the two signals of a load; `outside` or `end` fires them. */
function endings(outside: AbortSignal) {
  const stop = new AbortController();
  const abort = new AbortController();
  // Every request under way adds a listener.
  setMaxListeners(0, stop.signal, abort.signal);
  let soon: NodeJS.Timeout | undefined;
  const end = (underWay: UnderWay) => {
    stop.abort();
    if (underWay === 'abort') abort.abort();
    if (underWay === 'abort soon') soon ??= setTimeout(() => abort.abort(), grace);
  };
  if (outside.aborted) end('abort soon');
  const listening = addAbortListener(outside, () => end('abort soon'));
  const dispose = () => {
    clearTimeout(soon);
    listening[Symbol.dispose]();
  };
  return { stop: stop.signal, abort: abort.signal, end, dispose };
}

/** The result of a load that had nothing to do. */
export function nothingDone(totals: LoadTotals, seconds: number): LoadResult {
  const windows = { pending: 0, draining: 0, drained: 0, failed: 0, refused: 0 };
  return {
    outcome: 'done',
    error: undefined,
    loadId: undefined,
    totals,
    rejectedValues: new Map(),
    windows,
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
