import { expect, test } from 'vitest';
import { expectedRequests } from '../../src/plan/forecast.ts';

test('a window costs a request a page, and one even if nothing is expected', () => {
  const windows = [
    { days: 10, windows: 1 },
    { days: 1, windows: 1 },
  ];
  expect(expectedRequests(windows, 0, 1000)).toBe(2);
  expect(expectedRequests(windows, 100, 1000)).toBe(2);
  expect(expectedRequests(windows, 250, 1000)).toBe(4);
  expect(expectedRequests([{ days: 10, windows: 3 }], 250, 1000)).toBe(9);
  expect(expectedRequests([], 250, 1000)).toBe(0);
});
