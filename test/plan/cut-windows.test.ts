import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import type { EndDateReading } from '../../src/config/job.ts';
import { cutWindows, requestRange, type WindowShape } from '../../src/plan/cut-windows.ts';
import { daysIn } from '../../src/plan/days.ts';
import { anyRange, daysOf, range, written } from './days.ts';

/** As few as still find what goes wrong at a step, a border or an order. */
const quick = { numRuns: 30 };
const anyReading = fc.constantFrom<EndDateReading>('unknown', 'inclusive', 'exclusive');
const anyShape: fc.Arbitrary<WindowShape> = fc.record({
  stepDays: fc.integer({ min: 1, max: 90 }),
  endDate: anyReading,
  order: fc.constantFrom('newest-first', 'oldest-first'),
});

test('whatever is missing, the windows cover each day of it once, none too long, in order, and no more than have to be', () => {
  fc.assert(
    fc.property(anyRange, anyShape, (missing, shape) => {
      const windows = cutWindows(missing, shape);
      expect(daysOf(windows).sort()).toEqual(daysOf([missing]).sort());
      for (const window of windows) expect(daysIn(window)).toBeLessThanOrEqual(shape.stepDays);

      const oldestFirst = windows.toSorted((a, b) => Temporal.PlainDate.compare(a.from, b.from));
      const expected = shape.order === 'oldest-first' ? oldestFirst : oldestFirst.toReversed();
      // As text: to `toEqual`, any two Temporal dates are the same.
      expect(windows.map(written)).toEqual(expected.map(written));

      const longest = shape.endDate === 'unknown' ? Math.min(shape.stepDays, 89) : shape.stepDays;
      expect(windows).toHaveLength(Math.ceil(daysIn(missing) / longest));
    }),
    quick,
  );
});

/** The days that a service returns for a request, if it reads `end_date` so. */
const served = (
  window: Parameters<typeof requestRange>[0],
  asked: Exclude<EndDateReading, 'ignored'>,
  reads: 'inclusive' | 'exclusive',
) => {
  const { startDate, endDate } = requestRange(window, asked);
  return { from: startDate, to: reads === 'inclusive' ? endDate! : endDate!.subtract({ days: 1 }) };
};

describe('what is asked of the service', () => {
  const readings = [
    ['unknown', 'inclusive'],
    ['unknown', 'exclusive'],
    ['inclusive', 'inclusive'],
    ['exclusive', 'exclusive'],
  ] as const;

  test.each(readings)('%s loses no day and spans at most 90, if the service is %s', (endDate, reads) => {
    fc.assert(
      fc.property(anyRange, anyShape, (missing, shape) => {
        for (const window of cutWindows(missing, { ...shape, endDate })) {
          const returned = served(window, endDate, reads);
          expect(daysOf([returned])).toEqual(expect.arrayContaining(daysOf([window])));
          expect(daysIn(returned)).toBeLessThanOrEqual(90);
        }
      }),
      quick,
    );
  });

  test.each(['inclusive', 'exclusive'] as const)('%s, set rightly, asks for no day twice', (endDate) => {
    fc.assert(
      fc.property(anyRange, anyShape, (missing, shape) => {
        const windows = cutWindows(missing, { ...shape, endDate });
        const returned = windows.map((window) => served(window, endDate, endDate));
        expect(daysOf(returned).sort()).toEqual(daysOf([missing]).sort());
      }),
      quick,
    );
  });

  test.each([
    ['inclusive', '2024-02-28..2024-02-28'],
    ['exclusive', '2024-02-28..2024-02-29'],
    ['unknown', '2024-02-28..2024-02-29'],
    ['ignored', '2024-02-28..null'],
  ] as const)('one day, %s, is %s', (reading, dates) => {
    const { startDate, endDate } = requestRange(range('2024-02-28'), reading);
    expect(`${startDate}..${endDate}`).toBe(dates);
  });
});
