import Bottleneck from 'bottleneck';

/** Requests that become free together: a fifth of a second's worth, so that a late timer costs little of the rate. */
const increasesPerSecond = 5;

/**
 * The token bucket that all requests of a key pass: in any t seconds at most `burst + rate * t` of them. Stays a few
 * per cent below the rate, never above. The one place that builds it.
 *
 * Never call `updateSettings` on it: in Bottleneck 2.19.5 that stops the timer which refills a local bucket, and
 * every request then waits for ever (SGrondin/bottleneck#185).
 * @param rate requests a second
 */
export function createRateLimiter(rate: number, burst: number): Bottleneck {
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
