/** Decides when a request may go out. */
export interface RateLimiter {
  /**
   * Resolves as soon as one more request may be sent, which is then to be sent at once.
   * @throws the signal's reason once it is aborted; an error if the limiter is closed
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
