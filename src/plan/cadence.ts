export interface PollHistory {
  readonly polledAt: Date;
  /** When a poll last found something new; if none has, the time of the first poll. */
  readonly newsAt: Date;
}

/** How long the next poll of a quiet series waits, as a share of its silence so far. */
const shareOfSilence = 1 / 4;

const dayMs = 24 * 3600 * 1000;

/**
 * Returns how many milliseconds the next poll of a series may wait: a quarter of its silence. So the headline that ends the silence
 * is late by at most a quarter of it, and by at most `longestDays`.
 */
export function pollInterval({ polledAt, newsAt }: PollHistory, longestDays: number): number {
  const silence = Math.max(0, polledAt.getTime() - newsAt.getTime());
  return Math.min(silence * shareOfSilence, longestDays * dayMs);
}
