import type { Clock } from '../api/clock.ts';
import { openRedisRate, RedisForgot, type RedisRate } from '../api/redis-rate.ts';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';

/** Redis as it comes and goes. */
export interface RedisWatch {
  /** The connection in use, if Redis answers; waits for the first one to stand, or to fail. */
  current(): Promise<RedisRate | undefined>;
  close(): void;
}

const triesEveryMs = 1_000;

/** Keeps a connection to Redis as far as there can be one, and says in the log when it goes and when it is back. */
export function watchRedis(url: Secret, id: string, log: Log, clock: Clock): RedisWatch {
  const closing = new AbortController();
  let rate: RedisRate | undefined;
  let firstTried = () => {};
  const first = new Promise<void>((resolve) => {
    firstTried = resolve;
  });

  async function watch(): Promise<void> {
    let isMissed = false;
    while (!closing.signal.aborted) {
      const failure = await stay(() => {
        if (isMissed) log.info('Redis can be used again: the rate is shared by it');
        isMissed = false;
      });
      rate = undefined;
      firstTried();
      if (closing.signal.aborted) return;
      if (failure instanceof RedisForgot) continue;
      if (!isMissed) log.warn(`${failure.message} Until it can, the rate is shared by the warehouse.`);
      isMissed = true;
      await clock.sleep(triesEveryMs, closing.signal).catch(() => {});
    }
  }

  /** Connects, and stays connected as long as it goes; with what it ended. */
  async function stay(onConnected: () => void): Promise<Error> {
    try {
      rate = await openRedisRate(url, id);
    } catch (error) {
      return error as Error;
    }
    if (closing.signal.aborted) rate.close();
    else onConnected();
    firstTried();
    return rate.gone;
  }

  void watch();
  return {
    async current() {
      await first;
      return rate;
    },
    close() {
      closing.abort();
      rate?.close();
    },
  };
}
