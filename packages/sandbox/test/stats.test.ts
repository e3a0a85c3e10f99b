import { expect, test } from 'vitest';
import { aSandbox, drain, get, getPage, recordsOf } from './client.ts';

test('requests are counted by status, pages and records as they are served', async () => {
  const sandbox = await aSandbox();
  const pages = await drain(sandbox, {});
  await getPage(sandbox, { limit: 0 });
  await get(sandbox, '/v1/countries');
  await get(sandbox, '/v1/countries', {}, {});
  await get(sandbox, '/v1/nothing');
  expect(sandbox.stats()).toMatchObject({
    requests: pages.length + 4,
    byStatus: { 200: pages.length + 1, 401: 1, 404: 1, 422: 1 },
    pages: pages.length,
    records: recordsOf(pages).length,
    faults: {},
    inFlight: 0,
    pagesServedTwice: 0,
  });
});

test('a page that is served a second time is noticed, one that was cut off is not a page', async () => {
  const sandbox = await aSandbox();
  sandbox.script([{ kind: 'truncate' }]);
  await expect(getPage(sandbox)).rejects.toThrow();
  await getPage(sandbox);
  expect(sandbox.stats()).toMatchObject({ pages: 1, pagesServedTwice: 0, faults: { truncate: 1 } });
  await getPage(sandbox);
  await getPage(sandbox, { limit: 99 });
  expect(sandbox.stats()).toMatchObject({ pages: 3, pagesServedTwice: 1 });
});

test('two requests of one cursor at once are noticed, requests of different ones are not', async () => {
  const sandbox = await aSandbox();
  const slow = { kind: 'latency', ms: 30, times: 10 } as const;
  sandbox.script([slow]);
  await Promise.all(['US', 'GB', 'DE'].map((country) => getPage(sandbox, { country })));
  expect(sandbox.stats()).toMatchObject({ cursorReadsAtOnce: 1 });
  const token = (await getPage(sandbox)).json.next_token;
  await Promise.all([getPage(sandbox), getPage(sandbox, { next_token: token })]);
  expect(sandbox.stats().cursorReadsAtOnce).toBe(2);
});

test('the high-water mark counts the requests that passed the limits within a second', async () => {
  const sandbox = await aSandbox({ limits: { burst: 5, perSecond: 1 } });
  for (let i = 0; i < 8; i++) await get(sandbox, '/v1/countries');
  const { mostInOneSecond, byStatus } = sandbox.stats();
  expect(byStatus).toEqual({ 200: 5, 429: 3 });
  expect(mostInOneSecond).toBe(5);
});

test('other processes ask for stats over HTTP, without a key and without being counted', async () => {
  const sandbox = await aSandbox();
  await getPage(sandbox);
  const before = sandbox.stats();
  expect((await get(sandbox, '/_sandbox/stats', {}, {})).json).toEqual(before);
  expect(sandbox.stats()).toEqual(before);
});
