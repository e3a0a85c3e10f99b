import type { Clock } from './clock.ts';
import type { RateLimiter } from './rate-limiter.ts';

/** Leave to send one request, between two moments of the clock. */
export interface Permit {
  readonly from: number;
  /** Used later than this, it would come on top of what others have been given since. */
  readonly until: number;
}

export interface BlockLimiterOptions {
  /**
   * Takes permits for as many as wait, or for some of them, from whatever the processes of the key share; the soonest
   * first, at least one.
   */
  readonly take: (waiting: number, signal: AbortSignal) => Promise<readonly Permit[]>;
  readonly clock: Clock;
}

/** No timer waits longer, in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * A limiter that takes its permits in blocks, one block at a time and only for requests that wait: so nothing is taken
 * that is not used, and a process that asks little leaves the rate to the others.
 */
export function createBlockLimiter({ take, clock }: BlockLimiterOptions): RateLimiter {
  const waiting = new Set<Waiter>();
  const closing = new AbortController();
  let isServing = false;

  async function serve(): Promise<void> {
    isServing = true;
    try {
      let wasLate = false;
      while (waiting.size > 0) {
        for (const { from, until } of await take(waiting.size, closing.signal)) {
          await reach(from);
          const isLate = clock.now() > until;
          // What a process that stood still finds in its hands is void. Where every answer is late, something is slow
          // all the time, and giving up all of them would be to wait for ever.
          const isVoid = isLate && !wasLate;
          wasLate = isLate;
          if (isVoid) break;
          const [next] = waiting;
          next?.go();
        }
      }
    } catch (error) {
      for (const waiter of [...waiting]) waiter.fail(error);
    } finally {
      isServing = false;
    }
  }

  async function reach(moment: number): Promise<void> {
    for (let ms = moment - clock.now(); ms > 0; ms = moment - clock.now()) {
      await clock.sleep(Math.min(Math.ceil(ms), longestTimerMs), closing.signal);
    }
  }

  return {
    pass(signal) {
      return new Promise((resolve, reject) => {
        closing.signal.throwIfAborted();
        signal.throwIfAborted();
        const leave = () => waiter.fail(signal.reason);
        const end = () => {
          waiting.delete(waiter);
          signal.removeEventListener('abort', leave);
        };
        const waiter: Waiter = {
          go() {
            end();
            resolve();
          },
          fail(error) {
            end();
            reject(error);
          },
        };
        signal.addEventListener('abort', leave, { once: true });
        waiting.add(waiter);
        if (!isServing) void serve();
      });
    },
    async close() {
      closing.abort(new Error('This limiter has been stopped.'));
      for (const waiter of [...waiting]) waiter.fail(closing.signal.reason);
    },
  };
}

interface Waiter {
  go(): void;
  fail(error: unknown): void;
}
