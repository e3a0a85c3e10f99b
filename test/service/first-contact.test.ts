import { expect, onTestFinished, test, vi } from 'vitest';
import { defaultServiceSettings } from '../../src/config/service-schema.ts';
import { Secret } from '../../src/secret.ts';
import { type ClientOptions, createClient } from '../../src/service/client.ts';
import { RequestRefused, WrongAddress } from '../../src/service/errors.ts';
import { BudgetSpent, unlimited } from '../../src/service/permits.ts';
import { hangsUp, mailServer, webServer } from '../support/other-servers.ts';
import { jumpingClock } from './clocks.ts';
import { emptyPage, inTurn, json, rawServer, reset, text } from './raw-server.ts';

const never = new AbortController().signal;
const window = { path: '/headlines/feed/historical/gmsi/US', query: {} };
const html = text('<title>Log in</title>', 200);
const redirect = text('', 302, { location: '/login' });
const notFound = json({ detail: 'Not Found' }, 404);
const givenUpAfter = (tries: number) => ({
  kind: 'retryable',
  message: expect.stringContaining(`given up after ${tries} tries`),
});

function aClient(baseUrl: string, changes: Partial<ClientOptions> = {}) {
  const clock = jumpingClock();
  const client = createClient({
    baseUrl,
    apiKey: new Secret('k'),
    userAgent: 'test',
    clock,
    random: () => 0,
    answered: new Set(),
    settings: { ...defaultServiceSettings, maxAttempts: 5 },
    permits: unlimited,
    ...changes,
  });
  onTestFinished(() => client.close());
  const ask = (isLive = false) =>
    client.getPage({ ...window, isLive }, never).catch((error: unknown) => error);
  return { client, clock, ask };
}

test('an address that never answered well is given up after three tries, a second apart', async () => {
  const server = await rawServer(html);
  const { ask, clock } = aClient(server.url, { recall: async () => false });
  expect(await ask()).toBeInstanceOf(WrongAddress);
  expect(server.targets).toHaveLength(3);
  expect(clock.slept).toEqual([1000, 1000]);
});

test('what passes within these tries is no more than a hiccup', async () => {
  const server = await rawServer(inTurn(html, reset, json(emptyPage)));
  expect(await aClient(server.url).ask()).toMatchObject({ records: { length: 0 } });
});

/** What may stand where the service has answered before. */
const faults = {
  'a web page': () => webServer(html),
  'a redirect': () => webServer(redirect),
  'a connection that is reset': () => webServer(reset),
  'a port that nobody listens on': async () => ({ port: 1, async [Symbol.asyncDispose]() {} }),
  'a mail server': mailServer,
  'a port that hangs up': hangsUp,
};

test.each(Object.entries(faults))(
  '%s is tried again if the address has answered before',
  async (_, start) => {
    await using server = await start();
    const baseUrl = `http://127.0.0.1:${server.port}`;
    const recall = vi.fn(async () => true);
    const again = givenUpAfter(5);
    expect(await aClient(baseUrl, { answered: new Set([`${baseUrl}/v1`]) }).ask()).toMatchObject(again);
    // By another process.
    expect(await aClient(baseUrl, { recall }).ask()).toMatchObject(again);
    expect(recall.mock.calls).toEqual([[`${baseUrl}/v1`]]);
  },
);

test.each([
  [307, '/v1/headlines/feed/historical/gmsi/US/', 'slash'],
  [307, 'https://elsewhere.example/v1/headlines/feed/historical/gmsi/US/?limit=5', 'slash'],
  [308, 'https://elsewhere.example/v1/headlines/feed/historical/gmsi/US', 'GMSI_BASE_URL'],
])('a redirect to the same path is not tried again, ever: %i %s', async (status, location, hint) => {
  const server = await rawServer(inTurn(json(emptyPage), text('', status, { location })));
  const { ask } = aClient(server.url);
  await ask();
  expect(await ask()).toMatchObject({
    name: 'RedirectRefused',
    kind: 'fatal',
    hint: expect.stringContaining(hint),
  });
  expect(server.targets).toHaveLength(2);
});

test('a 404 after a good answer is the refusal of a window, and nothing else is asked for', async () => {
  const server = await rawServer(inTurn(json(emptyPage), notFound));
  const { ask } = aClient(server.url);
  await ask();
  expect(await ask()).toBeInstanceOf(RequestRefused);
  expect(server.targets).toHaveLength(2);
});

test('a port that nobody listens on is given up after four tries, of which none is paid for', async () => {
  const cancel = vi.fn(async () => {});
  const { ask, client, clock } = aClient('http://127.0.0.1:1', {
    settings: { ...defaultServiceSettings, maxAttempts: 8 },
    permits: { take: async () => ({ cancel }) },
  });
  expect(await ask()).toMatchObject({
    kind: 'retryable',
    message: expect.stringMatching(/ECONNREFUSED.*given up after 4 tries/),
  });
  expect(cancel).toHaveBeenCalledTimes(4);
  expect(client.requests).toBe(0);
  expect(clock.slept.reduce((all, ms) => all + ms)).toBeLessThan(10_000);
});

test('a good answer to any client of the process counts', async () => {
  const server = await rawServer(inTurn(json(emptyPage), html));
  const answered = new Set<string>();
  await aClient(server.url, { answered }).ask();
  expect(await aClient(server.url, { answered }).ask()).toMatchObject(givenUpAfter(5));
});

test('several windows that are refused at first ask for a lookup once', async () => {
  const countries = json({ data: [] });
  const server = await rawServer((request, response) =>
    (request.url === '/v1/countries' ? countries : notFound)(request, response),
  );
  const { ask } = aClient(server.url);
  for (const error of await Promise.all([ask(), ask(), ask()])) expect(error).toBeInstanceOf(RequestRefused);
  expect(server.targets.filter((target) => target === '/v1/countries')).toHaveLength(1);
});

test('a lookup that does not come either, for another reason, leaves the refusal as it is', async () => {
  const server = await rawServer((request, response) =>
    (request.url === '/v1/countries' ? text('', 503) : notFound)(request, response),
  );
  expect(await aClient(server.url).ask()).toBeInstanceOf(RequestRefused);
});

test('a refusal is not judged once no request is left for the lookup', async () => {
  const server = await rawServer(notFound);
  const spent = new BudgetSpent('1 of 1 requests');
  const take = vi.fn().mockResolvedValueOnce({ cancel: async () => {} });
  const { ask } = aClient(server.url, { permits: { take: take.mockRejectedValue(spent) } });
  expect(await ask()).toBe(spent);
  expect(server.targets).toHaveLength(1);
});

test('a refusal that is JSON and not of the path says nothing about the address', async () => {
  const server = await rawServer(json({ detail: 'too early' }, 422));
  expect(await aClient(server.url).ask()).toBeInstanceOf(RequestRefused);
  expect(server.targets).toHaveLength(1);
});

test('the address of the live feeds is judged by itself, and named', async () => {
  const [server, live] = await Promise.all([rawServer(json(emptyPage)), rawServer(html)]);
  const { ask } = aClient(server.url, { liveBaseUrl: live.url });
  expect(await ask()).toMatchObject({ records: { length: 0 } });
  expect(await ask(true)).toMatchObject({
    name: 'WrongAddress',
    message: expect.stringContaining(`GMSI_LIVE_BASE_URL (${live.url}/v1)`),
  });
});
