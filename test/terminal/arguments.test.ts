import { expect, it } from 'vitest';
import { day, wholeNumber } from '../../src/terminal/arguments.ts';

it.each(['2026-02-30', '2025-02-29', '2026-1-1', '2026-01-01T00:00', '20260101', '0', ''])(
  'refuses the day "%s"',
  (text) => expect(() => day(text)).toThrow('Give a UTC day'),
);

it.each(['2024-02-29', '1999-12-31'])('takes the day %s', (text) => expect(day(text)).toBe(text));

it.each(['', 'x', '1.5', '-1', '1e3', '0x10', ' 1', '9007199254740993'])(
  'refuses the whole number "%s"',
  (text) => expect(() => wholeNumber()(text)).toThrow('It must be a whole number.'),
);

it('keeps to bounds, and names them', () => {
  expect(() => wholeNumber({ from: 1 })('0')).toThrow('It must be a whole number of at least 1.');
  const few = wholeNumber({ from: 1, to: 100 });
  expect(['1', '100'].map(few)).toEqual([1, 100]);
  for (const text of ['0', '101']) {
    expect(() => few(text)).toThrow('It must be a whole number from 1 to 100.');
  }
});
