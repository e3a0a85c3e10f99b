import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { askedAgain } from '../../src/warehouse/tables/refusals.ts';
import { refusing, servedFrom, sorted } from '../support/refusing.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';

const clock = () => new Date('2026-11-20T12:00:00Z');

/** Requests that one series may cost beyond its pages: two refusals, and the search for its first day in a window. */
const perSeries = (step: number) => 2 + 2 + Math.ceil(Math.log2(step));

describe('whatever the service refuses, and however often', () => {
  const scope = {
    ...{ countries: ['US', 'DE'], topics: ['Inflation-Food', 'Policy Outlook'] },
    ...{ from: '2026-04-01', to: '2026-11-15' },
  };
  const all = scope.countries.flatMap((country) => scope.topics.map((topic) => `${country} ${topic}`));
  const day = (offset: number) =>
    new Date(Date.UTC(2026, 2, 20) + offset * 86_400_000).toISOString().slice(0, 10);
  const setting = fc.record({
    begins: fc.array(fc.nat({ max: 250 }), { minLength: all.length, maxLength: all.length }),
    transient: fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
    share: fc.constantFrom(0, 0.1, 0.5),
    step: fc.constantFrom(10, 30, 89),
    order: fc.constantFrom('newest-first', 'oldest-first'),
    concurrency: fc.constantFrom(1, 4),
  });

  it('some runs later everything is loaded that there is, and no run asks for much in vain', async () => {
    await fc.assert(
      fc.asyncProperty(setting, async ({ begins, transient, share, step, order, concurrency }) => {
        await using warehouse = await aWarehouse();
        await using sandbox = await startSandbox({ limits: null, clock, volume: 0.02 });
        const { db } = warehouse;
        const begin = (series: string) => day(begins[all.indexOf(series)]!);
        let asked = 0;
        let flukes = 0;
        const { refused } = refusing(sandbox, (series, from) => {
          if (from < begin(series)) return true;
          const isFluke = asked < 60 * share && transient[asked++]!;
          if (isFluke) flukes++;
          return isFluke;
        });
        const job = aJobFor(scope, { step: `P${step}D`, order, service: { concurrency } });
        // A run asks for few days that are answered, so refusals that pass may take many runs.
        for (let run = 0, quiet = 0; run < 8 || quiet < 2; run++) {
          refused.length = 0;
          flukes = 0;
          await runBackfill({ job, db, sandbox, clock });
          const inVain = all.length * perSeries(step) + 2 * concurrency + askedAgain;
          expect(refused.length).toBeLessThanOrEqual(inVain + 3 * flukes);
          quiet = flukes === 0 ? quiet + 1 : 0;
        }
        expect(sorted(await heldBy(db, scope))).toEqual(sorted(servedFrom(sandbox, scope, begin)));
      }),
      // One that hangs is reported with its setting; each takes some seconds, or some ten beside other tests. One that fails
      // is not made smaller: that would take longer than the test may.
      { numRuns: 3, timeout: 60_000, endOnFailure: true },
    );
  }, 320_000);
});

it('series keep no others from being loaded, though many empty ones go first', async ({ db }) => {
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.03 });
  const topics = ['Inflation-Food', 'Policy Outlook', 'Market Stress', 'Wars', 'Elections', 'Tension'];
  // Countries are drained from the last one on.
  const many = { countries: ['AU', 'ZA', 'US', 'SE', 'NO'], topics, from: '2026-08-01', to: '2026-11-15' };
  const job = aJobFor(many, { step: 'P30D' });
  refusing(sandbox, (series) => !series.startsWith('AU'));
  for (let run = 0; run < 3; run++) await runBackfill({ job, db, sandbox, clock });
  const loaded = { ...many, countries: ['AU'] };
  expect(await heldBy(db, loaded)).toEqual(servedBy(sandbox, loaded));
});
