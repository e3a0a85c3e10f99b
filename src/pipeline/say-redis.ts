import type { Clock } from '../api/clock.ts';
import type { RateLimit } from '../api/rate-limiter.ts';
import { redisBurstMs } from '../api/redis-rate.ts';
import { unlessAborted } from '../api/unless-aborted.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { enterRedis, redisHoldsSeconds, stayWithRedis } from '../warehouse/queries/request-rate.ts';
import { promptBurst } from './rate-ledger.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** How this process says in the warehouse that it goes by Redis, so that nobody goes by the warehouse meanwhile. */
export interface RedisSaying {
  /** Says so, if that is some time ago, and waits until what the warehouse handed out before has been made up for. */
  say(limit: RateLimit, signal: AbortSignal): Promise<void>;
  /** Keeps saying so until the work is done; where that fails, it is no longer valid then. */
  during<T>(work: Promise<T>, limit: RateLimit): Promise<T>;
  /** Whether it was said so lately that nobody can have begun to go by the warehouse. */
  isValid(): boolean;
}

const saidEveryMs = 2_000;
/** A second less than others wait for: in that, what Redis had handed out has been made up for. */
const validForMs = (redisHoldsSeconds - 1) * 1_000;

export function sayingRedis(
  warehouse: Warehouse,
  keyFingerprint: string,
  clock: Clock,
  closing: AbortSignal,
): RedisSaying {
  let saidAt = Number.NEGATIVE_INFINITY;
  let beginsAt = Number.NEGATIVE_INFINITY;
  let saying: Promise<void> | undefined;

  async function sayNow(limit: RateLimit): Promise<void> {
    const taking = { count: (limit.rate * redisBurstMs) / 1_000, rate: limit.rate };
    let askedAt = clock.now();
    const waitMs = await withWarehouseRetries(async () => {
      for (;;) {
        askedAt = clock.now();
        const joined = await stayWithRedis(warehouse, keyFingerprint);
        const waitMs = joined ?? (await enterRedis(warehouse, keyFingerprint, taking, promptBurst(limit)));
        // Else somebody was faster with entering, and is to be joined.
        if (waitMs !== undefined) return waitMs;
      }
    }, closing);
    saidAt = askedAt;
    beginsAt = clock.now() + waitMs;
  }

  async function sayInTime(limit: RateLimit): Promise<void> {
    if (clock.now() - saidAt < saidEveryMs) return;
    saying ??= sayNow(limit).finally(() => {
      saying = undefined;
    });
    await saying;
  }

  return {
    async say(limit, signal) {
      await unlessAborted(sayInTime(limit), signal);
      const waitMs = beginsAt - clock.now();
      if (waitMs > 0) await clock.sleep(Math.ceil(waitMs), signal);
    },
    async during(work, limit) {
      const repeat = setInterval(() => void sayInTime(limit).catch(() => {}), saidEveryMs);
      try {
        return await work;
      } finally {
        clearInterval(repeat);
      }
    },
    isValid: () => clock.now() - saidAt <= validForMs,
  };
}
