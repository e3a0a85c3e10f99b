import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sandbox, startSandbox } from '../../src/sandbox/index.ts';
import {
  aCertificate,
  type Certificate,
  hangsUp,
  mailServer,
  type OtherServer,
  webServer,
} from '../support/other-servers.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { accessTo, aFolder, type Ended, type Folder, gmsi } from './gmsi.ts';
import { jobFor, quarter } from './jobs.ts';

let folder: Folder;
let sandbox: Sandbox;
let warehouse: TestWarehouse;
let own: Certificate;

beforeAll(async () => {
  [folder, sandbox, warehouse, own] = await Promise.all([
    aFolder(),
    startSandbox({ limits: null }),
    aWarehouse(),
    aCertificate(),
  ]);
  await folder.write('jobs/job.yaml', jobFor(quarter));
  await folder.write('ca.pem', own.cert);
});

afterAll(async () => {
  await warehouse[Symbol.asyncDispose]();
  await sandbox.stop();
  await folder[Symbol.asyncDispose]();
});

interface Case {
  readonly server?: () => Promise<OtherServer>;
  readonly address: (port: number) => string;
  readonly what: RegExp;
  readonly hint: RegExp;
}

const http = (port: number) => `http://127.0.0.1:${port}`;
const https = (port: number) => `https://127.0.0.1:${port}`;
const page = '<!doctype html><title>Please log in</title>';
const html = (status: number) => () =>
  webServer((_, response) => response.writeHead(status, { 'content-type': 'text/html' }).end(page));
const notFound = () =>
  webServer((_, response) => response.writeHead(404).end(JSON.stringify({ detail: 'Not Found' })));

const wrong: Record<string, Case> = {
  'an unknown host': {
    address: () => 'https://nowhere.invalid',
    what: /GMSI_BASE_URL \(https:\/\/nowhere\.invalid\/v1\): there is no host nowhere\.invalid \(ENOTFOUND\)/,
    hint: /Check the name of the host/,
  },
  'https where http is spoken': {
    server: notFound,
    address: https,
    what: /does not speak TLS/,
    hint: /use http:\/\/127/,
  },
  'http where TLS is spoken': {
    server: () => webServer((_, response) => response.end(), own),
    address: http,
    what: /closes the connection|does not speak HTTP/,
    hint: /use https:\/\/127/,
  },
  'http where TLS is spoken by a server that says so': {
    server: () =>
      webServer((_, response) =>
        response.writeHead(400).end('<h1>The plain HTTP request was sent to HTTPS port</h1>'),
      ),
    address: http,
    what: /400 \(The plain HTTP request/,
    hint: /Use https:\/\/127/,
  },
  'a certificate that signs itself': {
    server: () => webServer((_, response) => response.end(), own),
    address: https,
    what: /does not trust its certificate \(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    hint: /NODE_EXTRA_CA_CERTS/,
  },
  'a web page with 200': {
    server: html(200),
    address: http,
    what: /what is not JSON: Please log in/,
    hint: /login page/,
  },
  'a web server that has no such page': {
    server: html(404),
    address: http,
    what: /404 \(Please log in\)/,
    hint: /missing before \/v1/,
  },
  'a service that has no such path': {
    server: notFound,
    address: http,
    what: /404 \(Not Found\)/,
    hint: /Check host and port/,
  },
  'another version in the path': {
    server: notFound,
    address: (port) => `${http(port)}/v2`,
    what: /127\.0\.0\.1:\d+\/v2\/v1\): it refuses/,
    hint: /Should it be http:\/\/127\.0\.0\.1:\d+ alone/,
  },
  'a redirect': {
    server: () => webServer((_, response) => response.writeHead(302, { location: '/login' }).end()),
    address: http,
    what: /redirects \/v1\/countries \(302\) to \/login/,
    hint: /GMSI_BASE_URL/,
  },
  'a mail server': { server: mailServer, address: http, what: /does not speak HTTP/, hint: /check the port/ },
  'a mail server, by https': {
    server: mailServer,
    address: https,
    what: /does not speak TLS/,
    hint: /check the port/,
  },
  PostgreSQL: {
    address: () => `http://127.0.0.1:${new URL(warehouse.url).port}`,
    what: /closes the connection|does not speak HTTP/,
    hint: /check the port/,
  },
  'a websocket': {
    server: () =>
      webServer((_, response) => response.writeHead(426, { upgrade: 'websocket' }).end('Upgrade Required')),
    address: http,
    what: /426 \(Upgrade Required\)/,
    hint: /Check host and port/,
  },
  'a port that hangs up': {
    server: hangsUp,
    address: http,
    what: /closes the connection/,
    hint: /check the port/,
  },
  'a port that hangs up, by https': {
    server: hangsUp,
    address: https,
    what: /closes the connection/,
    hint: /check the port/,
  },
};

it.each(Object.entries(wrong))(
  '%s instead of the service: ends with 2, and says what to do',
  async (_, { server, address, what, hint }) => {
    await using other = await server?.();
    const env = { ...accessTo(warehouse, sandbox), GMSI_BASE_URL: address(other?.port ?? 0) };
    const { code, stdout, stderr } = await gmsi(['lookups', '--quiet'], { cwd: folder.path, env });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^gmsi: /),
      expect.stringMatching(/^ {2}→ /),
    ]);
    expect(stderr).toMatch(what);
    expect(stderr).toMatch(hint);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  },
);

describe('a certificate', () => {
  it.each([
    [
      'for another host',
      { host: 'DNS:elsewhere.example' },
      /is for another host \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
      /made out for/,
    ],
    ['that has expired', { days: -1 }, /not valid at this time \(CERT_HAS_EXPIRED\)/, /clock/],
  ])('%s is told from one that is not trusted', async (name, about, what, hint) => {
    const certificate = await aCertificate(about);
    const authority = await folder.write(`${name}.pem`, certificate.cert);
    await using server = await webServer((_, response) => response.end(), certificate);
    const env = { ...accessTo(warehouse, sandbox), GMSI_BASE_URL: https(server.port) };
    const { code, stderr } = await gmsi(['lookups'], {
      cwd: folder.path,
      env: { ...env, NODE_EXTRA_CA_CERTS: authority },
    });
    expect(stderr).toMatch(what);
    expect(stderr).toMatch(hint);
    expect(code).toBe(2);
  });

  it('that signs itself is taken once NODE_EXTRA_CA_CERTS names it, as the message says', async () => {
    await using proxy = await webServer(async (request, response) => {
      const answer = await fetch(`${sandbox.url}${request.url}`, {
        headers: { 'x-api-key': String(request.headers['x-api-key']) },
      });
      const server = answer.headers.get('server') ?? '';
      response.writeHead(answer.status, { server }).end(await answer.text());
    }, own);
    const env = { ...accessTo(warehouse, sandbox), GMSI_BASE_URL: https(proxy.port) };
    const trusting = { ...env, NODE_EXTRA_CA_CERTS: join(folder.path, 'ca.pem') };
    expect(await gmsi(['lookups'], { cwd: folder.path, env: trusting })).toMatchObject({ code: 0 });
  });
});

describe('a backfill whose first request is for a window', () => {
  const period = { from: '2024-01-01', to: '2024-01-10' };
  const small = jobFor({ ...quarter, ...period, countries: ['US'], topics: ['Inflation-Food'] });

  async function withFreshLookups(test: (backfill: (url: string) => Promise<Ended>) => Promise<void>) {
    await using fresh = await aWarehouse();
    await folder.write('jobs/small.yaml', small);
    const run = (args: string[], url: string) =>
      gmsi(args, { cwd: folder.path, env: { ...accessTo(fresh, sandbox), GMSI_BASE_URL: url } });
    expect(await run(['lookups'], sandbox.url)).toMatchObject({ code: 0 });
    await test((url) => run(['backfill', 'small'], url));
  }

  it.each([
    ['a web page with 200', html(200), /what is not JSON: Please log in/],
    ['404 for everything', notFound, /it refuses whatever is asked for with 404/],
  ])('ends with 2 for %s, and goes on once the address is right', async (_, server, what) => {
    await withFreshLookups(async (backfill) => {
      await using other = await server();
      const { code, stdout, stderr } = await backfill(http(other.port));
      expect(stdout + stderr).toMatch(what);
      expect(code).toBe(2);
      expect(await backfill(sandbox.url)).toMatchObject({ code: 0 });
    });
  });

  it('takes a 404 of one window for what it is, if the service has lookups', async () => {
    await withFreshLookups(async (backfill) => {
      const ofWindows = ({ path }: { path: string }) => path.endsWith('/US');
      sandbox.script([
        { kind: 'refuse', status: 404, detail: 'no such country', match: ofWindows, times: 1 },
      ]);
      const { code, stdout, stderr } = await backfill(sandbox.url);
      expect(stdout + stderr).toContain('no such country');
      expect(code).toBe(1);
      expect(await backfill(sandbox.url)).toMatchObject({ code: 0 });
    });
  });
});

describe('what may pass', () => {
  it.each([
    ['a port that refuses', async () => ({ port: 1 })],
    ['a server that is not well', () => webServer((_, response) => response.writeHead(503).end())],
  ])(
    '%s: says after three seconds what it waits for, also off a terminal, and ends with 1',
    async (_, start) => {
      const server: { port: number } & Partial<AsyncDisposable> = await start();
      await using empty = await aWarehouse();
      const patient = await folder.write('patient.yaml', jobFor(quarter, { service: { max_attempts: 5 } }));
      const env = { ...accessTo(empty, sandbox), GMSI_BASE_URL: http(server.port) };
      const [plain, quiet] = await Promise.all(
        [[], ['--quiet']].map((flags) => gmsi(['backfill', patient, ...flags], { cwd: folder.path, env })),
      );
      await server[Symbol.asyncDispose]?.();
      expect(plain!.stderr).toMatch(
        /waiting for the service at http:\/\/127\.0\.0\.1:\d+\/v1: .*(ECONNREFUSED|503)/,
      );
      expect(quiet!.stderr).not.toContain('waiting for');
      for (const { code, stderr } of [plain!, quiet!]) {
        expect(stderr).toContain('given up after 5 tries');
        expect(code).toBe(1);
      }
    },
  );
});

describe('gmsi work', () => {
  it('ends with 2, too, if its first request shows that nothing there is the service', async () => {
    await using empty = await aWarehouse();
    await folder.write('jobs/small.yaml', jobFor(quarter, { schedule: { backfill: '* * * * *' } }));
    await using other = await html(200)();
    const env = { ...accessTo(empty, sandbox), GMSI_BASE_URL: http(other.port) };
    const { code, stderr } = await gmsi(['work', 'small', '--metrics-port', '0'], { cwd: folder.path, env });
    expect(stderr).toMatch(/No service answers at GMSI_BASE_URL .*what is not JSON: Please log in/);
    expect(code).toBe(2);
  });
});

const database: Record<string, Case> = {
  'an unknown host': {
    address: () => 'postgres://user:secret@nowhere.invalid/db',
    what: /host is not known: .*nowhere\.invalid/,
    hint: /Check the host in DATABASE_URL/,
  },
  'a web server': {
    server: html(200),
    address: (port) => `postgres://user:secret@127.0.0.1:${port}/db`,
    what: /does not speak the protocol of PostgreSQL/,
    hint: /Check the port in DATABASE_URL/,
  },
  'a web server, asked for TLS': {
    server: html(200),
    address: (port) => `postgres://user:secret@127.0.0.1:${port}/db?sslmode=verify-full`,
    what: /does not speak the protocol of PostgreSQL/,
    hint: /Check the port in DATABASE_URL/,
  },
  'a mail server': {
    server: mailServer,
    address: (port) => `postgres://user:secret@127.0.0.1:${port}/db`,
    what: /does not speak the protocol of PostgreSQL/,
    hint: /Check the port in DATABASE_URL/,
  },
  'a server that speaks TLS': {
    server: () => webServer((_, response) => response.end(), own),
    address: (port) => `postgres://user:secret@127.0.0.1:${port}/db`,
    what: /does not speak the protocol of PostgreSQL|closes the connection without an answer/,
    hint: /Check the port in DATABASE_URL/,
  },
  'a port that hangs up': {
    server: hangsUp,
    address: (port) => `postgres://user:secret@127.0.0.1:${port}/db`,
    what: /closes the connection without an answer|ECONNRESET/,
    hint: /Check .*port in DATABASE_URL/,
  },
};

it.each(Object.entries(database))(
  '%s instead of the warehouse: ends with 2, and says what to do',
  async (_, { server, address, what, hint }) => {
    await using other = await server?.();
    const env = { DATABASE_URL: address(other?.port ?? 0) };
    const { code, stdout, stderr } = await gmsi(['status', '--quiet'], { cwd: folder.path, env });
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^gmsi: /),
      expect.stringMatching(/^ {2}→ /),
    ]);
    expect(stderr).toMatch(what);
    expect(stderr).toMatch(hint);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  },
);

it('says after three seconds that it waits for the warehouse, also off a terminal', async () => {
  const env = { DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/db' };
  const [plain, quiet] = await Promise.all(
    [[], ['--quiet']].map((flags) => gmsi(['status', ...flags], { cwd: folder.path, env })),
  );
  expect(plain!.stderr).toContain('waiting for database db on 127.0.0.1:1');
  expect(quiet!.stderr).not.toContain('waiting for');
  expect(plain!.stderr + quiet!.stderr).not.toContain('secret');
});
