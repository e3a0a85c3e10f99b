import { Temporal } from 'temporal-polyfill';
import { type Day, dayOf } from './days.ts';

const HALF_HOUR = 1_800_000;

/** Local time of a zone; its days are local days. */
export interface Zone {
  /** Returns the milliseconds to add to an instant to get the local time. */
  offsetAt(ms: number): number;
  dayOf(ms: number): Day;
}

const zones = new Map<string, Zone>();

/** @param name of an IANA time zone. @throws RangeError if there is none */
export function zoneOf(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  // Cached by half hour, because zones change their offset only then, and computing it is slow.
  const offsets = new Map<number, number>();
  const offsetAt = (ms: number) => {
    const half = Math.floor(ms / HALF_HOUR);
    let offset = offsets.get(half);
    if (offset === undefined) {
      const instant = Temporal.Instant.fromEpochMilliseconds(half * HALF_HOUR);
      offset = instant.toZonedDateTimeISO(name).offsetNanoseconds / 1e6;
      offsets.set(half, offset);
    }
    return offset;
  };
  try {
    offsetAt(0);
  } catch (cause) {
    throw new RangeError(`timeZone is "${name}"; expected an IANA time zone such as Europe/London`, {
      cause,
    });
  }
  const zone: Zone = name === 'UTC' ? UTC : { offsetAt, dayOf: (ms) => dayOf(ms + offsetAt(ms)) };
  zones.set(name, zone);
  return zone;
}

const UTC: Zone = { offsetAt: () => 0, dayOf };

/** Returns a function for days of the zone. A local day always lies within three UTC days. */
export function byDayOf<T extends { readonly publishedAt: number }>(
  zone: Zone,
  itemsOfUtcDay: (day: Day) => readonly T[],
): (day: Day) => readonly T[] {
  if (zone === UTC) return itemsOfUtcDay;
  return (day) =>
    [day - 1, day, day + 1].flatMap((utcDay) =>
      itemsOfUtcDay(utcDay).filter(({ publishedAt }) => zone.dayOf(publishedAt) === day),
    );
}
