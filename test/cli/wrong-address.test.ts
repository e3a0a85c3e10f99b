import type { IncomingMessage, ServerResponse } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { defaultServiceSettings } from '../../src/config/service-schema.ts';
import { exitCodeOf, explain } from '../../src/exit.ts';
import { Secret } from '../../src/secret.ts';
import { createClient } from '../../src/service/client.ts';
import { fetchCodes } from '../../src/service/lookups.ts';
import { unlimited } from '../../src/service/permits.ts';
import { withoutMarks } from '../../src/terminal/style.ts';
import { checkServer, connect } from '../../src/warehouse/connect.ts';
import { jumpingClock } from '../service/clocks.ts';
import { cases } from '../support/cases.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aCertificate, hangsUp, mailServer, type OtherServer, webServer } from '../support/other-servers.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { accessTo, type Ended, gmsi, says } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { jobFor, quarter } from './jobs.ts';
import { aPlaceForAll } from './place.ts';

const { folder, sandbox, warehouse } = await aPlaceForAll({ volume: 0.1 });
const fresh = await aWarehouseForAll();
const own = await aCertificate();
/** Begun before the tests, because they take some seconds. */
let waits: Readonly<Record<'service' | 'warehouse', Promise<Ended[]>>>;
let databaseEnds: ReturnType<typeof endsOf>;

beforeAll(async () => {
  await folder.write('jobs/job.yaml', jobFor(quarter));
  waits = { service: waitForService(), warehouse: waitForWarehouse() };
  databaseEnds = endsOf(database, async (url) => {
    await using pool = connect({ kind: 'url', url: new Secret(url) }, 1);
    await checkServer(pool);
  });
});

async function waitForService(): Promise<Ended[]> {
  await using unwell = await webServer((_, response) => response.writeHead(503).end());
  await using empty = await aWarehouse();
  const patient = await folder.write('patient.yaml', jobFor(quarter, { service: { max_attempts: 4 } }));
  // Port 1 refuses.
  const runs = [
    { port: 1, flags: [] },
    { port: unwell.port, flags: ['--quiet'] },
  ].map(({ port, flags }) => {
    const env = { ...accessTo(empty, sandbox), GMSI_BASE_URL: http(port) };
    return gmsi(['backfill', patient, ...flags], { cwd: folder.path, env });
  });
  return await Promise.all(runs);
}

function waitForWarehouse(): Promise<Ended[]> {
  const env = { DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/db' };
  const runs = [[], ['--quiet']].map((flags) => gmsi(['status', ...flags], { cwd: folder.path, env }));
  return Promise.all(runs);
}

/** Answers as the sandbox does. */
async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const headers = { 'x-api-key': String(request.headers['x-api-key']) };
  const answer = await fetch(`${sandbox.url}${request.url}`, { headers });
  const server = answer.headers.get('server') ?? '';
  response.writeHead(answer.status, { server }).end(await answer.text());
}

const http = (port: number) => `http://127.0.0.1:${port}`;
const page = '<!doctype html><title>Please log in</title>';
const html = (status: number) => () =>
  webServer((_, response) => response.writeHead(status, { 'content-type': 'text/html' }).end(page));
const notFound = () =>
  webServer((_, response) => response.writeHead(404).end(JSON.stringify({ detail: 'Not Found' })));

/** What answers at a port instead. */
const servers: Record<string, () => Promise<OtherServer>> = {
  'page 200': html(200),
  'page 404': html(404),
  'no path': notFound,
  mail: mailServer,
  'hangs up': hangsUp,
  TLS: () => webServer((_, response) => response.end(), own),
  'says TLS': () =>
    webServer((_, response) =>
      response.writeHead(400).end('<h1>The plain HTTP request was sent to HTTPS port</h1>'),
    ),
  redirect: () => webServer((_, response) => response.writeHead(302, { location: '/login' }).end()),
};

/** What is there | what answers | address, with its PORT or that of PostgreSQL | what is said | what to do. */
const wrong = cases`
  an unknown host | | https://nowhere.invalid | GMSI_BASE_URL \(https:\/\/nowhere\.invalid\/v1\): there is no host
      nowhere\.invalid \(ENOTFOUND\) | If only a proxy can reach it: set HTTPS_PROXY
  https where http is spoken | no path | https://127.0.0.1:PORT | does not speak TLS | use http:\/\/127
  http where TLS is spoken | TLS | http://127.0.0.1:PORT | closes the connection|does not speak HTTP | use https:\/\/127
  http where TLS is spoken by a server that says so | says TLS | http://127.0.0.1:PORT | 400 \(The plain HTTP request
      | Use https:\/\/127
  a certificate that signs itself | TLS | https://127.0.0.1:PORT
      | does not trust its certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\) | NODE_EXTRA_CA_CERTS
  a web page with 200 | page 200 | http://127.0.0.1:PORT | without JSON: Please log in | login page
  a web server that has no such page | page 404 | http://127.0.0.1:PORT | 404 \(Please log in\) | missing before \/v1
  a service that has no such path | no path | http://127.0.0.1:PORT | 404 \(Not Found\) | Check host and port
  another version in the path | no path | http://127.0.0.1:PORT/v2 | 127\.0\.0\.1:\d+\/v2\/v1\): it refuses
      | Should it be http:\/\/127\.0\.0\.1:\d+ alone
  a redirect | redirect | http://127.0.0.1:PORT | redirects \/v1\/countries \(302\) to \/login | GMSI_BASE_URL
  a mail server | mail | http://127.0.0.1:PORT | does not speak HTTP | check the port
  PostgreSQL | | http://127.0.0.1:POSTGRES | closes the connection|does not speak HTTP | check the port
  a port that hangs up | hangs up | http://127.0.0.1:PORT | closes the connection | check the port
`;

const database = cases`
  an unknown host | | postgres://user:secret@nowhere.invalid/db | No PostgreSQL answers .*nowhere\.invalid
      | Check host and port in DATABASE_URL
  a web server | page 200 | postgres://user:secret@127.0.0.1:PORT/db | No PostgreSQL answers
      | Check host and port in DATABASE_URL
  a web server, asked for TLS | page 200 | postgres://user:secret@127.0.0.1:PORT/db?sslmode=verify-full
      | No PostgreSQL answers | Check host and port in DATABASE_URL
  a server that speaks TLS | TLS | postgres://user:secret@127.0.0.1:PORT/db | No PostgreSQL answers
      | Check host and port in DATABASE_URL
  a port that hangs up | hangs up | postgres://user:secret@127.0.0.1:PORT/db | No PostgreSQL answers
      | Check host and port in DATABASE_URL
`;

/** What a command says of an error that ends it, and the code that it exits with. */
function said(error: unknown): Pick<Ended, 'code' | 'stderr'> {
  return { code: exitCodeOf(error), stderr: withoutMarks(explain(error, false)) };
}

/** What each of these ends with: all at once, since some are tried for seconds. */
async function endsOf(table: string[][], ask: (address: string) => Promise<unknown>) {
  const ends = table.map(async ([name, server = '', address = '']) => {
    await using other = await servers[server]?.();
    const postgres = new URL(warehouse.url).port;
    const asked = address.replace('PORT', `${other?.port}`).replace('POSTGRES', postgres);
    return [name, await ask(asked).then(() => undefined, said)] as const;
  });
  return new Map(await Promise.all(ends));
}

function expectTwoLines(end: Pick<Ended, 'code' | 'stderr'> | undefined, what: string, hint: string): void {
  expect(end?.stderr.trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^gmsi: /),
    expect.stringMatching(/^ {2}→ /),
  ]);
  expect(end!.stderr).toMatch(new RegExp(what));
  expect(end!.stderr).toMatch(new RegExp(hint));
  expect(end!.code).toBe(2);
}

describe('instead of the service', () => {
  let ends: Awaited<ReturnType<typeof endsOf>>;
  beforeAll(async () => {
    ends = await endsOf(wrong, async (baseUrl) => {
      await using client = createClient({
        baseUrl,
        apiKey: new Secret('sandbox-key'),
        settings: defaultServiceSettings,
        userAgent: 'test',
        permits: unlimited,
        answered: new Set(),
        clock: jumpingClock(),
      });
      await fetchCodes(client, 'countries', new AbortController().signal);
    });
  });

  it.each(wrong)('%s ends a command with 2, which says what to do', (name, _, __, what, hint) => {
    expectTwoLines(ends.get(name), what!, hint!);
  });
});

it.each([
  [
    'for another host',
    { host: 'DNS:elsewhere.example' },
    /ERR_TLS_CERT_ALTNAME_INVALID.*\n.*host name in the certificate/,
  ],
  ['that has expired', { days: -1 }, /not valid at this time \(CERT_HAS_EXPIRED\).*\n.*clock/],
])('a certificate %s is told from one that is not trusted', async (name, about, what) => {
  const certificate = await aCertificate(about);
  const authority = await folder.write(`${name}.pem`, certificate.cert);
  await using server = await webServer((_, response) => response.end(), certificate);
  const env = { ...accessTo(warehouse, sandbox), GMSI_BASE_URL: `https://127.0.0.1:${server.port}` };
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: authority };
  expect(await gmsi(['lookups'], { cwd: folder.path, env: trusting })).toMatchObject(says(2, what));
});

describe('a run whose first request is for a window', () => {
  const period = { from: '2024-01-01', to: '2024-01-10' };
  const small = jobFor({ ...quarter, ...period, countries: ['US'], topics: ['Inflation-Food'] });

  beforeAll(async () => {
    await folder.write('jobs/small.yaml', small);
    expect(await run(['lookups'], sandbox.url)).toMatchObject({ code: 0 });
  });

  const run = (args: string[], url: string): Promise<Ended> =>
    gmsiHere(args, { cwd: folder.path, env: { ...accessTo(fresh, sandbox), GMSI_BASE_URL: url } });
  const refreshed = ['backfill', 'small', '--full-refresh'];
  const backfill = (url: string) => run(refreshed, url);

  it.each([
    ['a web page with 200', html(200), /without JSON: Please log in/],
    ['404 for everything', notFound, /it refuses every request with 404/],
  ])('ends with 2 for %s, and goes on once the address is right', async (_, server, what) => {
    await using other = await server();
    const { code, stdout, stderr } = await run(refreshed, http(other.port));
    expect(stdout + stderr).toMatch(what);
    expect(code).toBe(2);
    expect(await backfill(sandbox.url)).toMatchObject({ code: 0 });
  });

  it('ends with 2, too, if it is gmsi work', async () => {
    expect(await run([...refreshed, '--enqueue'], sandbox.url)).toMatchObject({ code: 0 });
    await using other = await html(200)();
    const { code, stderr } = await run(['work'], http(other.port));
    expect(stderr).toMatch(/No service answers at GMSI_BASE_URL .*without JSON: Please log in/);
    expect(code).toBe(2);
  });
});

it('an address that has answered another process is not wrong, however it begins', async () => {
  await using empty = await aWarehouse();
  let resets = 0;
  await using service = await webServer(async (request, response) => {
    if (resets-- > 0) return void response.destroy();
    await passOn(request, response);
  });
  const job = await folder.write(
    'flaky.yaml',
    jobFor({ ...quarter, countries: ['US'], topics: ['Inflation-Food'] }, { service: { max_attempts: 5 } }),
  );
  const env = { ...accessTo(empty, sandbox), GMSI_BASE_URL: service.url };
  const [args, setting] = [['backfill', job, '--full-refresh'], { cwd: folder.path, env }];
  expect(await gmsiHere(args, setting)).toMatchObject({ code: 0 });
  resets = 3;
  expect(await gmsi(args, setting)).toMatchObject({ code: 0 });
});

it('what may pass: says within seconds why it tries again, also off a terminal, and ends with 1', async () => {
  const [refusing, quiet] = await waits.service;
  expect(refusing!.stderr).toMatch(/ECONNREFUSED\. Try 4 follows/);
  expect(quiet!.stderr).not.toContain('follows');
  for (const { code, stderr } of [refusing!, quiet!]) {
    expect(stderr).toContain('given up after 4 tries');
    expect(code).toBe(1);
  }
});

it('says after three seconds that it waits for the warehouse, also off a terminal, and then that none answers', async () => {
  const [plain, quiet] = await waits.warehouse;
  const none =
    /gmsi: No PostgreSQL answers at the warehouse's address: .*ECONNREFUSED.*\n {2}→ Is the server running\? .*\n$/;
  expect(plain!.stderr).toMatch(
    new RegExp(`waiting for database db on 127\\.0\\.0\\.1:1.*\\n${none.source}`),
  );
  expect(quiet!.stderr).toMatch(new RegExp(`^${none.source}`));
  expect([plain!.code, quiet!.code]).toEqual([2, 2]);
  expect(plain!.stderr + quiet!.stderr).not.toContain('secret');
});

describe('instead of the warehouse', () => {
  it.each(database)('%s ends a command with 2, which says what to do', async (name, _, __, what, hint) => {
    expectTwoLines((await databaseEnds).get(name), what!, hint!);
  });
});
