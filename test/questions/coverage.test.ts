import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { coverageOfSeries } from '../../src/questions/coverage.ts';
import { sqlText, whileReading } from '../../src/questions/reading.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aWindowIn, coverIn, forgetAllIn } from '../support/warehouse-state.ts';

const warehouse = await aWarehouseForAll();

const first = Date.parse('2025-01-01');
const dayOf = (n: number) => new Date(first + n * 86_400_000).toISOString().slice(0, 10);
const period = { from: dayOf(5), to: dayOf(34) };

const aRange = fc
  .tuple(fc.integer({ min: 0, max: 39 }), fc.integer({ min: 0, max: 12 }))
  .map(([begin, length]) => ({ begin, end: Math.min(39, begin + length) }));
const states = ['draining', 'failed', 'refused', 'pending', 'drained'] as const;
interface PlannedWindow {
  readonly range: { readonly begin: number; readonly end: number };
  readonly state: (typeof states)[number];
  readonly settled: number;
}
const aWindow: fc.Arbitrary<PlannedWindow> = fc.record({
  range: aRange,
  state: fc.constantFrom(...states),
  settled: fc.integer({ min: 0, max: 40 }),
});

/** Each day of the period once, in the order of precedence. */
function counted(covered: readonly { begin: number; end: number }[], windows: readonly PlannedWindow[]) {
  const totals = { covered: 0, running: 0, failed: 0, refused: 0, pending: 0, settling: 0, never: 0 };
  const spans: [state: string, days: number][] = [];
  const isIn = (n: number, { begin, end }: { begin: number; end: number }) => begin <= n && n <= end;
  for (let n = 5; n <= 34; n++) {
    const state = states.find((one) =>
      windows.some(
        ({ range, state, settled }) =>
          state === one && isIn(n, range) && (state !== 'drained' || range.end >= settled),
      ),
    );
    const names = {
      draining: 'running',
      failed: 'failed',
      refused: 'refused',
      pending: 'pending',
      drained: 'settling',
    } as const;
    const isSettled = windows.some(
      ({ range, state, settled }) => state === 'drained' && isIn(n, range) && n < settled,
    );
    const name =
      isSettled || covered.some((range) => isIn(n, range)) ? 'covered' : state ? names[state] : 'never';
    totals[name] += 1;
    if (spans.at(-1)?.[0] === name) spans.at(-1)![1] += 1;
    else spans.push([name, 1]);
  }
  const { never: _, ...known } = totals;
  return { ...known, timeline: spans.map((span) => span.join(' ')).join(', ') };
}

it('counts each day of a period once, however ranges and windows overlap', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(aRange, { maxLength: 4 }),
      fc.array(aWindow, { maxLength: 6 }),
      async (covered, windows) => {
        const { db } = warehouse;
        await forgetAllIn(db);
        const ranges = covered.map(({ begin, end }) => `[${dayOf(begin)},${dayOf(end)}]`);
        if (covered.length > 0) await coverIn(db, `{${ranges}}`);
        for (const { range, state, settled } of windows)
          await aWindowIn(db, dayOf(range.begin), dayOf(range.end), {
            state,
            first_unsettled: dayOf(settled),
          });
        const question = coverageOfSeries({ feed: 'gmsi-headlines', match_type: 'COMBINED', ...period });
        const { rows } = await whileReading(warehouse.db, 'reader', (reading) =>
          question.query.execute(reading),
        );
        const none = {
          covered: 0,
          running: 0,
          failed: 0,
          refused: 0,
          pending: 0,
          settling: 0,
          timeline: 'never 30',
        };
        const { country, topic, ticker, variant, ...found } = (rows[0] ?? none) as (typeof rows)[0];
        expect(rows.length).toBeLessThanOrEqual(1);
        expect(found).toEqual(counted(covered, windows));
      },
    ),
    { numRuns: 60, endOnFailure: true },
  );
});

it('writes the values of a question out, so that the text can be run as it is', async () => {
  const odd = { feed: "it's", match_type: 'a\\b', from: '2025-01-01', to: '2025-01-31' };
  const text = sqlText(warehouse.db, coverageOfSeries(odd));
  expect(text).toContain("s.feed = 'it''s'");
  expect((await sql.raw(text.replace(/;\n$/, '')).execute(warehouse.db)).rows).toEqual([]);
});

it('gives a question no way to write', async () => {
  const attempt = whileReading(warehouse.db, 'own', (reading) =>
    sql`delete from gmsi.queue`.execute(reading),
  );
  await expect(attempt).rejects.toThrow(/read-only transaction/);
});
