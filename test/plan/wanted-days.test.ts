import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { expect, test } from 'vitest';
import { daysIn, firstUnsettledDay, plannedDays, wantedDays } from '../../src/plan/days.ts';
import { cases } from '../support/cases.ts';
import { anyDay, day, written } from './days.ts';

const wanted = (from: string, to: string, today: string) => {
  const days = wantedDays({ startDate: day(from), endDate: to === 'today' ? to : day(to) }, day(today));
  return days && written(days);
};

test.each(cases`
  end with its last day, itself included | 2025-01-01 | 2025-12-31 | 2025-01-01..2025-12-31
  end with today, if the job does | 2025-01-01 | today | 2025-01-01..2026-11-02
  end with today, if the job goes beyond | 2025-01-01 | 2027-12-31 | 2025-01-01..2026-11-02
  are one day if the first is the last | 2024-02-29 | 2024-02-29 | 2024-02-29..2024-02-29
  are one day if today is the first | 2026-11-02 | today | 2026-11-02..2026-11-02
  are none before the first has come | 2026-11-03 | today | undefined
  are none before the first has come, whenever they end | 2026-11-03 | 2027-01-01 | undefined
`)('the days that a job wants %s', (_, from, to, days) => {
  expect(String(wanted(from!, to!, '2026-11-02'))).toBe(days);
});

test.each(cases`
  begin with the history limit | 2016-01-01 | today | 2025-11-21 | 2025-11-21..2026-11-20 | 2025-11-21, 3612
  move on with one before today | 2016-01-01 | today | P1Y | 2025-11-20..2026-11-20 | 2025-11-20, 3611
  end as the job says | 2016-01-01 | 2025-12-31 | P1Y | 2025-11-20..2025-12-31 | 2025-11-20, 3611
  are as wanted from a limit on that is the first day | 2025-11-21 | today | 2025-11-21 | 2025-11-21..2026-11-20 | undefined
  are as wanted where the limit lies before them | 2026-01-01 | today | P5Y | 2026-01-01..2026-11-20 | undefined
  may be the last one alone | 2025-01-01 | 2025-12-31 | 2025-12-31 | 2025-12-31..2025-12-31 | 2025-12-31, 364
  may be none | 2025-01-01 | 2025-12-31 | 2026-01-01 | undefined | 2026-01-01, 365
  are none before the first has come | 2027-01-01 | today | 2016-01-01 | undefined | undefined
`)('the days that a job asks for %s', (_, from, to, reach, asked, limit) => {
  const period = { startDate: day(from!), endDate: to === 'today' ? to : day(to!) } as const;
  const isDay = reach!.includes('-');
  const { days, historyLimit } = plannedDays(
    {
      ...period,
      historyLimit: { reach: isDay ? day(reach!) : Temporal.Duration.from(reach!), by: 'job' },
    },
    day('2026-11-20'),
  );
  expect(String(days && written(days))).toBe(asked);
  expect(String(historyLimit && `${historyLimit.firstDay}, ${historyLimit.days}`)).toBe(limit);
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
