import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refusing, servedFrom, sorted } from '../support/refusing.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy } from '../support/truth.ts';
import { ageWindowsIn, windowsOf } from '../support/warehouse-state.ts';

describe('whatever the service refuses, and however often', () => {
  const scope = {
    countries: ['US', 'DE'],
    topics: ['Inflation-Food', 'Policy Outlook'],
    from: '2026-04-01',
    to: '2026-11-15',
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
        await using sandbox = await aSandbox({ volume: 0.02 });
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
        const loaded = new Map<string, string>();
        // A run asks for one refused window a series, so refusals that pass may take many runs.
        for (let left = true; left; ) {
          refused.length = 0;
          flukes = 0;
          // A series that was refused again and again is tried once a day.
          await ageWindowsIn(db, '1 day', { state: 'refused' });
          await runBackfill({ job, db, sandbox });
          expect(refused.length).toBeLessThanOrEqual(2 * all.length + 2 * concurrency + 2 * flukes);
          left = false;
          for (const { country, topic, state, first_day } of await windowsOf(db)) {
            const series = `${country} ${topic}`;
            const isLast = first_day < (loaded.get(series) ?? '9999');
            if (state === 'drained' && isLast) loaded.set(series, first_day);
            if (state !== 'drained' && first_day >= begin(series)) left = true;
          }
        }
        // A window that is refused as a whole may have days that are answered.
        const served = servedFrom(sandbox, scope, (series) => loaded.get(series) ?? '9999');
        expect(sorted(await heldBy(db, scope))).toEqual(sorted(served));
      }),
      // One that hangs is reported with its setting; each takes some seconds, or some ten beside other tests. One that fails
      // is not made smaller: that would take longer than the test may.
      { numRuns: 3, timeout: 60_000, endOnFailure: true },
    );
  }, 320_000);
});
