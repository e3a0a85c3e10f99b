import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type SandboxOptions, startSandbox, type TruthRecord } from '../src/index.ts';
import { aSandbox, drain, FOOD_IN_US, recordsOf } from './client.ts';

const DAY = 86_400_000;
const JANUARY = { ...FOOD_IN_US, from: '2026-01-01', to: '2026-01-31' };
const OVER = Date.parse('2026-02-01T00:00:00Z');

test('late headlines are missing at first and all there in the end', async () => {
  const [first, final] = [await truthAt({ late: 0.5 }, OVER), await truthAt({ late: 0.5 }, OVER + 5 * DAY)];
  expect(first.length).toBeLessThan(final.length);
  expect(final).toEqual(await truthAt({}, OVER));
  const known = new Set(final.map(({ id }) => id));
  expect(first.filter(({ id }) => !known.has(id))).toEqual([]);
});

test('what is there throughout a drain is served exactly once while others come, change and go', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('newest-first' as const, 'oldest-first' as const),
      fc.integer({ min: 20, max: 120 }),
      fc.integer({ min: 1, max: 24 }),
      async (order, limit, hoursAPage) => {
        let now = OVER;
        const clock = () => new Date(now);
        const changes = { late: 0.3, revised: 0.3, withdrawn: 0.3 };
        await using sandbox = await startSandbox({ order, changes, clock, limits: null });
        const before = sandbox.truth(JANUARY);
        const pages = await drain(sandbox, { limit }, () => {
          now += hoursAPage * 3_600_000;
        });
        const after = new Set(sandbox.truth(JANUARY).map(({ id }) => id));
        const throughout = before.filter(({ id }) => after.has(id)).map(({ id }) => id);
        const served = recordsOf(pages).map(({ id }) => id);
        expect(new Set(served).size).toBe(served.length);
        expect(throughout.filter((id) => !served.includes(id!))).toEqual([]);
        expect(throughout.length).toBeLessThan(before.length);
      },
    ),
    { numRuns: 5 },
  );
});

async function truthAt(changes: NonNullable<SandboxOptions['changes']>, ms: number): Promise<TruthRecord[]> {
  const sandbox = await aSandbox({ changes, clock: () => new Date(ms) });
  return sandbox.truth(JANUARY);
}
