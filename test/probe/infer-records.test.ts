import { expect, it } from 'vitest';
import type { Answer } from '../../src/probe/ask.ts';
import { inferRounding, orderOf } from '../../src/probe/infer-records.ts';

const noon = Date.UTC(2026, 10, 20, 12);

function anAnswer(minutes: readonly number[]): Answer {
  const records = minutes.map((past) => ({ time: noon + past * 60_000, writtenTime: '', record: {} }));
  return { records, count: records.length, nextToken: null, at: 0 };
}

it.each([
  ['newest-first', [90, 60, 60, 0]],
  ['oldest-first', [0, 60, 60, 90]],
  ['neither', [0, 90, 60, 30, 120]],
  ['newest-first', [300, 200, 70, 110, 40]], // clocks were set back in between
  ['oldest-first', [40, 110, 70, 200, 300]],
  ['neither', [300, 200, 70, 190, 40]],
])('the order is %s where records are %j minutes past noon', (order, minutes) => {
  expect(orderOf(anAnswer(minutes).records)).toBe(order);
});

it('records of one time have no order', () => {
  expect(orderOf(anAnswer([5, 5, 5]).records)).toBe('unknown');
});

const every = (step: number) => Array.from({ length: 40 }, (_, index) => index * step);

it.each([
  ['second', every(7.35)],
  ['second, some on the hour', [...every(7.35), ...every(60)]],
  ['minute', every(7)],
  ['minute, some on the hour', [...every(7), ...every(60)]],
  ['hour', every(60)],
  ['hour', every(60).map((past) => past + 30)],
  ['day', every(1440).map((past) => past + 720)],
])('times are given to the %s', (rounding, minutes) => {
  expect(inferRounding(anAnswer(minutes))).toMatchObject({ value: rounding });
});
