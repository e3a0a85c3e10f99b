import type { SandboxSettings } from '../options.ts';

/** Why a request is one too many. */
interface TooMany {
  readonly detail: string;
  readonly headers: Record<string, string>;
}

export type Limiter = ReturnType<typeof limiterOf>;

/** Limits each key by a token bucket for the rate and a count per UTC month for the quota. */
export function limiterOf(settings: Pick<SandboxSettings, 'limits' | 'clock'>) {
  const { limits } = settings;
  const buckets = new Map<string, { tokens: number; at: number }>();
  const booked = new Map<string, number>();

  return {
    /** Books one request of a key. @returns the reason if it is one too many */
    admit(key: string): TooMany | null {
      if (limits === null) return null;
      const now = settings.clock();
      const month = `${key} ${now.toISOString().slice(0, 7)}`;
      const count = (booked.get(month) ?? 0) + 1;
      booked.set(month, count);
      if (count > limits.perMonth) {
        return { detail: `Monthly quota of ${limits.perMonth} requests exceeded`, headers: {} };
      }
      const bucket = buckets.get(key) ?? { tokens: limits.burst, at: now.getTime() };
      buckets.set(key, bucket);
      const elapsed = Math.max(0, now.getTime() - bucket.at) / 1000;
      bucket.tokens = Math.min(limits.burst, bucket.tokens + elapsed * limits.perSecond);
      bucket.at = now.getTime();
      if (bucket.tokens >= 1) {
        bucket.tokens -= 1;
        return null;
      }
      const seconds = Math.max(1, Math.ceil((1 - bucket.tokens) / limits.perSecond));
      return {
        detail: `Rate limit of ${limits.perSecond} requests a second exceeded`,
        headers: retryAfterHeader('seconds', seconds, now),
      };
    },
  };
}

/** Returns `Retry-After` in the configured form; no header for 'none'. */
export function retryAfterHeader(
  form: 'seconds' | 'date' | 'none',
  seconds: number,
  now: Date,
): Record<string, string> {
  if (form === 'none') return {};
  const value = form === 'seconds' ? String(seconds) : new Date(now.getTime() + seconds * 1000).toUTCString();
  return { 'retry-after': value };
}
