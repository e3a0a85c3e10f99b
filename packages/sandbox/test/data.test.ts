import { expect, test } from 'vitest';
import { aSandbox, FOOD_IN_US, getPage } from './client.ts';

const JANUARY = { from: '2026-01-01', to: '2026-01-31' };

test('the same seed gives the same bytes in another sandbox, another seed other headlines', async () => {
  const [one, same, other] = [
    await aSandbox({ seed: 'a' }),
    await aSandbox({ seed: 'a' }),
    await aSandbox({ seed: 'b' }),
  ];
  expect((await getPage(one)).text).toBe((await getPage(same)).text);
  const ids = new Set(one.truth({ ...FOOD_IN_US, ...JANUARY }).map(({ id }) => id));
  expect(other.truth({ ...FOOD_IN_US, ...JANUARY }).filter(({ id }) => ids.has(id))).toEqual([]);
});

test('headlines can be told apart by id, and without one by time, text, source and language', async () => {
  const sandbox = await aSandbox({ volume: 5 });
  const truth = ['US', 'DE', 'JP', 'NO'].flatMap((country) =>
    sandbox.truth({ ...FOOD_IN_US, country, ...JANUARY }),
  );
  const natural = truth.map((it) => JSON.stringify([it.publishedAt, it.headline, it.source, it.language]));
  expect(truth.length).toBeGreaterThan(3000);
  expect(new Set(truth.map(({ id }) => id)).size).toBe(truth.length);
  expect(new Set(natural).size).toBe(truth.length);
  expect(new Set(truth.map(({ publishedAt }) => publishedAt)).size).toBeLessThan(truth.length / 2);
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(truth.filter(({ id }) => !uuid.test(id ?? ''))).toEqual([]);
});

test.each([
  ['gmsi-headlines', FOOD_IN_US, ['DOMESTIC', 'INTERNATIONAL']],
  ['ticker-headlines', { ticker: 'BZ_COM' }, ['EXPLICIT', 'IMPLICIT']],
] as const)('of %s, COMBINED is what the parts have together', async (feed, series, parts) => {
  const sandbox = await aSandbox();
  const idsOf = (match_type: string) =>
    sandbox.truthOf(feed, { ...series, match_type, ...JANUARY }).map(({ wire }) => String(wire.id));
  const [one, other] = parts.map(idsOf);
  expect([...one!, ...other!].sort()).toEqual(idsOf('COMBINED').sort());
  expect(Math.min(one!.length, other!.length)).toBeGreaterThan(0);
});
