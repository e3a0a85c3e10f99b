import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FeedName, type Sandbox, startSandbox } from '#sandbox';
import { FEEDS as SERVED } from '../../packages/sandbox/src/feeds/catalog.ts';
import {
  type Answer,
  aSandbox,
  drainBy,
  get,
  NOON,
  post,
  recordsOf,
} from '../../packages/sandbox/test/client.ts';
import { feedCases } from '../feeds/cases.ts';

const served = SERVED.filter((feed) => feed.kind === 'paged');

/** Every feed with a cursor: its path, and what is asked of it. */
const FEEDS = Object.fromEntries(
  Object.entries(feedCases).map(([name, { series }]) => {
    const { route, method } = served.find((feed) => feed.name === name)!;
    return [name, { route, params: series[0], isPost: method === 'POST' }];
  }),
);
const NAMES = Object.keys(FEEDS) as FeedName[];

test('every feed with a cursor is one that the program loads', () => {
  expect(NAMES.toSorted()).toEqual(served.map(({ name }) => name).toSorted());
});

const exampleOptions = {
  order: 'newest-first',
  endDate: 'inclusive',
  timeZone: 'UTC',
  records: { ids: false, texts: false },
} as const;

test('each feed pages through its truth, all of it, in order, whatever the limit, range, order and zone', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...NAMES),
      fc.record({
        order: fc.constantFrom('newest-first' as const, 'oldest-first' as const),
        endDate: fc.constantFrom('inclusive' as const, 'exclusive' as const),
        timeZone: fc.constantFrom('UTC', 'Asia/Kolkata', 'America/New_York'),
        records: fc.record({ ids: fc.boolean(), texts: fc.boolean() }),
      }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 25, max: 1000 }),
      async (name, options, days, limit) => {
        await using sandbox = await startSandbox({
          ...options,
          limits: null,
          volume: 0.15,
          clock: () => NOON,
        });
        const [from, to] = ['2026-10-29', `2026-11-0${days}`];
        const end_date = options.endDate === 'inclusive' ? to : `2026-11-0${days + 1}`;
        const pages = await drainFeed(sandbox, name, { start_date: from, end_date, limit });
        const truth = sandbox.truthOf(name, { ...FEEDS[name]!.params, from, to }).map(({ wire }) => wire);
        expect(truth.length).toBeGreaterThan(0);
        expect(recordsOf(pages)).toEqual(options.order === 'oldest-first' ? truth : truth.toReversed());
        expect(pages.length).toBe(Math.ceil(truth.length / limit));
        expect(pages.map(({ json }) => json.limit)).toEqual(pages.map(() => limit));
        expect(pages.at(-1)!.json).toMatchObject({ has_more: false, next_token: null });
      },
    ),
    // A headline under several topics of a country, with a page's end between them, was lost.
    { numRuns: 12, examples: [['macro-headlines', exampleOptions, 1, 5]] },
  );
});

test.each(NAMES)('%s takes limits, dates and cursors as all feeds do', async (name) => {
  const sandbox = await aSandbox({ historyLimitDays: 60 });
  const ask = async (query: Record<string, string | number>) => (await askFeed(sandbox, name, query)).status;
  expect(await ask({ limit: 1001 })).toBe(422);
  expect(await ask({ start_date: '2026-11-31' })).toBe(422);
  expect(await ask({ start_date: '2026-09-20', end_date: '2026-11-20' })).toBe(400);
  const query = { start_date: '2026-10-01', end_date: '2026-11-10', limit: 2 };
  const token = (await askFeed(sandbox, name, query)).json.next_token;
  expect(await ask({ ...query, next_token: token })).toBe(200);
  expect(await ask({ ...query, limit: 3, next_token: token })).toBe(400);
  const otherName = NAMES[(NAMES.indexOf(name) + 1) % NAMES.length]!;
  expect((await askFeed(sandbox, otherName, { ...query, next_token: token })).status).toBe(400);
});

test.each([
  'no JSON',
  '[]',
  '{}',
  { tickers: [] },
  { tickers: ['NOTHING_COM'] },
  { tickers: ['BZ_COM'], event_types: ['All'] },
  { tickers: ['BZ_COM'], limit: 0 },
])('a custom query with the body %j is refused, and counted', async (body) => {
  const sandbox = await aSandbox({ limits: { perMonth: 1 } });
  expect(await post(sandbox, '/v1/events/index/query', body)).toMatchObject({
    status: 422,
    json: { detail: expect.anything() },
  });
  expect((await post(sandbox, '/v1/events/index/query', body)).status).toBe(429);
});

function askFeed(
  sandbox: Sandbox,
  name: FeedName,
  query: Readonly<Record<string, string | number | null>>,
): Promise<Answer> {
  const { route, params, isPost } = FEEDS[name]!;
  const url = route.replace(/:(\w+)/, (_, parameter) => params[parameter]!);
  if (!isPost) return get(sandbox, url, { ...params, ...query });
  const lists = ['tickers', 'event_types'];
  const body = Object.entries(params).map(([key, value]) => [
    key,
    lists.includes(key) ? value.split(',') : value,
  ]);
  return post(sandbox, url, { ...Object.fromEntries(body), ...query });
}

function drainFeed(
  sandbox: Sandbox,
  name: FeedName,
  query: Readonly<Record<string, string | number>>,
): Promise<Answer[]> {
  return drainBy((next_token) => askFeed(sandbox, name, { ...query, next_token }));
}
