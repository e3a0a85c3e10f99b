/** How the client waits. None of it comes from the service's document; see service-facts for what is likely. */
export interface Patience {
  /** The first retry waits up to this long, each further one up to twice as long, in milliseconds. */
  readonly firstDelayMs: number;
  /** No retry waits longer by itself, in milliseconds. */
  readonly maxDelayMs: number;
  /** Bounds of the pause after a 429 that names none, in milliseconds; the vendor suggests 1 to 2 seconds. */
  readonly rateLimitPauseMs: readonly [least: number, most: number];
  /** A longer Retry-After (a spent quota, say) fails requests at once instead of waiting it out, in milliseconds. */
  readonly longestWaitMs: number;
  /** Good answers, since the last change, after which one more request may run at a time. */
  readonly raiseAfter: number;
}

export const defaultPatience: Patience = {
  firstDelayMs: 500,
  maxDelayMs: 30_000,
  rateLimitPauseMs: [1000, 2000],
  longestWaitMs: 300_000,
  raiseAfter: 50,
};
