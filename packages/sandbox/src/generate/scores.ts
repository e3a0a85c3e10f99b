import type { Random } from '../random.ts';

/** Probabilities of one sentiment model, with four decimals, that add up to 1. */
export interface Probabilities {
  readonly positive: number;
  readonly neutral: number;
  readonly negative: number;
}

/** Returns one model's scores of a headline. @param leaning below 0 bad, above 0 good; about -2 to 2 */
export function probabilities(leaning: number, random: Random): Probabilities {
  const up = Math.exp(1.5 * leaning + 0.4 * random.normal());
  const flat = Math.exp(0.5 + 0.4 * random.normal());
  const down = Math.exp(-1.5 * leaning + 0.4 * random.normal());
  const positive = round4(up / (up + flat + down));
  const negative = round4(down / (up + flat + down));
  return { positive, neutral: round4(Math.max(0, 1 - positive - negative)), negative };
}

export function round4(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
