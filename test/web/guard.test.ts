import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aPage } from './a-page.ts';

const warehouse = await aWarehouseForAll();
let page: Awaited<ReturnType<typeof aPage>>;
let locked: Awaited<ReturnType<typeof aPage>>;
const token = 'a token of thirty-two characters, or more'.replaceAll(' ', '-');

beforeAll(async () => {
  page = await aPage(warehouse.db, { names: ['data.example.com'] });
  locked = await aPage(warehouse.db, { token: new Secret(token) });
});

afterAll(async () => {
  await page?.[Symbol.asyncDispose]();
  await locked?.[Symbol.asyncDispose]();
});

/** A request with headers that `fetch` would not send. */
async function raw(url: string, headers: Record<string, string>): Promise<{ status: number; body: string }> {
  const [response] = (await once(request(url, { headers }).end(), 'response')) as [IncomingMessage];
  return { status: response.statusCode!, body: await text(response) };
}

describe('a request', () => {
  it.each(['localhost', '127.0.0.1:1', '[::1]:80', 'data.example.com', 'DATA.example.com:443'])(
    'to the name %s is answered',
    async (host) => {
      expect((await raw(`${page.url}/api/feeds`, { host })).status).toBe(200);
    },
  );

  it.each([
    'evil.example.com',
    'localhost.evil.com',
    '127.0.0.1.nip.io',
    'data.example.com.evil.com',
    'a b',
    'data.example.com@evil.com',
  ])('to the name %s is refused', async (host) => {
    const { status, body } = await raw(`${page.url}/api/feeds`, { host });
    expect([400, 421]).toContain(status);
    expect(body).not.toContain('columns');
  });

  it.each([
    'https://evil.example.com',
    'null',
    'http://localhost:1',
    'http://127.0.0.1:1',
    'http://127.0.0.1',
  ])('of a page of %s is refused', async (origin) => {
    const { status } = await raw(`${page.url}/api/feeds`, { host: new URL(page.url).host, origin });
    expect(status).toBe(403);
  });

  it.each([
    ['cross-site', 403],
    ['same-site', 403],
    ['same-origin', 200],
    ['none', 200],
  ])('that a browser calls %s gets %i from the API', async (site, status) => {
    const asked = (path: string) => raw(`${page.url}${path}`, { 'sec-fetch-site': site });
    for (const path of ['/api/feeds', '/api/feeds.csv', '/api/feeds.sql', '/api/openapi.json', '//api/feeds'])
      expect([path, (await asked(path)).status]).toEqual([path, path.startsWith('//') ? 404 : status]);
    expect((await asked('/api/nothing')).status).toBe(status === 200 ? 404 : status);
    // A link from elsewhere opens the page.
    expect((await asked('/')).status).toBe(200);
  });

  it('that names another server in its first line is still one of another page', async () => {
    const { hostname, port, host } = new URL(page.url);
    const path = 'http://evil.example.com/api/feeds';
    const headers = { host, origin: 'http://evil.example.com' };
    const [response] = (await once(request({ hostname, port, path, headers }).end(), 'response')) as [
      IncomingMessage,
    ];
    expect(response.statusCode).toBe(403);
    response.resume();
  });

  it('of the page itself is answered', async () => {
    const { status } = await raw(`${page.url}/api/feeds`, { host: new URL(page.url).host, origin: page.url });
    expect(status).toBe(200);
  });

  it('for a file outside the page is not answered', async () => {
    for (const path of ['/../a-page.ts', '/%2e%2e/%2e%2e/etc/passwd', '/..%2fpackage.json'])
      expect((await raw(`${page.url}${path}`, {})).status).toBeGreaterThanOrEqual(400);
  });

  it('gets a strict policy with the page', async () => {
    const response = await fetch(page.url);
    expect(await response.text()).toContain('the page');
    const policy = response.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('with a token', () => {
  it.each([
    ['no token', {}],
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['the token in another scheme', { authorization: `Basic ${token}` }],
    ['a made-up cookie', { cookie: 'gmsi_session=00ff' }],
    ['a right cookie with a wrong token', { authorization: 'Bearer wrong', cookie: 'gmsi_session=00ff' }],
  ])('the API refuses %s', async (_, headers) => {
    for (const path of ['feeds', 'openapi.json', 'state', 'sentiment.csv', 'nothing']) {
      const { status, body } = await raw(`${locked.url}/api/${path}`, headers as Record<string, string>);
      expect([path, status]).toEqual([path, 401]);
      expect(body).not.toContain(token);
    }
  });

  it('others cannot be kept out by those without it, however many connections these open', async () => {
    const { hostname, port } = new URL(locked.url);
    const open = async (request: string) => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      await once(socket, 'connect');
      socket.write(request);
      return socket;
    };
    const asking = `GET /api/feeds HTTP/1.1\r\nhost: localhost\r\n`;
    const mine = `${asking}authorization: Bearer ${token}\r\n\r\n`;
    const member = await open(mine);
    expect(String(await once(member, 'data'))).toContain('200 OK');
    // At once, because each lives for seconds only.
    const requests = ['', asking, `${asking}\r\n`];
    const strangers = await Promise.all(Array.from({ length: 250 }, (_, n) => open(requests[n % 3]!)));
    member.write(mine);
    expect(String(await once(member, 'data'))).toContain('200 OK');
    const newcomer = await open(mine);
    expect(String(await once(newcomer, 'data'))).toContain('200 OK');
    for (const socket of [member, newcomer, ...strangers]) socket.destroy();
  });

  it('if it was wrong is logged, with the address but without itself, a few times a minute', async () => {
    await using other = await aPage(warehouse.db, { token: new Secret(token) });
    const authorization = `Bearer ${token.toUpperCase()}`;
    await raw(`${other.url}/api/feeds`, {});
    for (let n = 0; n < 12; n++)
      await raw(`${other.url}/api/feeds?n=${n}`, { authorization, 'x-forwarded-for': '192.0.2.7' });
    expect(other.log).toHaveLength(10);
    expect(other.log[0]).toMatchObject({ from: '127.0.0.1', forwardedFor: '192.0.2.7', path: '/api/feeds' });
    expect(JSON.stringify(other.log).toUpperCase()).not.toContain(token.toUpperCase());
  });

  it('in an address does not help', async () => {
    expect((await raw(`${locked.url}/api/feeds?token=${token}`, {})).status).toBe(401);
  });

  it('in different spellings of the address does not open another way', async () => {
    for (const path of [
      ...'//api/feeds /API/feeds /api//feeds /%61pi/feeds /./api/feeds /x/../api/feeds'.split(' '),
      ...'/api/feeds/'.split(' '),
    ]) {
      const { body } = await raw(`${locked.url}${path}`, {});
      expect([path, body.includes('"columns"')]).toEqual([path, false]);
    }
  });

  it('the API answers who shows it', async () => {
    expect((await raw(`${locked.url}/api/feeds`, { authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it('the page is given a cookie for it, that does not hold it', async () => {
    expect((await fetch(locked.url)).status).toBe(200);
    const login = (given: unknown) =>
      fetch(`${locked.url}/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(given),
      });
    expect((await login({ token: 'wrong' })).status).toBe(401);
    expect((await login({ token: ['x'] })).status).toBe(401);
    expect((await login(null)).status).toBe(401);
    const { headers, status } = await login({ token });
    expect(status).toBe(200);
    const [cookie] = headers.getSetCookie();
    expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
    expect(cookie).not.toContain(token);
    expect(cookie).not.toContain('Secure');
    expect((await raw(`${locked.url}/api/feeds`, { cookie: cookie!.split(';')[0]! })).status).toBe(200);
  });

  it.each([{ 'x-forwarded-proto': 'https' }, { origin: 'https://127.0.0.1:PORT' }])(
    'the cookie goes back over TLS only, if the page came over TLS: %j',
    async (headers) => {
      const sent = JSON.parse(JSON.stringify(headers).replace('PORT', new URL(locked.url).port));
      const { headers: answered } = await fetch(`${locked.url}/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...sent },
        body: JSON.stringify({ token }),
      });
      expect(answered.getSetCookie()[0]).toMatch(/; Secure$/);
    },
  );
});
