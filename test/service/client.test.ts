import type { ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { defaultServiceSettings } from '../../src/config/service-schema.ts';
import { Secret } from '../../src/secret.ts';
import { type Client, type ClientEvent, type ClientOptions, createClient } from '../../src/service/client.ts';
import { KeyRefused, RedirectRefused, RequestRefused } from '../../src/service/errors.ts';
import { BudgetSpent } from '../../src/service/permits.ts';
import { jumpingClock } from './clocks.ts';
import { cutShort, emptyPage, inTurn, json, rawServer, reset, text } from './raw-server.ts';

const never = new AbortController().signal;
const key = 'key-that-nobody-may-see';
const request = { path: '/headlines/feed/historical/gmsi/US', query: { topic: 'Elections' } };

const settings = { ...defaultServiceSettings, concurrency: 4, maxBodyBytes: 100_000, maxAttempts: 4 };

function aClient(baseUrl: string, changes: Partial<ClientOptions> = {}) {
  const clock = jumpingClock();
  const cancel = vi.fn(async () => {});
  const permits = { take: vi.fn(async () => ({ cancel })) };
  const events: ClientEvent[] = [];
  const client = createClient({
    baseUrl,
    apiKey: new Secret(key),
    settings,
    permits,
    clock,
    random: () => 0.5,
    userAgent: 'gmsi-etl/0.0.0',
    onEvent: (event) => events.push(event),
    ...changes,
  });
  onTestFinished(() => client.close());
  return { client, clock, permits, cancel, events };
}

test('a page over the cap is not asked for again, since it would be as large', async () => {
  const server = await rawServer(text('x'.repeat(100_001), 200));
  const { client, events } = aClient(server.url);
  await expect(client.getPage(request, never)).rejects.toMatchObject({
    name: 'PageTooLarge',
    message: 'The body is larger than 100000 bytes.',
    hint: expect.stringMatching(/service\.page_size.*service\.max_body_bytes/),
  });
  expect(server.targets).toHaveLength(1);
  expect(events).toMatchObject([{ type: 'request', outcome: 'malformed' }]);
});

test.each([
  ['packed in an unknown way', text('{}', 200, { 'content-encoding': 'zip' })],
  ['not UTF-8', (_: unknown, response: ServerResponse) => void response.end(Buffer.from('["é"]', 'latin1'))],
])('a page that is %s is not asked for again, since its bytes would be the same', async (_name, answer) => {
  const server = await rawServer(answer);
  const { client, events } = aClient(server.url);
  await expect(client.getPage(request, never)).rejects.toMatchObject({ name: 'NotText', kind: 'skippable' });
  expect(server.targets).toHaveLength(1);
  expect(events).toMatchObject([{ type: 'request', outcome: 'malformed' }]);
});

describe('a note in place of data', () => {
  const words = 'Monthly quota exceeded';

  test.each([
    ['a message', json({ message: words })],
    ['a note, as others call it', json({ Note: words })],
    ['a list of errors', json({ errors: [{ msg: words }] })],
    ['a page without data', json({ data: null, has_more: false, message: words })],
    ['an error beside no records', json({ ...emptyPage, error: words })],
    ['a message beside no records', json({ ...emptyPage, message: words })],
    ['another message', json({ ...emptyPage, Information: words })],
    ['a message that is nested, under any name', json({ ...emptyPage, meta: { [`x_${words}`]: words } })],
    ['a list of warnings', json({ ...emptyPage, warnings: [{ msg: words }] })],
    ['a message with a status', json({ ...emptyPage, status: 'error', hint: words })],
    ['a text', text(words, 200)],
  ])('is said, and ends the requests of the client after a few: %s', async (_name, answer) => {
    const server = await rawServer(answer);
    const { client, clock, events } = aClient(server.url);
    const refused = () => client.getPage(request, never);
    await expect(refused()).rejects.toThrow(/with a note (in place of data|and no records): .*quota/);
    for (const _ of [1, 2, 3]) await expect(refused()).rejects.toThrow(/^No request is sent before .*quota/);
    expect(server.targets).toHaveLength(3);
    expect(events).toContainEqual(expect.objectContaining({ type: 'request', outcome: 'malformed' }));
    await clock.sleep(3_600_000, never);
    await expect(refused()).rejects.toThrow(words);
    expect(server.targets).toHaveLength(4);
  });

  test('is retried if good answers come between', async () => {
    const note = json({ message: 'slower, please' });
    const server = await rawServer(inTurn(note, note, json(emptyPage), note, note, json(emptyPage)));
    const { client } = aClient(server.url);
    for (const _ of [1, 2])
      expect(await client.getPage(request, never)).toMatchObject({ records: { length: 0 } });
  });

  test('of a lookup is said, too', async () => {
    const server = await rawServer(json({ detail: words }));
    await expect(aClient(server.url).client.getJson(request, never)).rejects.toThrow(words);
  });

  test.each([
    { status: 'error' },
    { status: 'partial' },
    { state: 'THROTTLED' },
    { statusCode: 500 },
    { code: '429' },
    { success: false },
    { ok: 'false' },
    { error_code: 17 },
    { has_errors: true },
    { truncated: true },
    { total: 12 },
    { pagination: { total: 12 } },
    { _shards: { total: 0, failed: 1 } },
    { throttled: true },
    { upstream: 'stale' },
    { a: { throttled: 'true' } },
  ])('is what says that something is wrong, beside no records: %j', async (wrong) => {
    const server = await rawServer(json({ ...emptyPage, ...wrong }));
    const refused = aClient(server.url).client.getPage(request, never);
    await expect(refused).rejects.toMatchObject({
      name: 'NoteInstead',
      kind: 'retryable',
      words: expect.stringContaining(Object.keys(wrong)[0]!),
    });
  });

  test.each([
    { error: 'slow' },
    { errors: [{ msg: 'slow' }] },
    { success: false },
    { status: 500 },
    { partial: true },
    { count: 3 },
  ])('beside records makes them a part of an answer: %j', async (wrong) => {
    const part = json({ ...emptyPage, data: [1], ...wrong });
    const server = await rawServer(inTurn(part, json({ ...emptyPage, data: [1, 2] })));
    expect(await aClient(server.url).client.getPage(request, never)).toMatchObject({ records: [1, 2] });
  });

  test('may be nested deeply, or long', async () => {
    const deep = `${'['.repeat(9000)}${']'.repeat(9000)}`;
    const long = `${'a'.repeat(40_000)} ${' '.repeat(20_000)}1`;
    const body = `{"data": [1], "has_more": false, "deep": ${deep}, "long": "${long}"}`;
    const server = await rawServer(text(body, 200));
    expect(await aClient(server.url).client.getPage(request, never)).toMatchObject({ records: [1] });
  });

  test('is no answer of 202 or 206', async () => {
    const server = await rawServer(
      inTurn(json(emptyPage, 202), json(emptyPage, 206), json({ ...emptyPage, data: [1] })),
    );
    expect(await aClient(server.url).client.getPage(request, never)).toMatchObject({ records: [1] });
  });

  test('is not what the job says means that there are no data', async () => {
    const noData = { ...settings, noData: ['no data FOUND'] };
    const said = 'No data found for US';
    const server = await rawServer(
      inTurn(
        json({ detail: said }, 404),
        json({ message: said }),
        json({ ...emptyPage, status: 'error', message: said }),
        json({ detail: 'Not Found' }, 404),
        json({ detail: said }, 404),
      ),
    );
    const { client } = aClient(server.url, { settings: noData });
    for (const _ of [1, 2, 3])
      expect(await client.getPage(request, never)).toEqual({ records: [], nextToken: null });
    await expect(client.getPage(request, never)).rejects.toMatchObject({ words: 'Not Found' });
    await expect(client.getPage({ ...request, isContinued: true }, never)).rejects.toMatchObject({
      words: said,
    });
  });
});

describe('what is harmless beside records', () => {
  const usual = (n: number) => ({
    request_id: `8f14e45f-${n}`,
    generated_at: `2026-11-28T08:00:0${n}Z`,
    took_ms: n,
    links: { self: '/v1/headlines?page=1', next: null },
    version: 'v1',
    status: 'success',
    success: true,
    message: 'OK',
    topic: 'Elections',
    meta: { page: 1, count: 0 },
    errors: [],
    error: null,
  });

  test('is asked about once if it comes beside none, and believed if it comes again', async () => {
    let n = 0;
    const server = await rawServer((asked, response) =>
      json({ ...emptyPage, ...usual(++n) })(asked, response),
    );
    const { client, events } = aClient(server.url);
    for (const _ of [1, 2]) expect(await client.getPage(request, never)).toMatchObject({ records: [] });
    expect(server.targets).toHaveLength(3);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'retry', reason: expect.objectContaining({ name: 'DoubtfulAnswer' }) }),
    );
  });

  test('passes beside none once it was beside records, also words, which are doubted there if they may be the last', async () => {
    const worded = { ...usual(1), notice: 'Data for licensed use only', region: 'emea', live: true };
    const more = { has_more: true, next_token: 'A' };
    const server = await rawServer(
      inTurn(
        json({ ...emptyPage, ...more, data: [1], ...usual(1) }),
        json({ ...emptyPage, data: [1], ...worded }),
        json({ ...emptyPage, data: [1], ...worded }),
        json({ ...emptyPage, ...worded }),
        json({ ...emptyPage, ...worded, notice: 'Come back tomorrow' }),
      ),
    );
    const { client } = aClient(server.url);
    for (const records of [[1], [1], []])
      expect(await client.getPage(request, never)).toMatchObject({ records });
    expect(server.targets).toHaveLength(4);
    await expect(client.getPage(request, never)).rejects.toThrow('Come back tomorrow');
  });

  test('is asked about once, even if each answer has other words', async () => {
    const nodes = ['alpha', 'beta', 'gamma'];
    const server = await rawServer((asked, response) =>
      json({ ...emptyPage, data: [1], notice: `Served by node ${nodes.pop()}` })(asked, response),
    );
    const { client } = aClient(server.url);
    expect(await client.getPage(request, never)).toMatchObject({ records: [1] });
    expect(server.targets).toHaveLength(2);
  });

  test('of a list is, too', async () => {
    const server = await rawServer(
      inTurn(json({ countries: ['US'], total: 2 }), json({ countries: ['US', 'GB'], total: 2 })),
    );
    expect(await aClient(server.url).client.getJson(request, never)).toMatchObject({
      countries: ['US', 'GB'],
    });
  });
});

describe('a good answer', () => {
  test('was asked for with the key, the user agent and everything encoded', async () => {
    const server = await rawServer(json(emptyPage));
    const query = { topic: 'Governance/Corruption', next_token: 'a+b/c==' };
    await aClient(`${server.url}/v1/`).client.getPage({ path: '/x/US', query }, never);
    expect(server.targets).toEqual(['/v1/x/US?topic=Governance%2FCorruption&next_token=a%2Bb%2Fc%3D%3D']);
    expect(server.headers[0]).toMatchObject({ 'x-api-key': key, 'user-agent': 'gmsi-etl/0.0.0' });
  });

  test.each([
    ['gmsi-sandbox', 'sandbox'],
    ['nginx', 'service'],
  ])('tells by the server header %s that the %s answers', async (header, servedBy) => {
    const server = await rawServer(
      inTurn(json({}, 500, { server: 'proxy' }), json(emptyPage, 200, { server: header })),
    );
    const { client } = aClient(server.url);
    expect(client.servedBy).toBeUndefined();
    await client.getPage(request, never);
    expect(client.servedBy).toBe(servedBy);
  });
});

describe('what can be retried', () => {
  test.each([
    ['a reset connection', reset, 'network'],
    ['a body cut short', cutShort, 'malformed'],
    ['a 200 that is HTML', text('<html><title>Maintenance</title></html>', 200), 'malformed'],
    ['a 200 that is not the envelope', json({ detail: 'busy' }), 'malformed'],
    ['a 200 that is a text', text('upstream is busy', 200), 'malformed'],
    ['a 204', text('', 204), 'malformed'],
    ['a 408', json({}, 408), '4xx'],
    ['a 425', json({}, 425), '4xx'],
    ['a 429', json({}, 429), '429'],
    ['a 500', json({}, 500), '5xx'],
    ['a 502 that is HTML', text('<html><title>502 Bad Gateway</title></html>', 502), '5xx'],
    ['a 503 with a time to wait', json({}, 503, { 'retry-after': '3' }), '5xx'],
  ])('is retried, booked once for each attempt, and reported: %s', async (_name, fault, outcome) => {
    const server = await rawServer(inTurn(fault, fault, json(emptyPage)));
    const { client, permits, events } = aClient(server.url);
    expect(await client.getPage(request, never)).toMatchObject({ records: { length: 0 }, nextToken: null });
    expect(server.targets).toHaveLength(3);
    expect(permits.take).toHaveBeenCalledTimes(3);
    expect(client.requests).toBe(3);
    const outcomes = events.flatMap((event) => (event.type === 'request' ? [event.outcome] : []));
    expect(outcomes).toEqual([outcome, outcome, 'ok']);
  });

  test.each([
    ['seconds', '3', 3000],
    ['nothing', undefined, 1500],
  ])('waits before the retry of a 429 as Retry-After says: %s', async (_name, retryAfter, expected) => {
    const headers: Record<string, string> = { date: 'Thu, 01 Jan 2026 00:00:00 GMT' };
    if (retryAfter !== undefined) headers['retry-after'] = retryAfter;
    const server = await rawServer(inTurn(json({}, 429, headers), json(emptyPage)));
    const { client, clock, events } = aClient(server.url);
    await client.getPage(request, never);
    expect(clock.slept.reduce((sum, ms) => sum + ms)).toBe(expected);
    expect(events).toContainEqual({ type: 'slowed', pauseMs: expected, concurrency: 2 });
  });

  test.each([
    [429, '31536000'],
    [429, '1e999'.padStart(400, '9').replace(/\D/g, '9')],
    [429, 'Fri, 01 Jan 2100 00:00:00 GMT'],
    [503, '31536000'],
  ])('asks again an hour after a %i with a Retry-After of %s', async (status, value) => {
    const server = await rawServer(inTurn(json({}, status, { 'retry-after': value }), json(emptyPage)));
    const { client, clock } = aClient(server.url);
    await expect(client.getPage(request, never)).rejects.toMatchObject({ retryAfterMs: 3_600_000 });
    if (status === 429) {
      await clock.sleep(3_299_000, never);
      await expect(client.getPage(request, never)).rejects.toThrow('No request is sent before');
      expect(server.targets).toHaveLength(1);
      // What is left of the hour is short enough to be waited for.
      await clock.sleep(1_000, never);
    }
    await client.getPage(request, never);
    expect(server.targets).toHaveLength(2);
    if (status === 429) expect(clock.slept.at(-1)).toBe(300_000);
  });
});

describe('what cannot be retried', () => {
  test.each([
    [401, 1],
    [403, 2],
  ])('a %i for everything ends the run, with a hint about the key', async (status, tries) => {
    const server = await rawServer(json({ detail: 'Invalid API key' }, status));
    const { client, events } = aClient(server.url);
    const refused = await client.getPage(request, never).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(KeyRefused);
    expect(events.filter(({ type }) => type === 'key refused')).toEqual([{ type: 'key refused', status }]);
    expect(refused).toMatchObject({ kind: 'fatal', hint: expect.stringContaining('GMSI_API_KEY') });
    expect(server.targets).toHaveLength(tries);
  });

  describe('a 403', () => {
    const of = (path: string) => ({ ...request, path });
    const aService = (isRefused: (url: string) => boolean) =>
      rawServer((asked, response) =>
        (isRefused(asked.url!) ? json({ detail: 'no licence' }, 403) : json(emptyPage))(asked, response),
      );
    const refusal = (client: Client, path: string) =>
      client.getPage(of(path), never).catch((error: unknown) => error);

    test('counts for what was asked if the key reads a list, which is asked for once', async () => {
      const server = await aService((url) => url.includes('/feed/'));
      const { client, events } = aClient(server.url);
      for (const country of ['GB', 'FR', 'US'])
        expect(await refusal(client, `/feed/${country}`)).toMatchObject({
          kind: 'skippable',
          words: 'no licence',
        });
      const lists = server.targets.filter((target) => target === '/v1/countries');
      expect(lists).toHaveLength(1);
      expect(events.some(({ type }) => type === 'key refused')).toBe(false);
    });

    test('is of the key if it is refused what it could read, too: later than at first, after ten in a row', async () => {
      let isRevoked = false;
      const server = await aService((url) => isRevoked || url.includes('/GB'));
      const { client } = aClient(server.url);
      await client.getPage(of('/feed/US'), never);
      expect(await refusal(client, '/feed/GB')).toBeInstanceOf(RequestRefused);
      await client.getPage(of('/feed/US'), never);
      isRevoked = true;
      const after = [];
      for (let tries = 0; tries < 10; tries++) after.push(await refusal(client, `/feed/${tries}`));
      expect(after.slice(0, 9).every((error) => error instanceof RequestRefused)).toBe(true);
      expect(after.at(-1)).toBeInstanceOf(KeyRefused);
      expect(server.targets.at(-1)).toMatch('/feed/US?');
    });

    test('is not of the key if it has no list, but another series is answered meanwhile', async () => {
      const server = await aService((url) => !url.includes('/US'));
      const { client } = aClient(server.url);
      const all = await Promise.all(
        ['/feed/GB', '/feed/US', '/feed/FR'].map((path) => refusal(client, path)),
      );
      expect(all.map((error) => error instanceof RequestRefused)).toEqual([true, false, true]);
    });

    test('with Retry-After limits the rate', async () => {
      const slow = json({ detail: 'too fast' }, 403, { 'retry-after': '3' });
      const server = await rawServer(inTurn(slow, json(emptyPage)));
      const { client, clock } = aClient(server.url);
      expect(await client.getPage(request, never)).toMatchObject({ nextToken: null });
      expect(clock.slept.reduce((sum, ms) => sum + ms)).toBe(3000);
    });
  });

  test.each([400, 404, 410, 422, 451])('a %i fails the window, in words of the service', async (status) => {
    const detail = [{ loc: ['query', 'start_date'], msg: 'too old', type: 'value_error' }];
    const server = await rawServer(json({ detail }, status));
    const refused = aClient(server.url).client.getPage(request, never);
    await expect(refused).rejects.toThrow(RequestRefused);
    await expect(refused).rejects.toMatchObject({
      kind: 'skippable',
      status,
      words: 'query.start_date: too old',
    });
    expect(server.targets).toHaveLength(1);
  });

  test('a redirect is not followed, because the key would travel with it', async () => {
    const elsewhere = await rawServer(json(emptyPage));
    const server = await rawServer(text('', 302, { location: `${elsewhere.url}/v1/x?secret=1` }));
    const refused = aClient(server.url).client.getPage(request, never);
    await expect(refused).rejects.toThrow(RedirectRefused);
    await expect(refused).rejects.toMatchObject({
      kind: 'fatal',
      message: expect.stringContaining(`(302) to ${elsewhere.url}/v1/x, and`),
      hint: expect.stringContaining('GMSI_BASE_URL'),
    });
    expect(elsewhere.targets).toEqual([]);
  });
});

test('a permit is taken for each request, or nothing is sent', async () => {
  const server = await rawServer(json(emptyPage));
  const spent = new BudgetSpent('200 of 200 requests');
  const { client } = aClient(server.url, {
    permits: { take: () => Promise.reject(spent) },
  });
  await expect(client.getPage(request, never)).rejects.toBe(spent);
  expect(server.targets).toEqual([]);
  expect(client.requests).toBe(0);
});

describe('the key', () => {
  const echo = `not your key: ${key}`;

  test.each([
    ['a 401 that echoes it', text(echo, 401)],
    ['a 422 that echoes it', json({ detail: echo }, 422)],
    ['a 429 that echoes it', text(echo, 429)],
    ['a 500 that echoes it across the cut', text('x'.repeat(290) + key, 500)],
    ['a redirect that echoes it', text('', 302, { location: `/login/${key}` })],
    ['a 200 that echoes it instead of a page', text(echo, 200)],
    ['a 200 that breaks off after it', text(`{"data": ["${key}", }`, 200)],
    ['a broken connection', reset],
    ['a body cut short', cutShort],
    [
      'an answer that is not HTTP and echoes it',
      (_request: unknown, response: import('node:http').ServerResponse) => {
        response.socket?.end(`HTTP/1.1 ${key} what\r\n\r\n`);
      },
    ],
  ])('is in no error, event or client: %s', async (_name, fault) => {
    const server = await rawServer(fault);
    const { client, events } = aClient(server.url);
    const error = await client.getPage(request, never).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Error);
    const all = { depth: Infinity, showHidden: true, getters: true };
    const seen = inspect([error, client, events], all);
    expect(seen).not.toContain(key.slice(0, 8));
    expect((error as Error).stack).not.toContain(key);
  });
});

describe('the key is in no address', () => {
  test.each([
    ['as it is', key],
    [
      'in base64 of JSON that escapes it',
      Buffer.from(`{"k": "\\u006b${key.slice(1)}"}`).toString('base64url'),
    ],
  ])('when a page or a list sends it as a token, %s', async (_name, next_token) => {
    const server = await rawServer(json({ ...emptyPage, has_more: true, next_token }));
    const { client } = aClient(server.url);
    for (const sent of [client.getPage(request, never), client.getJson(request, never)])
      await expect(sent).rejects.toThrow('a next_token that contains the API key');
  });

  test('when a stored token has it', async () => {
    const server = await rawServer(json(emptyPage));
    const { client, permits } = aClient(server.url);
    const resumed = { ...request, query: { next_token: `a ${key}` } };
    await expect(client.getPage(resumed, never)).rejects.toThrow('so it was not sent');
    expect(permits.take).not.toHaveBeenCalled();
    expect(server.targets).toEqual([]);
  });
});
