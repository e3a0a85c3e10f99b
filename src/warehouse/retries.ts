import pRetry from 'p-retry';
import type { Log } from '../log.ts';
import { namedDatabaseError, WarehouseUnavailable, WriteFailed, WriteGivenUp } from './errors.ts';

/** How the work of a load waits for a warehouse that does not answer. */
export interface Patience {
  /** Logs what the work waits for, after some seconds and then twice a minute. */
  readonly log?: Log;
  /** Once it fires, nothing is repeated; work that begins later is tried once. */
  readonly signal?: AbortSignal;
}

/** After how many failures a write is given up, which may have caused them itself; a lock is waited for like a restart. */
const triesOf: Readonly<Record<WriteFailed['why'], number>> = {
  'cut off': 3,
  'too slow': 8,
  crossed: 8,
  locked: Number.POSITIVE_INFINITY,
};

/**
 * Repeats work while the warehouse is restarting, has no free connections, broke a deadlock, or others hold locks on its
 * rows: for about two minutes, then throws the error.
 * @throws WriteGivenUp if a write broke its connection three times, or was too slow eight times, so that it cannot crash the
 * server or keep it busy forever; the server's error if a write hit another's rows eight times; the signal's reason if it
 * fires meanwhile
 */
export function retried<T>(work: () => Promise<T>, { log, signal }: Patience = {}): Promise<T> {
  const failed = { 'cut off': 0, 'too slow': 0, crossed: 0, locked: 0 };
  const since = performance.now();
  const wasStopped = signal?.aborted ?? false;
  return pRetry(
    async () => {
      try {
        return await work();
      } catch (error) {
        const named = namedDatabaseError(error);
        if (!mayPass(named)) throw named;
        if (named instanceof WriteFailed && ++failed[named.why] === triesOf[named.why]) throw givenUp(named);
        // The next try finds the rows of the other session, so there is nothing to log.
        const isCrossed = named instanceof WriteFailed && named.why === 'crossed';
        if (log && !isCrossed) sayWhy(log, named, since);
        if (!wasStopped) signal?.throwIfAborted();
        throw named;
      }
    },
    {
      retries: 30,
      minTimeout: 100,
      factor: 1.6,
      maxTimeout: 5_000,
      randomize: true,
      shouldRetry: ({ error }) => mayPass(error) && !signal?.aborted,
    },
  );
}

function mayPass(error: unknown): error is WarehouseUnavailable {
  return error instanceof WarehouseUnavailable && error.mayPass;
}

function givenUp({ why, message, hint, cause }: WriteFailed): unknown {
  // After so many tries, it is not another session: the rows themselves violate the index.
  if (why === 'crossed') return cause;
  return new WriteGivenUp(`${message}, ${triesOf[why]} times in a row.`, { cause, hint: hint! });
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
