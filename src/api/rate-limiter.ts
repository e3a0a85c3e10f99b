import Bottleneck from 'bottleneck';
import { unlessAborted } from './unless-aborted.ts';

/** Decides when a request may go out. */
export interface RateLimiter {
  /**
   * Resolves as soon as one more request may be sent, which is then to be sent at once.
   * @throws the signal's reason once it is aborted; an error where the limiter is closed
   */
  pass(signal: AbortSignal): Promise<void>;
  /** Whoever still waits fails. */
  close(): Promise<void>;
}

/** What a limiter keeps to: in any t seconds at most `burst + rate * t` requests. */
export interface RateLimit {
  /** Requests a second, sustained; `Infinity` for no limit. */
  readonly rate: number;
  /** Requests that may go out at once after a pause. */
  readonly burst: number;
}

/** For a rate of `Infinity`. */
export const unlimited: RateLimiter = { pass: async () => {}, close: async () => {} };

/** Requests that become free together: a fifth of a second's worth, so that a late timer costs little of the rate. */
const increasesPerSecond = 5;

/** A limiter for who has the key to himself: it knows of no other process. Stays a few per cent below the rate. */
export function createRateLimiter({ rate, burst }: RateLimit): RateLimiter {
  if (!Number.isFinite(rate)) return unlimited;
  const bucket = tokenBucket(rate, burst);
  let closing: Promise<void> | undefined;

  async function stop(): Promise<void> {
    await bucket.stop({ dropWaitingJobs: true });
    await bucket.disconnect(); // or its heartbeat goes on
  }

  return {
    async pass(signal) {
      signal.throwIfAborted();
      // Bottleneck cannot take a job out of its queue, so an aborted one is left behind there.
      await unlessAborted(
        bucket.schedule(async () => {}),
        signal,
      );
    },
    close() {
      closing ??= stop();
      return closing;
    },
  };
}

/**
 * Never call `updateSettings` on it: in Bottleneck 2.19.5 that stops the timer which refills a local bucket, and
 * every request then waits for ever (SGrondin/bottleneck#185).
 */
function tokenBucket(rate: number, burst: number): Bottleneck {
  // No bucket is that small; requests a fixed time apart come to the same, to a timer's precision.
  if (burst < 2) return new Bottleneck({ minTime: Math.ceil(1000 / rate) });
  const amount = Math.max(1, Math.floor(Math.min(rate / increasesPerSecond, burst / 2)));
  const intervalMs = Math.ceil((1000 * amount) / rate);
  // A full bucket can be emptied right before an increase: bucket and increase together are the burst.
  const bucket = burst - amount;
  return new Bottleneck({
    reservoir: bucket,
    reservoirIncreaseMaximum: bucket,
    reservoirIncreaseAmount: amount,
    heartbeatInterval: intervalMs,
    // The heartbeat alone decides when; were this as long, a heartbeat that two clocks see a millisecond early would
    // skip a whole increase.
    reservoirIncreaseInterval: Math.ceil(intervalMs / 2),
  });
}
