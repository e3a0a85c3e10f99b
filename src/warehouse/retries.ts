import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { Log } from '../log.ts';
import {
  namedDatabaseError,
  WarehouseUnavailable,
  WriteCutOff,
  WriteGivenUp,
  WriteTooSlow,
} from './errors.ts';

/**
 * Runs a piece of warehouse work again while the warehouse is restarting, out of connections, or broke a deadlock:
 * for about two minutes, then the error is let through. The work must be a whole transaction, or read only.
 */
export function withWarehouseRetries<T>(
  work: (attempt: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return pRetry(
    async (attempt) => {
      try {
        return await work(attempt);
      } catch (error) {
        throw namedDatabaseError(error);
      }
    },
    {
      ...{ retries: 30, minTimeout: 100, factor: 1.6, maxTimeout: 5_000, randomize: true },
      shouldRetry: ({ error }) => error instanceof WarehouseUnavailable,
      ...(signal ? { signal } : {}),
    },
  );
}

/** How often a write may fail by what may be its own fault. What else fails meanwhile (nobody answers) does not count. */
const triesOf = { cutOff: 3, tooSlow: 8 };
/** How long this process writes nothing before a last try, in milliseconds: so that whatever else went on has passed. */
const quietMs = 1_000;

/**
 * Runs work that writes rows (see `writeTransaction`) again as `withWarehouseRetries` does, and while others hold locks.
 * Work that has lost its connection twice is tried once more while this process writes nothing else: so that it, and
 * not what else was being written, is to blame if the server goes down again.
 * @param log hears, after some seconds and then twice a minute, what the work waits for
 * @throws WriteGivenUp if a write broke its connection three times, or was too slow eight times: it would bring the server
 * down, or keep it busy, again and again
 */
export function withWriteRetries<T>(
  work: (attempt: number) => Promise<T>,
  log?: Log,
  signal?: AbortSignal,
): Promise<T> {
  const failed = { cutOff: 0, tooSlow: 0 };
  const since = performance.now();
  return withWarehouseRetries(async (attempt) => {
    try {
      if (failed.cutOff < triesOf.cutOff - 1) return await inTurn(false, () => work(attempt));
      return await inTurn(true, async () => {
        await sleep(quietMs);
        return work(attempt);
      });
    } catch (error) {
      const named = namedDatabaseError(error);
      if (named instanceof WriteCutOff && ++failed.cutOff === triesOf.cutOff) throw brokenOff(named);
      if (named instanceof WriteTooSlow && ++failed.tooSlow === triesOf.tooSlow) throw tooSlow(named);
      if (log && named instanceof WarehouseUnavailable) sayWhy(log, named, since);
      throw named;
    }
  }, signal);
}

// What to do is in the message, too: it is all that a window's last_error keeps.
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

/** Once for all that a load has in hand, since it all waits for the same. */
function sayWhy(log: Log, { message }: Error, since: number): void {
  const now = performance.now();
  if (now - since < firstSaidAfter || now - (lastSaid.get(log) ?? -Infinity) < saidEvery) return;
  lastSaid.set(log, now);
  log.warn({ why: message }, 'waiting for the warehouse, and trying again');
}

const waiting: { isAlone: boolean; start: () => void }[] = [];
let running = 0;
let isOneAlone = false;

/** Runs one write of this process: with others, or alone; in the order in which they come. */
async function inTurn<T>(isAlone: boolean, work: () => Promise<T>): Promise<T> {
  await new Promise<void>((start) => {
    waiting.push({ isAlone, start });
    startNext();
  });
  try {
    return await work();
  } finally {
    running--;
    isOneAlone = false;
    startNext();
  }
}

function startNext(): void {
  for (let next = waiting[0]; next && !isOneAlone && (running === 0 || !next.isAlone); next = waiting[0]) {
    waiting.shift();
    running++;
    isOneAlone = next.isAlone;
    next.start();
  }
}
