import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { type DayRange, daysIn } from '../../src/plan/days.ts';

export const day = (text: string): Temporal.PlainDate => Temporal.PlainDate.from(text);

export const range = (from: string, to = from): DayRange => ({ from: day(from), to: day(to) });

export const written = ({ from, to }: DayRange): string => `${from}..${to}`;

/** Every day of some ranges, in their order. */
export const daysOf = (ranges: readonly DayRange[]): string[] =>
  ranges.flatMap((one) =>
    Array.from({ length: daysIn(one) }, (_, index) => one.from.add({ days: index }).toString()),
  );

const turnsOfTheCalendar = [
  ...'2000-02-29 2024-02-28 2024-02-29 2024-03-01 2025-12-31 2026-01-01 2100-02-28'.split(' '),
];

/** Any day of 130 years; the ends of years and of Februaries more often than others. */
export const anyDay = fc.oneof(
  fc.integer({ min: 0, max: 130 * 365 }).map((days) => day('1990-01-01').add({ days })),
  fc.constantFrom(...turnsOfTheCalendar.map(day)),
);

/** From one day up to ten months. */
export const anyRange: fc.Arbitrary<DayRange> = fc
  .tuple(anyDay, fc.integer({ min: 0, max: 300 }))
  .map(([from, more]) => ({ from, to: from.add({ days: more }) }));
