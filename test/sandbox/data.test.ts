import { expect, test } from 'vitest';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { aSandbox, drain, FOOD_IN_US, get, getPage, recordsOf } from './client.ts';

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

test('a day holds the same headlines whatever range it is asked in', async () => {
  const sandbox = await aSandbox();
  const alone = sandbox.truth({ ...FOOD_IN_US, from: '2026-01-15', to: '2026-01-15' });
  const within = sandbox.truth({ ...FOOD_IN_US, ...JANUARY });
  expect(within.filter(({ publishedAt }) => publishedAt.startsWith('2026-01-15'))).toEqual(alone);
  expect(alone.length).toBeGreaterThan(0);
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

test('some pairs are silent, some busy, and the one in the middle has 5 to 20 headlines a day', async () => {
  const sandbox = await aSandbox();
  const countries = await countriesOf(sandbox);
  const week = { topic: 'Public Debt', from: '2026-01-05', to: '2026-01-11' };
  const aDay = countries
    .map((country) => sandbox.truth({ ...week, country }).length / 7)
    .sort((a, b) => a - b);
  expect(aDay[0]).toBe(0);
  expect(aDay[48]).toBeGreaterThan(3);
  expect(aDay[48]).toBeLessThan(20);
  expect(aDay.at(-1)).toBeGreaterThan(50);
});

test('weekends are quieter than weekdays', async () => {
  const sandbox = await aSandbox();
  const counts = new Array<number>(7).fill(0);
  for (const { publishedAt } of sandbox.truth({ ...FOOD_IN_US, from: '2025-01-06', to: '2026-01-04' })) {
    const weekday = new Date(publishedAt).getUTCDay();
    counts[weekday] = counts[weekday]! + 1;
  }
  const [sunday, monday, , wednesday, , , saturday] = counts as [number, ...number[]] & number[];
  expect(Math.max(sunday, saturday!)).toBeLessThan(0.8 * Math.min(monday!, wednesday!));
});

test('probabilities of each model add up to 1 and the share without semantic scores is as set', async () => {
  const sandbox = await aSandbox({ records: { missingScores: 0.2 } });
  const truth = sandbox.truth({ ...FOOD_IN_US, from: '2025-01-01', to: '2025-12-31' });
  const sums = truth.flatMap(({ directional, semantic }) =>
    semantic.positive === null ? [total(directional)] : [total(directional), total(semantic)],
  );
  expect(sums.filter((sum) => Math.abs(sum - 1) > 1e-9)).toEqual([]);
  const without = truth.filter(({ semantic }) => semantic.positive === null);
  expect(without.length / truth.length).toBeCloseTo(0.2, 1);
  expect(without.filter(({ wire }) => 'semantic_positive' in wire).length).toBeGreaterThan(0);
  expect(without.filter(({ wire }) => !('semantic_positive' in wire)).length).toBeGreaterThan(0);
});

test.each([0, 1])('with hourShare %d, that share of times is on the hour', async (hourShare) => {
  const sandbox = await aSandbox({ records: { hourShare } });
  const truth = sandbox.truth({ ...FOOD_IN_US, ...JANUARY });
  const onTheHour = truth.filter(({ publishedAt }) => publishedAt.endsWith(':00:00.000Z'));
  expect(onTheHour.length / truth.length).toBeCloseTo(hourShare, 1);
});

test('headlines are written in the scripts of the countries they are about', async () => {
  const sandbox = await aSandbox();
  const scripts = {
    RU: /\p{sc=Cyrl}/u,
    SA: /\p{sc=Arab}/u,
    IN: /\p{sc=Deva}/u,
    JP: /\p{sc=Hira}/u,
    KR: /\p{sc=Hang}/u,
  };
  for (const [country, script] of Object.entries(scripts)) {
    const truth = sandbox.truth({ country, topic: 'Trade Activity', matchType: 'DOMESTIC', ...JANUARY });
    expect(truth.filter(({ headline }) => script.test(headline!)).length, country).toBeGreaterThan(
      truth.length / 3,
    );
  }
});

test('COMBINED is what DOMESTIC and INTERNATIONAL have together', async () => {
  const sandbox = await aSandbox();
  const [combined, domestic, international] = await Promise.all(
    ['COMBINED', 'DOMESTIC', 'INTERNATIONAL'].map(async (match_type) =>
      recordsOf(await drain(sandbox, { match_type, limit: 1000 })).map(({ id }) => id),
    ),
  );
  expect([...domestic!, ...international!].sort()).toEqual([...combined!].sort());
  expect(Math.min(domestic!.length, international!.length)).toBeGreaterThan(0);
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

test.each([
  ['utc', /\+00:00$/],
  ['offset', /\+05:30$/],
] as const)('times written as %s mean the same instant', async (times, ending) => {
  const sandbox = await aSandbox({ records: { times } });
  const truth = sandbox.truth({ ...FOOD_IN_US, ...JANUARY });
  const written = truth.map(({ wire }) => String(wire.publication_time));
  expect(written.filter((time) => !ending.test(time))).toEqual([]);
  expect(written.map((time) => new Date(time).toISOString())).toEqual(
    truth.map(({ publishedAt }) => publishedAt),
  );
});

function total({
  positive,
  neutral,
  negative,
}: Record<'positive' | 'neutral' | 'negative', number | null>): number {
  return positive! + neutral! + negative!;
}

async function countriesOf(sandbox: Sandbox): Promise<string[]> {
  return (await get(sandbox, '/v1/countries')).json.map(({ code }: { code: string }) => code);
}
