import pRetry from 'p-retry';
import type { Log } from '../log.ts';
import {
  namedDatabaseError,
  WarehouseUnavailable,
  WriteCutOff,
  WriteGivenUp,
  WriteTooSlow,
} from '../warehouse/errors.ts';

/** How often a write may fail by what may be its own fault. What else fails meanwhile (nobody answers) does not count. */
const triesOf = { cutOff: 3, tooSlow: 8 };

/**
 * Runs a piece of warehouse work again while the warehouse is restarting, out of connections, locked by others, or broke
 * a deadlock: for about two minutes, then the error is let through. The work must be a whole transaction, or read only.
 * @param log hears, after some seconds and then twice a minute, what the work waits for
 * @throws WriteGivenUp where a write broke its connection three times, or was too slow eight times: it would bring the server
 * down, or keep it busy, again and again
 */
export function withWarehouseRetries<T>(
  work: (attempt: number) => Promise<T>,
  signal?: AbortSignal,
  log?: Log,
): Promise<T> {
  const failed = { cutOff: 0, tooSlow: 0 };
  const since = performance.now();
  return pRetry(
    async (attempt) => {
      try {
        return await work(attempt);
      } catch (error) {
        const named = namedDatabaseError(error);
        if (named instanceof WriteCutOff && ++failed.cutOff === triesOf.cutOff) throw brokenOff(named);
        if (named instanceof WriteTooSlow && ++failed.tooSlow === triesOf.tooSlow) throw tooSlow(named);
        if (log && named instanceof WarehouseUnavailable) sayWhy(log, named, since);
        throw named;
      }
    },
    {
      ...{ retries: 30, minTimeout: 100, factor: 1.6, maxTimeout: 5_000, randomize: true },
      shouldRetry: ({ error }) => error instanceof WarehouseUnavailable,
      ...(signal ? { signal } : {}),
    },
  );
}

// What to do is in the message, too: it is all that a window's last_error keeps.
function brokenOff(cause: WriteCutOff): WriteGivenUp {
  const hint = "The server's log says why; a smaller service.page_size in the job file may help.";
  return new WriteGivenUp(`${cause.message}, ${triesOf.cutOff} times in a row. ${hint}`, { cause, hint });
}

function tooSlow(cause: WriteTooSlow): WriteGivenUp {
  const hint =
    'Where the disk is slow, raise gmsi.as_of_delay() (docs/operating.md), or lower service.page_size.';
  return new WriteGivenUp(`${cause.message}, ${triesOf.tooSlow} times in a row. ${hint}`, { cause, hint });
}

const [firstSaidAfter, saidEvery] = [2_000, 30_000];
const lastSaid = new WeakMap<Log, number>();

/** Once for all that a run has in hand, since it all waits for the same. */
function sayWhy(log: Log, { message }: Error, since: number): void {
  const now = performance.now();
  if (now - since < firstSaidAfter || now - (lastSaid.get(log) ?? -Infinity) < saidEvery) return;
  lastSaid.set(log, now);
  log.warn({ why: message }, 'waiting for the warehouse, and trying again');
}
