import { computed } from '@preact/signals';
import { address } from './address.ts';
import { report } from './report.ts';

export const aDay = 86_400_000;

const own = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The time zones to choose from: UTC, the reader's own, and those of the large desks. */
export const zones = [...new Set(['UTC', own, 'America/New_York', 'Europe/London', 'Asia/Tokyo'])];

/** The zone in which moments are shown. Days are always in UTC, as the service counts them. */
export const zone = computed(() => {
  const asked = address.value.get('zone') ?? 'UTC';
  return zones.includes(asked) ? asked : 'UTC';
});

/** Writes a moment in that zone, `YYYY-MM-DD HH:MM`, or with seconds. */
export function moment(text: string | number, hasSeconds = false): string {
  // Swedish dates have the form of ISO 8601.
  const timeStyle = hasSeconds ? 'medium' : 'short';
  return new Date(text).toLocaleString('sv-SE', { timeZone: zone.value, dateStyle: 'short', timeStyle });
}

/** Reads a moment in that zone, or with an offset of its own (`Z`, `-05:00`). @returns milliseconds; NaN if it is none */
export function momentIn(text: string): number {
  const [, wall = '', offset] =
    /^(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  const written = Date.parse(`${wall.replace(' ', 'T')}${offset ?? 'Z'}`);
  if (offset || Number.isNaN(written)) return written;
  const ahead = (at: number) =>
    Date.parse(`${moment(at, true).replace(' ', 'T')}Z`) - Math.floor(at / 1000) * 1000;
  // The offset of the moment itself: a clock may be changed between it and what the first offset is of.
  return written - ahead(written - ahead(written));
}

/** Returns the day (UTC) of a moment in milliseconds. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** Milliseconds by which the server's clock, or that of a report, is ahead of the browser's. */
let ahead = report ? Date.parse(report.at) - Date.now() : 0;

/** @param at the time of an answer, as HTTP has it */
export function setClock(at: string | null): void {
  if (at) ahead = Date.parse(at) - Date.now();
}

export function now(): number {
  return Date.now() + ahead;
}

export function today(): string {
  return dayOf(now());
}

export function isDay(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** Reads days such as `2026-09-01..2026-09-07`. */
export function readDays(text: string | null): readonly [from: string, to: string] | undefined {
  const [from = '', to = ''] = text?.split('..') ?? [];
  return isDay(from) && isDay(to) && from <= to ? [from, to] : undefined;
}

/**
 * Reads the period of the address, by default to the newest day. Its first day may depend on the last one: `90d` are 90 days,
 * and `all` begins with the oldest day.
 */
export function periodFor(
  newest: string,
  oldest: string | undefined,
  usually: (to: string) => string,
): { readonly from: string; readonly to: string } {
  const [first = '', last = ''] = ['from', 'to'].map((name) => address.value.get(name) ?? '');
  const to = isDay(last) ? last : newest;
  const days = /^([1-9]\d{0,4})d$/.exec(first)?.[1];
  if (days) return { from: plusDays(to, 1 - Number(days)), to };
  if (first === 'all') return { from: oldest ?? usually(to), to };
  return { from: isDay(first) ? first : usually(to), to };
}

export function plusDays(day: string, days: number): string {
  return dayOf(Date.parse(day) + days * aDay);
}

export function daysBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / aDay + 1;
}

/** Writes a span of time in its two largest units. */
export function span(seconds: number): string {
  const units: [string, number][] = [
    ['d', 86_400],
    ['h', 3_600],
    ['min', 60],
    ['s', 1],
  ];
  const whole = Math.max(0, Math.round(seconds));
  const first = units.findIndex(([, size]) => whole >= size);
  if (first === -1) return '0 s';
  const [unit, size] = units[first]!;
  const next = units[first + 1];
  const rest = next ? Math.floor((whole % size) / next[1]) : 0;
  return `${Math.floor(whole / size)} ${unit}${rest > 0 ? ` ${rest} ${next![0]}` : ''}`;
}
