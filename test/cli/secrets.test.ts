import type { ServerResponse } from 'node:http';
import { expect } from 'vitest';
import { aWebhook } from '../observe/a-webhook.ts';
import { webServer } from '../support/other-servers.ts';
import { it } from '../support/serving.ts';
import { allText } from './all-text.ts';
import { accessTo, aFolder } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { january, jobFor } from './jobs.ts';
import { aPlace } from './place.ts';

it('shows and stores neither key nor password, wherever the service repeats the key', async ({
  warehouse,
  db,
}) => {
  await using folder = await aFolder();
  await using webhook = await aWebhook();
  const secret = 'k3y/0f+some=0ne&"<';
  // Escaped in JSON by whoever writes the answer.
  const forms = [
    secret,
    encodeURIComponent(secret),
    Buffer.from(`x-api-key: ${secret}`).toString('base64'),
    'k3y/0f&#43;some&#x3D;0ne&amp;&quot;&lt;',
    encodeURIComponent(secret).toLowerCase(),
  ];
  let turn = 0;
  const echo = () => forms[turn++ % forms.length]!;
  await using service = await anEchoingService(echo);
  const key = await folder.write('key', secret);
  const env = {
    DATABASE_URL: warehouse.url,
    GMSI_BASE_URL: service.url,
    GMSI_API_KEY_FILE: key,
    GMSI_ALERT_WEBHOOK_URL: webhook.url.reveal(),
    LOG_LEVEL: 'trace',
  };
  const setting = { cwd: folder.path, env };
  const scope = { ...january, countries: service.countries, topics: ['Elections'] };
  await folder.write('jobs/job.yaml', jobFor(scope, { service: { max_attempts: 1 } }));
  const said: string[] = [];
  for (const args of [
    ['lookups', '--verbose'],
    ['doctor', '--verbose'],
    ['plan', 'job'],
    ['backfill', 'job', '--verbose'],
    ['sync', 'job'],
    ['status', 'job', '--json'],
    ['migrate', 'status'],
    ['psql', '-c', 'select 1'],
  ]) {
    const { stdout, stderr } = await gmsiHere(args, setting);
    said.push(stdout, stderr);
  }
  service.redirect();
  const redirected = await gmsiHere(['backfill', 'job', '--verbose'], setting);
  const unreachable = await gmsiHere(['status', '--verbose'], {
    ...setting,
    env: { ...env, DATABASE_URL: warehouse.url.replace(/@[^/]+/, '@nowhere.invalid') },
  });
  said.push(redirected.stdout, redirected.stderr, unreachable.stdout, unreachable.stderr);

  const password = decodeURIComponent(new URL(warehouse.url).password);
  const places = {
    printed: said.join('\n'),
    stored: await allText(db),
    posted: JSON.stringify(webhook.taken),
  };
  expect(service.asked.size, [...service.asked].join()).toBe(service.countries.length);
  for (const [place, text] of Object.entries(places)) {
    // An alert names one window, and not each fails by what repeats the key.
    if (place !== 'posted') expect(text.includes('[key]'), `nothing of the key was ${place}`).toBe(true);
    for (const form of forms) expect(text.includes(form), `the key was ${place}`).toBe(false);
    expect(text.includes(password), `the password was ${place}`).toBe(false);
  }
  expect(places.printed).toContain('The service sent a next_token that contains the API key');
  expect(places.printed).toContain('the service sends the API key back among its data');
});

it('sends the key unencrypted to another machine only with GMSI_SEND_KEY_UNENCRYPTED', async () => {
  await using place = await aPlace();
  const { folder, sandbox, warehouse } = place;
  // An address that is not known for this machine, and reaches it all the same.
  const env = { ...accessTo(warehouse, sandbox), GMSI_BASE_URL: sandbox.url.replace('127.0.0.1', '0.0.0.0') };
  const refused = await gmsiHere(['lookups'], { cwd: folder.path, env });
  expect(refused.code).toBe(2);
  expect(sandbox.stats().requests).toBe(0);
  const told = await gmsiHere(['lookups'], {
    cwd: folder.path,
    env: { ...env, GMSI_SEND_KEY_UNENCRYPTED: 'true' },
  });
  expect(told.code).toBe(0);
  expect(sandbox.stats().requests).toBeGreaterThan(0);
});

/** A service that repeats the key wherever it can, for each country in another place. */
async function anEchoingService(echo: () => string) {
  /** Escapes what Gson and .NET escape. */
  const jsonOf = (body: unknown) =>
    JSON.stringify(body).replace(/[+/=&<>]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
  const page = (data: unknown, rest: object = { has_more: false }) => jsonOf({ data, ...rest });
  const about = { publication_time: '2024-01-05T12:00:00', directional_positive: 0.5 };
  const readable = () => ({ ...about, headline: echo() });
  type Answer = (response: ServerResponse) => void;
  const places: Record<string, Answer> = {
    US: (response) => response.writeHead(500).end(jsonOf({ detail: `${echo()} broke it` })),
    DE: (response) => {
      const odd = { ...readable(), [echo()]: { deep: [echo()] }, id: echo() };
      response.end(page([...Array.from({ length: 9 }, readable), odd]));
    },
    FR: (response) => response.end(page([readable()], { has_more: true, next_token: echo() })),
    IT: (response) => response.writeHead(404).end(`<html><title>${echo()} is not ${echo()}</title></html>`),
    JP: (response) => response.writeHead(400).end(jsonOf({ detail: [{ loc: [echo()], msg: echo() }] })),
    CA: (response) => response.setHeader('content-encoding', echo().replace(/[^\x21-\x7e]/g, '')).end('{}'),
    NO: (response) => response.end(page([{ nothing: echo() }, echo(), { [echo()]: 'x'.repeat(30_000) }])),
    // Cut at the end of what is shown.
    BR: (response) => response.writeHead(422).end(`${'x'.repeat(290)}${echo()}`),
    SE: (response) => {
      response.writeHead(502, 'OK', { 'retry-after': '0', server: 'x' });
      response.end(`${echo()} ${'x'.repeat(3900)} ${echo()}`);
    },
    // At last, because it pauses all requests.
    GB: (response) => response.end(`not JSON: ${echo()}`),
  };
  let redirects = false;
  const asked = new Set<string>();
  const server = await webServer((request, response) => {
    const { pathname } = new URL(request.url!, 'http://service');
    if (redirects) return void response.writeHead(302, { location: `/v2/${echo()}` }).end();
    const listed = (code: string) => ({ code, name: `${code} ${echo()}`, more: { [echo()]: echo() } });
    if (pathname === '/v1/countries') return void response.end(jsonOf(Object.keys(places).map(listed)));
    if (pathname === '/v1/headlines/topics/gmsi') return void response.end('["Elections"]');
    const country = pathname.split('/').at(-1)!;
    if (pathname.includes('historical')) asked.add(country);
    const answer = places[country];
    if (answer) answer(response);
    else response.writeHead(404).end(jsonOf({ detail: echo() }));
  });
  return {
    url: server.url,
    countries: Object.keys(places),
    asked,
    redirect() {
      redirects = true;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
