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

test('by default a record has the wire names of the service and fields that nobody knows', async () => {
  const { json } = await getPage(await aSandbox({ records: { missingScores: 0 } }));
  expect(Object.keys(json.data[0])).toEqual([
    ...'id publication_time topic_name match_type headline language source url'.split(' '),
    ...'topic_probability directional_positive directional_neutral directional_negative'.split(' '),
    ...'semantic_positive semantic_neutral semantic_negative relevance_rank entities'.split(' '),
  ]);
  expect(json.data[0].publication_time).toMatch(/^2026-01-\d\dT\d\d:\d\d:\d\d$/);
});

test('records can go without ids and texts, nest their scores and write numbers as strings', async () => {
  const records = {
    ids: false,
    texts: false,
    scores: 'nested',
    numbers: 'string',
    missingScores: 0,
  } as const;
  const sandbox = await aSandbox({ records });
  const record = (await getPage(sandbox, { limit: 1 })).json.data[0];
  const newest = sandbox.truth({ ...FOOD_IN_US, ...JANUARY }).at(-1)!;
  expect(newest).toMatchObject({ id: null, headline: null, source: null, language: null, url: null });
  expect(record).toEqual(newest.wire);
  expect(Object.keys(record)).not.toContain('id');
  expect(Object.keys(record)).not.toContain('headline');
  expect(record.directional.positive).toBe(String(newest.directional.positive));
  expect(record.topic_probability).toBe(String(newest.topicProbability));
});
