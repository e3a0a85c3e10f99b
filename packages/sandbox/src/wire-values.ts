import type { RecordLook } from './options.ts';
import type { Zone } from './zone.ts';

const OFFSET_MS = 5.5 * 3_600_000;

export function writeNumber(value: number, look: RecordLook): number | string {
  return look.numbers === 'string' ? String(value) : value;
}

/** Writes a time in the configured form; times without an offset are in `zone`. */
export function writeTime(ms: number, times: RecordLook['times'], zone: Zone): string {
  const seconds = (at: number) => new Date(at).toISOString().slice(0, 19);
  if (times === 'naive') return seconds(ms + zone.offsetAt(ms));
  return times === 'utc' ? `${seconds(ms)}+00:00` : `${seconds(ms + OFFSET_MS)}+05:30`;
}
