import { expect, test } from 'vitest';
import type { FeedName, Sandbox } from '#sandbox';
import { FEEDS } from '../../packages/sandbox/src/feeds/catalog.ts';
import { aSandbox, get, NOON } from '../../packages/sandbox/test/client.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { feedCases } from '../feeds/cases.ts';

const HOUR = 3_600_000;
const US_FOOD = { country: 'US', topic: 'Inflation-Food' };

/** Every live feed: the one of the past, its path, what is asked of it, and how far back the program takes it to reach. */
const CASES = [...catalog.values()].flatMap(({ name, live }) => {
  const [params] = feedCases[name].series;
  const served = FEEDS.find((feed) => feed.name === `${name}-live`);
  if (live === undefined || served === undefined) return [];
  const path = served.route.replace(/:(\w+)/, (_, parameter) => params[parameter]!);
  return [[served.name, name, path, params, live.hours] as const];
});

test('the sandbox has the live feeds that the program reads', () => {
  const live = [...catalog.values()].filter((feed) => feed.live);
  expect(CASES).toHaveLength(live.length);
  expect(CASES).toHaveLength(FEEDS.filter(({ kind }) => kind === 'live').length);
});

test.each(CASES)(
  '%s has the last hours of %s, newest first, in a bare array',
  async (live, past, path, params, hours) => {
    const sandbox = await aSandbox({ volume: 5 });
    const { json } = await get(sandbox, path, { ...params, limit: 1000 });
    const recent = sandbox
      .truthOf(past, { ...params, from: '2026-11-19', to: '2026-11-20' })
      .filter(({ publishedAt }) => Date.parse(publishedAt) >= NOON.getTime() - hours * HOUR)
      .map(({ wire }) => wire);
    expect(recent.length).toBeGreaterThan(0);
    expect(json).toEqual(recent.toReversed());
    expect(sandbox.truthOf(live, params).map(({ wire }) => wire)).toEqual(json);
  },
);

test('a live answer is cut off at its limit, 100 by default, or 1000 for the macro indices', async () => {
  const sandbox = await aSandbox({ volume: 20 });
  const all = sandbox.truthOf('gmsi-headlines-live', US_FOOD).map(({ wire }) => wire);
  expect(all.length).toBeGreaterThan(100);
  expect((await askLive(sandbox, {})).json).toEqual(all.slice(0, 100));
  const regional = await get(sandbox, '/v1/headlines/index/macro/live/regional/macro_1');
  expect(regional.json.length).toBeGreaterThan(100);
  expect((await askLive(sandbox, { limit: 7 })).json).toEqual(all.slice(0, 7));
  expect((await askLive(sandbox, { limit: 0 })).status).toBe(422);
  expect((await askLive(sandbox, { limit: 1001 })).status).toBe(422);
});

test('the historical feed can lag behind the live one', async () => {
  const sandbox = await aSandbox({ volume: 5, historicalDelayMinutes: 90 });
  const times = (feed: FeedName) =>
    sandbox
      .truthOf(feed, { ...US_FOOD, from: '2026-11-20', to: '2026-11-20' })
      .map(({ publishedAt }) => publishedAt)
      .filter((time) => time >= '2026-11-20');
  const [late, early] = [times('gmsi-headlines'), times('gmsi-headlines-live')];
  expect(late.length).toBeGreaterThan(0);
  expect(late.toSorted()).toEqual(early.filter((time) => time <= '2026-11-20T10:30:00.000Z').toSorted());
  expect(late.length).toBeLessThan(early.length);
});

test('a page of a day that has just ended is not kept while the historical feed lags', async () => {
  let now = Date.parse('2026-11-20T00:10:00Z');
  const sandbox = await aSandbox({ volume: 20, historicalDelayMinutes: 90, clock: () => new Date(now) });
  const path = '/v1/headlines/feed/historical/gmsi/US';
  const query = { topic: 'Inflation-Food', start_date: '2026-11-19', end_date: '2026-11-19', limit: 1000 };
  const before = (await get(sandbox, path, query)).json.data.length;
  now += 2 * HOUR;
  expect((await get(sandbox, path, query)).json.data.length).toBeGreaterThan(before);
});

function askLive(sandbox: Sandbox, query: Record<string, string | number>) {
  return get(sandbox, '/v1/headlines/feed/live/gmsi/US', { topic: 'Inflation-Food', ...query });
}
