import { expect, it } from 'vitest';
import type { Answer } from '../../src/probe/ask.ts';
import { inferRounding } from '../../src/probe/infer-records.ts';

const noon = Date.UTC(2026, 10, 20, 12);

function anAnswer(minutes: readonly number[]): Answer {
  const times = minutes.map((past) => noon + past * 60_000);
  return { times, count: times.length, nextToken: null };
}

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
