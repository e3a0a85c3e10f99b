import type { Day } from '../days.ts';
import { hashText, mix, scatter } from '../random.ts';

/** Two numbers that identify a series. One number of 32 bits would give equal ids. */
export interface Identity {
  readonly hash: number;
  readonly secondHash: number;
}

/** @param name the seed and everything that distinguishes the series */
export function identityOf(name: string): Identity {
  return { hash: hashText(name), secondHash: hashText(name, 1) };
}

/** Returns a UUID for the nth item of a day. Its last word is unique within the series; the others identify the series. */
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
