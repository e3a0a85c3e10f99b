import { coloursOf } from './colours.ts';

const limits = [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1];

/** Returns the score with the full colour: a round one that no mean exceeds. */
export function limitOf(means: readonly (number | null)[]): number {
  const most = Math.max(0, ...means.map((mean) => Math.abs(mean ?? 0)));
  return limits.find((limit) => limit >= most) ?? 1;
}

/** Returns the colour of a mean: orange below zero and blue above, which nearly everybody can distinguish. */
export function colourOf(mean: number, limit: number): string {
  const part = Math.min(1, Math.abs(mean) / limit) * 100;
  return `color-mix(in oklab, var(--${mean < 0 ? 'negative' : 'positive'}) ${part.toFixed(1)}%, var(--zero))`;
}

/** Does the same for a canvas, which does not know variables. */
export function canvasColours(limit: number): (mean: number) => string {
  const { negative, positive, zero } = coloursOf(['negative', 'positive', 'zero']);
  const parts = (colour: string) => (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  const [below, above, none] = [parts(negative), parts(positive), parts(zero)];
  return (mean) => {
    const part = Math.min(1, Math.abs(mean) / limit);
    const end = mean < 0 ? below : above;
    return `rgb(${none.map((from, index) => Math.round(from + (end[index]! - from) * part)).join(' ')})`;
  };
}
