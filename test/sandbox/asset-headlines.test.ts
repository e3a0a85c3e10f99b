import { expect, test } from 'vitest';
import type { Sandbox, SandboxOptions } from '../../src/sandbox/index.ts';
import { type Answer, aSandbox, get, type Query } from './client.ts';

const BEFORE = '2026-04-24T12:00:00Z';

test('the retired feed pages by offset through the headlines of a ticker, newest first', async () => {
  const sandbox = await before();
  const truth = sandbox.truthOf('asset-headlines', { ticker: 'BZ_COM' }).map(({ wire }) => wire);
  const week = { ticker: 'BZ_COM', from: '2026-04-17', to: '2026-04-24' };
  const ids = new Set(sandbox.truthOf('ticker-headlines', week).map(({ wire }) => wire.id));
  expect(truth.filter(({ id }) => !ids.has(id))).toEqual([]);
  const records: unknown[] = [];
  for (let offset = 0; ; offset += 100) {
    const { json } = await ask(sandbox, { offset, page_size: 100 });
    records.push(...json);
    if (json.length < 100) break;
  }
  expect(records).toEqual(truth);
  expect(records.length).toBeGreaterThan(200);
  expect((await ask(sandbox, {})).json).toEqual(truth.slice(0, 10));
});

test('the retired feed filters by time, sources and languages', async () => {
  const sandbox = await before();
  const query = {
    earliest: '2026-04-01T00:00:00+02:00',
    latest: '2026-04-20T00:00:00',
    sources: 'Meridian Wire,Elbkurier',
    languages: 'de,en',
  };
  const all = sandbox.truthOf('ticker-headlines', { ticker: 'BZ_COM', from: '2026-03-31', to: '2026-04-20' });
  const wanted = all
    .filter(({ publishedAt }) => publishedAt >= '2026-03-31T22' && publishedAt <= '2026-04-20T00:00:00.000Z')
    .filter(({ wire }) => ['Meridian Wire', 'Elbkurier'].includes(String(wire.source)))
    .map(({ wire }) => wire);
  expect(wanted.length).toBeGreaterThan(10);
  expect((await ask(sandbox, { ...query, page_size: 100 })).json).toEqual(wanted.toReversed().slice(0, 100));
  const { json } = await ask(sandbox, { languages: ['de', 'fr'], page_size: 100 });
  expect(new Set(json.map(({ language }: { language: string }) => language))).toEqual(new Set(['de', 'fr']));
});

test.each([
  [422, { page_size: 0 }],
  [422, { page_size: 101 }],
  [422, { offset: -1 }],
  [422, { earliest: '2026-03-24T00:00:00' }],
  [422, { earliest: 'last week' }],
])('%d answers the retired feed with %j', async (status, query) => {
  expect((await ask(await before(), query)).status).toBe(status);
});

test('from 2026-05-01 on the retired feed is gone, and names what replaces it', async () => {
  let now = Date.parse('2026-04-30T23:59:59Z');
  const sandbox = await aSandbox({ clock: () => new Date(now) });
  expect((await ask(sandbox, {})).status).toBe(200);
  now += 1000;
  expect(await ask(sandbox, {})).toMatchObject({
    status: 410,
    json: { detail: expect.stringContaining('GET /headlines/feed/live/ticker/{ticker}') },
  });
  expect(() => sandbox.truthOf('asset-headlines', { ticker: 'BZ_COM' })).toThrow('removed on 2026-05-01');
});

test('the path of the retired feed can be set', async () => {
  const sandbox = await before({ retiredPath: '/v1/assets/{ticker}/headlines' });
  expect((await get(sandbox, '/v1/assets/BZ_COM/headlines')).json).toHaveLength(10);
  expect((await ask(sandbox, {})).status).toBe(404);
});

function before(options: SandboxOptions = {}): Promise<Sandbox> {
  return aSandbox({ clock: () => new Date(BEFORE), ...options });
}

function ask(sandbox: Sandbox, query: Query): Promise<Answer> {
  return get(sandbox, '/v1/headlines/feed/asset/BZ_COM', query);
}
