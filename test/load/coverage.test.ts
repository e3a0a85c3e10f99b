import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect } from 'vitest';
import { aJobFor, runBackfill, usualClock } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { coverageOf } from '../support/warehouse-state.ts';
import { firstPages, watchRequests } from '../support/watch-requests.ts';

/** Windows that abut exactly, so that each day asked for can be counted. */
const exact = { service: { end_date: 'inclusive' } };

describe('after any sequence of jobs', () => {
  const firstDay = Temporal.PlainDate.from('2026-10-25');
  const today = Temporal.PlainDate.from(usualClock().toISOString().slice(0, 10));
  const span = firstDay.until(today, { largestUnit: 'day' }).days;
  const someJob = fc.record({
    countries: fc.subarray(['US', 'DE', 'NO'], { minLength: 1 }),
    topics: fc.subarray(['Inflation-Food', 'Policy Outlook'], { minLength: 1 }),
    from: fc.integer({ min: 0, max: span }),
    days: fc.integer({ min: 1, max: span + 1 }),
    step: fc.integer({ min: 1, max: 40 }),
    order: fc.constantFrom('newest-first', 'oldest-first'),
    lookback: fc.integer({ min: 0, max: 5 }),
  });

  it('the settled days of all are covered, no other day is, and no covered day was asked for again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(someJob, { minLength: 2, maxLength: 4 }), async (jobs) => {
        await using warehouse = await aWarehouse();
        await using sandbox = await aSandbox({ volume: 0.05 });
        const { db } = warehouse;
        const requests = watchRequests(sandbox);
        const covered = new Map<string, Set<string>>();
        for (const { countries, topics, from, days, step, order, lookback } of jobs) {
          const begin = firstDay.add({ days: from });
          const end = begin.add({ days: days - 1 });
          const job = aJobFor(
            { countries, topics, from: begin.toString(), to: end.toString() },
            { ...exact, step: `P${step}D`, order, lookback: `P${lookback}D` },
          );
          requests.length = 0;
          expect((await runBackfill({ job, db, sandbox })).outcome).toBe('done');

          for (const { path, query } of firstPages(requests)) {
            const known = covered.get(`${path.split('/').at(-1)} ${query.topic} COMBINED`);
            for (const day of daysBetween(query.start_date!, query.end_date!)) {
              expect(known?.has(day) ?? false, `${day} was covered already`).toBe(false);
            }
          }
          const settled = today.subtract({ days: lookback }).toString();
          for (const series of countries.flatMap((c) => topics.map((topic) => `${c} ${topic} COMBINED`))) {
            const known = covered.get(series) ?? new Set();
            for (const day of daysBetween(begin.toString(), end.toString()))
              if (day < settled) known.add(day);
            if (known.size > 0) covered.set(series, known);
          }
          const held = Object.entries(await coverageOf(db)).map(
            ([series, days]) => [series, daysOf(days)] as const,
          );
          expect(new Map(held)).toEqual(new Map([...covered].map(([s, days]) => [s, [...days].sort()])));
        }
        for (const [series, days] of covered) {
          const [country, ...topic] = series.split(' ').slice(0, -1) as [string, ...string[]];
          for (const day of [...days].slice(0, 3)) {
            const one = { countries: [country], topics: [topic.join(' ')], from: day, to: day };
            expect(await heldBy(db, one)).toEqual(servedBy(sandbox, one));
          }
        }
      }),
      { numRuns: 3 },
    );
  });
});

function daysBetween(from: string, to: string): string[] {
  const first = Temporal.PlainDate.from(from);
  const count = first.until(Temporal.PlainDate.from(to), { largestUnit: 'day' }).days + 1;
  return Array.from({ length: Math.max(0, count) }, (_, i) => first.add({ days: i }).toString());
}

/** The days of a multirange as PostgreSQL writes it, `{[2026-01-01,2026-01-03)}`. */
function daysOf(multirange: string): string[] {
  return [...multirange.matchAll(/\[([\d-]+),([\d-]+)\)/g)].flatMap(([, from, to]) =>
    daysBetween(from!, Temporal.PlainDate.from(to!).subtract({ days: 1 }).toString()),
  );
}
