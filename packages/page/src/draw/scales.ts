import { range, ticks } from 'd3-array';

const limits = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];

/** Returns the score with the full colour: a round one that no mean exceeds. */
export function limitOf(means: readonly (number | null)[]): number {
  const most = Math.max(0, ...means.map((mean) => Math.abs(mean ?? 0)));
  return limits.find((limit) => limit >= most) ?? 1;
}

/**
 * Returns the colour of a mean, in steps: orange below zero and blue above, which nearly everybody can distinguish.
 */
export function colourOf(mean: number, limit: number): string {
  const part = Math.round(Math.min(1, Math.abs(mean) / limit) * 20) * 5;
  return `color-mix(in oklab, var(--${mean < 0 ? 'negative' : 'positive'}) ${part}%, var(--zero))`;
}

/** Returns three round numbers of a range that contains zero, one of which is zero. */
export function threeOf([low, high]: readonly [number, number]): number[] {
  const all = range(1, 40)
    .map((count) => ticks(low, high, count))
    .find(({ length }) => length >= 3)!;
  const zero = all.indexOf(0);
  const first = Math.max(0, Math.min(zero - 1, all.length - 3));
  return all.slice(first, first + 3);
}
