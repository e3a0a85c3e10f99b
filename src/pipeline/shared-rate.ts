import { createBlockLimiter } from '../api/block-limiter.ts';
import { type Clock, monotonicClock } from '../api/clock.ts';
import { type RateLimit, type RateLimiter, unlimited } from '../api/rate-limiter.ts';
import { type RedisRate, RedisUnavailable } from '../api/redis-rate.ts';
import { unlessAborted } from '../api/unless-aborted.ts';
import { ConfigError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { redisHoldsSeconds } from '../warehouse/queries/request-rate.ts';
import { RateByRedis, takeFromLedger } from './rate-ledger.ts';
import { keyFingerprint } from './request-budget.ts';
import { sayingRedis } from './say-redis.ts';
import { type RedisWatch, watchRedis } from './watch-redis.ts';

/** The rate of one key, shared by every process that uses the same warehouse. One for each process is enough. */
export interface SharedRate extends Disposable {
  /** A limiter for one client, which closes it. */
  limiter(limit: RateLimit): RateLimiter;
}

export interface SharedRateOptions {
  readonly warehouse: Warehouse;
  readonly apiKey: Secret;
  /** Redis then hands out the rate as long as it answers; else, and meanwhile, the warehouse does. */
  readonly redisUrl: Secret | undefined;
  readonly log: Log;
  readonly clock?: Clock;
}

/** How often a process that stands still looks whether it may go on, in milliseconds. */
const looksEveryMs = 500;
/** A process that ended has been silent for so long, in milliseconds; what others say after it, they mean. */
const surelyMeantMs = 2 * redisHoldsSeconds * 1_000;

/**
 * Opens the key's shared rate. Redis and the warehouse never hand it out at the same time: while any process says that
 * it goes by Redis, the warehouse gives nothing to anybody. So a process that alone has lost Redis stands still, and the
 * limit holds while the network is cut in two.
 */
export function openSharedRate(options: SharedRateOptions): SharedRate {
  const { warehouse, apiKey, redisUrl, log, clock = monotonicClock } = options;
  const key = keyFingerprint(apiKey);
  const closing = new AbortController();
  const saying = sayingRedis(warehouse, key, clock, closing.signal);
  let redis: RedisWatch | undefined;
  let refused: { readonly since: number; isTold: boolean } | undefined;

  function limiter(limit: RateLimit): RateLimiter {
    if (!Number.isFinite(limit.rate)) return unlimited;
    const closing = new AbortController();
    const ledger = createBlockLimiter({
      take: (waiting, signal) => takeFromLedger(warehouse, key, limit, waiting, clock, signal),
      clock,
    });

    async function pass(signal: AbortSignal): Promise<void> {
      for (;;) {
        closing.signal.throwIfAborted();
        // Not before the first request: a command that sends none does not need it.
        redis ??= redisUrl && watchRedis(redisUrl, key, log, clock);
        const rate = await redis?.current();
        try {
          await (rate ? passByRedis(rate, signal) : ledger.pass(signal));
          refused = undefined;
          return;
        } catch (error) {
          if (error instanceof RateByRedis) await standStill(signal);
          else if (!(error instanceof RedisUnavailable)) throw error;
        }
      }
    }

    async function passByRedis(rate: RedisRate, signal: AbortSignal): Promise<void> {
      do {
        await saying.say(limit, signal);
        const taken = saying.during(rate.take(1_000 / limit.rate), limit);
        await unlessAborted(unlessAborted(taken, signal), closing.signal);
      } while (!saying.isValid());
    }

    return {
      pass,
      async close() {
        closing.abort(new Error('This limiter has been stopped.'));
        await ledger.close();
      },
    };
  }

  /** Waits a moment while others go by Redis and this process does not. */
  async function standStill(signal: AbortSignal): Promise<void> {
    refused ??= { since: clock.now(), isTold: false };
    if (clock.now() - refused.since > surelyMeantMs && !refused.isTold) {
      if (!redisUrl) throw new RedisNotSet();
      log.warn(
        'other processes of the key still share its rate by Redis: this one stands still until it can, too',
      );
      refused.isTold = true;
    }
    await clock.sleep(looksEveryMs, signal);
  }

  return {
    limiter,
    [Symbol.dispose]() {
      closing.abort();
      redis?.close();
    },
  };
}

/** Others share the rate by Redis, and here nobody said where that is. */
class RedisNotSet extends ConfigError {
  constructor() {
    super('Other processes of this key share its rate by Redis, and GMSI_REDIS_URL is not set here.', {
      hint: 'Set it as it is set there; or end those processes.',
    });
  }
}
