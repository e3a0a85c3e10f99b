import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import { daysIn, firstUnsettledDay, plannedDays, wantedDays } from '../../src/plan/days.ts';
import { anyDay, day, written } from './days.ts';

const wanted = (from: string, to: string, today: string) => {
  const days = wantedDays({ startDate: day(from), endDate: to === 'today' ? to : day(to) }, day(today));
  return days && written(days);
};

describe('the days that a job wants', () => {
  test('end with its last day, itself included', () => {
    expect(wanted('2025-01-01', '2025-12-31', '2026-11-02')).toBe('2025-01-01..2025-12-31');
  });

  test('end with today, if the job does or goes beyond', () => {
    expect(wanted('2025-01-01', 'today', '2026-11-02')).toBe('2025-01-01..2026-11-02');
    expect(wanted('2025-01-01', '2027-12-31', '2026-11-02')).toBe('2025-01-01..2026-11-02');
  });

  test('are one day if the first is the last', () => {
    expect(wanted('2024-02-29', '2024-02-29', '2026-11-02')).toBe('2024-02-29..2024-02-29');
    expect(wanted('2026-11-02', 'today', '2026-11-02')).toBe('2026-11-02..2026-11-02');
  });

  test('are none before the first has come', () => {
    expect(wanted('2026-11-03', 'today', '2026-11-02')).toBeUndefined();
    expect(wanted('2026-11-03', '2027-01-01', '2026-11-02')).toBeUndefined();
  });
});

describe('the days that a job asks for', () => {
  const planned = (from: string, to: string, reach: string, today = '2026-11-20') => {
    const isDay = reach.includes('-');
    const limit = isDay ? day(reach) : Temporal.Duration.from(reach);
    const period = { startDate: day(from), endDate: to === 'today' ? to : day(to) } as const;
    const { days, historyLimit } = plannedDays(
      { ...period, historyLimit: { reach: limit, by: 'job' } },
      day(today),
    );
    return [days && written(days), historyLimit && `${historyLimit.firstDay}, ${historyLimit.days}`];
  };

  test.each([
    [
      'begin with the history limit',
      '2016-01-01',
      'today',
      '2025-11-21',
      '2025-11-21..2026-11-20',
      '2025-11-21, 3612',
    ],
    [
      'move on with one before today',
      '2016-01-01',
      'today',
      'P1Y',
      '2025-11-20..2026-11-20',
      '2025-11-20, 3611',
    ],
    ['end as the job says', '2016-01-01', '2025-12-31', 'P1Y', '2025-11-20..2025-12-31', '2025-11-20, 3611'],
    [
      'are as wanted from a limit on that is the first day',
      '2025-11-21',
      'today',
      '2025-11-21',
      '2025-11-21..2026-11-20',
      undefined,
    ],
    [
      'are as wanted where the limit lies before them',
      '2026-01-01',
      'today',
      'P5Y',
      '2026-01-01..2026-11-20',
      undefined,
    ],
    [
      'may be the last one alone',
      '2025-01-01',
      '2025-12-31',
      '2025-12-31',
      '2025-12-31..2025-12-31',
      '2025-12-31, 364',
    ],
    ['may be none', '2025-01-01', '2025-12-31', '2026-01-01', undefined, '2026-01-01, 365'],
    ['are none before the first has come', '2027-01-01', 'today', '2016-01-01', undefined, undefined],
  ])('%s', (_, from, to, reach, days, limit) => {
    expect(planned(from, to, reach)).toEqual([days, limit]);
  });
});

test('between the last covered day and today lie as many days as the lookback has', () => {
  fc.assert(
    fc.property(anyDay, fc.integer({ min: 0, max: 366 }), (today, lookbackDays) => {
      const firstUnsettled = firstUnsettledDay(today, lookbackDays);
      expect(daysIn({ from: firstUnsettled, to: today })).toBe(lookbackDays + 1);
      expect(Temporal.PlainDate.compare(firstUnsettled, today)).toBeLessThanOrEqual(0);
    }),
  );
});
