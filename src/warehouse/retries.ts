import pRetry from 'p-retry';
import type { Log } from '../log.ts';
import {
  namedDatabaseError,
  WarehouseUnavailable,
  WriteCrossed,
  WriteCutOff,
  WriteGivenUp,
  WriteTooSlow,
} from './errors.ts';

/** How the work of a load waits for a warehouse that does not answer. */
export interface Patience {
  /** Logs what the work waits for, after some seconds and then twice a minute. */
  readonly log?: Log;
  /** Once it fires, nothing is repeated; work that begins later is tried once. */
  readonly signal?: AbortSignal;
}

/** How often a write may fail with an error that it may have caused itself. Other errors do not count. */
const triesOf = { cutOff: 3, tooSlow: 8, crossed: 8 };

/**
 * Repeats work while the warehouse is restarting, has no free connections, broke a deadlock, or others hold locks on its
 * rows: for about two minutes, then throws the error.
 * @throws WriteGivenUp if a write broke its connection three times, or was too slow eight times, so that it cannot crash the
 * server or keep it busy forever; the server's error if a write met another's rows eight times; the signal's reason if it
 * fires meanwhile
 */
export function retried<T>(work: () => Promise<T>, { log, signal }: Patience = {}): Promise<T> {
  const failed = { cutOff: 0, tooSlow: 0, crossed: 0 };
  const since = performance.now();
  const wasStopped = signal?.aborted ?? false;
  return pRetry(
    async () => {
      try {
        return await work();
      } catch (error) {
        const named = namedDatabaseError(error);
        if (named instanceof WriteCutOff && ++failed.cutOff === triesOf.cutOff) throw brokenOff(named);
        if (named instanceof WriteTooSlow && ++failed.tooSlow === triesOf.tooSlow) throw tooSlow(named);
        // After so many tries, it is not another session: the rows themselves violate the index.
        if (named instanceof WriteCrossed && ++failed.crossed === triesOf.crossed) throw named.cause;
        // The next try finds the rows of the other session, so there is nothing to log.
        const isNews = named instanceof WarehouseUnavailable && !(named instanceof WriteCrossed);
        if (log && isNews) sayWhy(log, named, since);
        if (named instanceof WarehouseUnavailable && !wasStopped) signal?.throwIfAborted();
        throw named;
      }
    },
    {
      retries: 30,
      minTimeout: 100,
      factor: 1.6,
      maxTimeout: 5_000,
      randomize: true,
      shouldRetry: ({ error }) => error instanceof WarehouseUnavailable && !signal?.aborted,
    },
  );
}

// The message repeats the hint, because a window's last_error has only the message.
function brokenOff(cause: WriteCutOff): WriteGivenUp {
  const hint = "The server's log says why; a smaller service.page_size in the job file may help.";
  return new WriteGivenUp(`${cause.message}, ${triesOf.cutOff} times in a row. ${hint}`, { cause, hint });
}

function tooSlow(cause: WriteTooSlow): WriteGivenUp {
  const hint =
    'If the disk is slow, raise gmsi.as_of_delay() (docs/operating.md, "Locks and slow disks"), or lower service.page_size.';
  return new WriteGivenUp(`${cause.message}, ${triesOf.tooSlow} times in a row. ${hint}`, { cause, hint });
}

const [firstSaidAfter, saidEvery] = [2_000, 30_000];
const lastSaid = new WeakMap<Log, number>();

/** Logs once for all parts of a load, which wait for the same warehouse. */
function sayWhy(log: Log, { message }: Error, since: number): void {
  const now = performance.now();
  if (now - since < firstSaidAfter || now - (lastSaid.get(log) ?? -Infinity) < saidEvery) return;
  lastSaid.set(log, now);
  log.warn({ why: message }, 'waiting for the warehouse, and trying again');
}
