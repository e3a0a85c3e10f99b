import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Answer } from '../../src/probe/ask.ts';
import { type AnsweredRange, inferDays, pickDays } from '../../src/probe/infer-days.ts';

const hour = 3_600_000;
const day = 24 * hour;
const begin = Date.UTC(2026, 9, 20);

interface Service {
  readonly times: readonly number[];
  readonly reading: 'inclusive' | 'exclusive' | 'ignored';
  /** Hours after 0:00 UTC at which its days begin. */
  readonly shift: number;
  readonly order: 'newest-first' | 'oldest-first';
}

/** What such a service answers, as a probe sees it. */
function answerOf(
  { times, reading, shift, order }: Service,
  range: { start: string; end: string; limit: number },
): AnsweredRange {
  const from = Date.parse(range.start) + shift * hour;
  const end = Date.parse(range.end) + shift * hour + (reading === 'inclusive' ? day : 0);
  const to = reading === 'ignored' ? Infinity : end;
  const inside = times.filter((time) => time >= from && time < to).sort((a, b) => a - b);
  if (order === 'newest-first') inside.reverse();
  const returned = inside.slice(0, range.limit);
  const nextToken = inside.length > range.limit ? 'more' : null;
  const answer: Answer = { times: returned, count: returned.length, nextToken };
  return { range, answer };
}

/** The ranges that a probe asks for. */
function ask(service: Service, limit: number): AnsweredRange[] {
  const month = answerOf(service, { start: '2026-10-20', end: '2026-11-18', limit });
  return [month, ...pickDays(month.answer.times).map((days) => answerOf(service, { ...days, limit }))];
}

/** Headlines of the month, and of the days before and after it. */
const anyTimes = fc.array(
  fc.integer({ min: -2 * day, max: 32 * day }).map((ms) => begin + Math.floor(ms / 1000) * 1000),
  { maxLength: 300 },
);

/** One headline in each hour and a quarter, at any time of it. */
const busyTimes = fc
  .array(fc.nat(4499), { minLength: 653, maxLength: 653 })
  .map((seconds) => seconds.map((second, index) => begin - 2 * day + (index * 4500 + second) * 1000));

const serviceWith = (times: fc.Arbitrary<number[]>): fc.Arbitrary<Service> =>
  fc.record({
    times,
    reading: fc.constantFrom('inclusive', 'exclusive', 'ignored'),
    shift: fc.integer({ min: -14 * 4, max: 12 * 4 }).map((quarters) => quarters / 4),
    order: fc.constantFrom('newest-first', 'oldest-first'),
  });

it('whatever the news, the zone, the order and the page size, nothing wrong is learned', () => {
  fc.assert(
    fc.property(serviceWith(anyTimes), fc.constantFrom(3, 10, 50, 1000), (service, limit) => {
      const { end_date, day_begin } = inferDays(ask(service, limit));
      expect([service.reading, undefined]).toContain(end_date.value);
      if (day_begin.value === undefined) return;
      const { least, most } = day_begin.value as { least: number; most: number };
      expect(least).toBeLessThanOrEqual(service.shift * 60);
      expect(most).toBeGreaterThanOrEqual(service.shift * 60);
    }),
    { numRuns: 300 },
  );
});

it('of some twenty headlines a day the reading is learned, whatever the zone, the order and the page size', () => {
  fc.assert(
    fc.property(serviceWith(busyTimes), fc.constantFrom(50, 1000), (service, limit) => {
      expect(inferDays(ask(service, limit)).end_date.value).toBe(service.reading);
    }),
    { numRuns: 100 },
  );
});

it('neither a single headline nor none shows it', () => {
  const lonely = {
    times: [begin + 10.5 * day],
    reading: 'exclusive',
    shift: 0,
    order: 'newest-first',
  } as const;
  const only = inferDays(ask(lonely, 1000));
  expect(only.end_date).toMatchObject({ reason: expect.stringContaining('too far apart to tell') });
  expect(inferDays(ask({ ...lonely, times: [] }, 1000)).end_date).toMatchObject({
    reason: 'no requested range contains a record',
  });
});

it.each(['inclusive', 'exclusive', 'ignored'] as const)(
  'times that are whole days tell that end_date is %s, and not when days begin',
  (reading) => {
    const times = Array.from({ length: 34 }, (_, index) => begin + (index - 2) * day);
    const found = inferDays(ask({ times, reading, shift: 0, order: 'oldest-first' }, 1000));
    expect(found.end_date.value).toBe(reading);
    expect(found.day_begin).toEqual({ reason: 'times are whole days' });
  },
);

it('answers that fit no reading are reported', () => {
  const service = { times: [], reading: 'exclusive', shift: 0, order: 'newest-first' } as const;
  const far = answerOf({ ...service, times: [begin] }, { start: '2026-10-20', end: '2026-10-21', limit: 9 });
  const moved = { ...far, range: { ...far.range, start: '2026-11-01', end: '2026-11-02' } };
  expect(inferDays([moved]).end_date).toMatchObject({ reason: expect.stringContaining('fit no reading') });
});
