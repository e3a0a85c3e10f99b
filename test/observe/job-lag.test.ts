import { Temporal } from 'temporal-polyfill';
import { expect, it } from 'vitest';
import { lagSeconds } from '../../src/observe/job-standing.ts';

const now = new Date('2026-11-20T12:00:00Z');
const hour = 3600;
const period = (from: string, to: string) => ({
  from: Temporal.PlainDate.from(from),
  to: Temporal.PlainDate.from(to),
});

it.each([
  ['counts from the end of the newest covered day', '2026-11-16', ['2024-01-01', '2026-11-20'], 84 * hour],
  ['counts from the first day where nothing is covered', null, ['2026-11-19', '2026-11-20'], 36 * hour],
  ['is none where the whole period is covered', '2024-12-31', ['2024-01-01', '2024-12-31'], 0],
  ['counts up to the end of a period that is over', '2024-12-29', ['2024-01-01', '2024-12-31'], 48 * hour],
  ['is never below nought', '2026-11-20', ['2024-01-01', '2026-11-20'], 0],
] as const)('the lag %s', (_, covered, [from, to], seconds) => {
  expect(lagSeconds(covered, period(from, to), now)).toBe(seconds);
});
