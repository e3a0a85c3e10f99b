import type { Day } from '../days.ts';
import { hashText, mix, scatter } from '../random.ts';

/** Two numbers that stand for a series; two, because 32 bits alone would give equal ids. */
export interface Identity {
  readonly hash: number;
  readonly secondHash: number;
}

/** The identity of the series with this name, which consists of the seed and what tells series apart. */
export function identityOf(name: string): Identity {
  return { hash: hashText(name), secondHash: hashText(name, 1) };
}

/**
 * A UUID for the nth item of a day in a series. Its last word is unique for day and index within a series; the other words
 * tell series apart.
 */
export function idOf(series: Identity, day: Day, index: number): string {
  const last = (scatter(day * 65_536 + index) ^ series.hash) >>> 0;
  const first = mix(last, series.hash);
  const second = ((mix(last, series.secondHash) & 0xffff0fff) | 0x4000) >>> 0;
  const third = ((mix(second, series.secondHash) & 0x3fffffff) | 0x80000000) >>> 0;
  return `${hex(first)}-${hex16(second >>> 16)}-${hex16(second)}-${hex16(third >>> 16)}-${hex16(third)}${hex(last)}`;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hex(word: number): string {
  return hex16(word >>> 16) + hex16(word);
}

function hex16(word: number): string {
  return HEX[(word >>> 8) & 0xff]! + HEX[word & 0xff]!;
}
