import { addAbortListener, setMaxListeners } from 'node:events';
import { kindOf } from '../errors.ts';
import { forLog } from '../warehouse/errors.ts';
import { rememberFields } from '../warehouse/tables/learned.ts';
import { compactReadings } from '../warehouse/tables/readings.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import { countByState } from '../warehouse/tables/windows.ts';
import type { LoadEnd, UnderWay } from './ends.ts';
import { type ListedLoad, listLoad } from './list-load.ts';
import type { Load, LoadContext, LoadResult } from './load.ts';
import type { ResolvedLoad } from './resolve-load.ts';
import { type LoadClosed, published } from './stages.ts';
import { knownFields } from './unknown-fields.ts';

/** Milliseconds that `abort soon` leaves to requests under way. */
const grace = 10_000;

/**
 * Runs a load of a resolved job: lists it, lets `work` do it, and stores how it ended.
 * @param about the windows and live answers that it has to do, for the progress
 */
export async function runLoad(
  context: LoadContext,
  about: ResolvedLoad & {
    readonly command: Load['command'];
    readonly scope: WindowScope;
    readonly windows: number;
    readonly live: number;
  },
  work: (load: Load, onLive: () => void) => Promise<LoadEnd>,
): Promise<LoadResult> {
  const { job, process, reason = null } = context;
  const { command, feed, scope, totals, reader, clocks, historyLimit } = about;
  const fields = await knownFields(context.warehouse, job, reader);
  const row = { command, job: job.name, feed: feed.name, reason, windows_planned: about.windows };
  const listed = await listLoad(context.warehouse, process, row, totals);
  const { log } = context;
  log.setBindings({ load: listed.loadId });
  const { dispose, ...signals } = endings(context.stop);
  const load: Load = {
    ...about,
    ...signals,
    loadId: listed.loadId,
    job,
    process,
    log,
    client: context.client,
    warehouse: context.warehouse.patient({ log, signal: signals.abort }),
    knownFields: fields,
    acceptRetractions: context.acceptRetractions ?? false,
    clock: clocks.now,
    startedAt: clocks.machine(),
    partitions: new Set(),
  };
  published.opened.publish(load);
  const all = about.windows + about.live;
  let tried = 0;
  // A window that restarts may count twice, so progress is capped.
  const done = () => Math.min(all, totals.windows_drained + totals.windows_failed + tried);
  context.onStart?.(() => ({ totals, done: done(), all }));
  let end: LoadEnd = { outcome: 'failed', error: undefined };
  try {
    end = await work(load, () => tried++);
  } finally {
    end = about.endWithNotes(end);
    dispose();
    await close(load, listed, end);
    published.closed.publish({ load, end } satisfies LoadClosed);
  }
  return {
    ...end,
    loadId: load.loadId,
    totals,
    rejectedValues: reader.rejectedValues,
    windows: await countByState(context.warehouse, scope),
    scope,
    historyLimit,
    seconds: about.seconds(),
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
    compactReadings(warehouse),
  ];
  const failed = (await Promise.allSettled(writes)).find((write) => write.status === 'rejected');
  if (failed) log.warn(forLog(failed.reason), 'the notes of the load could not be stored');
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
