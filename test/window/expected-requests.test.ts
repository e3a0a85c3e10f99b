import { expect, test } from 'vitest';
import { expectedRequests } from '../../src/window/expected-requests.ts';
import { range } from './days.ts';

test('a window costs a request a page, and one even where nothing is expected', () => {
  const windows = [range('2025-01-01', '2025-01-10'), range('2025-02-01')];
  expect(expectedRequests(windows, 0, 1000)).toBe(2);
  expect(expectedRequests(windows, 100, 1000)).toBe(2);
  expect(expectedRequests(windows, 250, 1000)).toBe(4);
  expect(expectedRequests([], 250, 1000)).toBe(0);
});
