import { EventEmitter, once } from 'node:events';
import { request, type Server } from 'node:http';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { serveTelemetry } from '../../src/observe/server.ts';
import { Secret } from '../../src/secret.ts';
import { limitStrangers } from '../../src/server-guard.ts';
import { aLog } from '../support/a-log.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aTelemetry } from './a-telemetry.ts';

const anyPort = { host: '127.0.0.1', port: 0, names: ['metrics.example.com'] };
const telling: Parameters<typeof serveTelemetry>[1] = {
  contentType: 'text/plain',
  metrics: async () => 'gmsi_warehouse_up 1\n',
  readiness: async () => ({ ready: true, reasons: [], jobs: {} }),
  token: undefined,
  log: aLog().log,
};
const token = 'a-token-of-thirty-two-characters-or-more';

it.each([
  ['127.0.0.1', undefined, {}, 200],
  ['0.0.0.0', undefined, {}, 401],
  ['0.0.0.0', undefined, { authorization: 'Bearer ' }, 401],
  ['0.0.0.0', token, {}, 401],
  ['127.0.0.1', token, { authorization: 'Bearer wrong' }, 401],
  ['0.0.0.0', token, { authorization: `Bearer ${token}` }, 200],
])('on %s, token %s, headers %j: metrics answer %s', async (host, set, headers, status) => {
  const { log, lines } = aLog();
  const secret = set === undefined ? undefined : new Secret(set);
  await using server = await serveTelemetry({ ...anyPort, host }, { ...telling, token: secret, log });
  const url = server.url.replace('0.0.0.0', '127.0.0.1');
  expect((await fetch(`${url}/metrics`, { headers })).status).toBe(status);
  for (const path of ['/healthz', '/readyz']) expect((await fetch(`${url}${path}`)).status).toBe(200);
  expect(lines).toHaveLength(JSON.stringify(headers).includes('wrong') ? 1 : 0);
});

it('the oldest connections of those who have not been admitted make room, by address and in total', () => {
  const server = new EventEmitter() as Server;
  const admit = limitStrangers(server);
  const closed: string[] = [];
  const open = (remoteAddress: string, n: number) => {
    const socket = Object.assign(new EventEmitter(), {
      remoteAddress,
      destroy: () => closed.push(`${remoteAddress} ${n}`),
    });
    server.emit('connection', socket);
    return socket;
  };
  const member = open('a', 0);
  admit({ raw: { socket: member } } as never);
  for (let n = 1; n <= 34; n++) open('a', n);
  expect(closed).toEqual(['a 1', 'a 2']);
  for (let n = 1; n <= 65; n++) open(`b${n}`, 0);
  expect(closed).toEqual(['a 1', 'a 2', 'a 3']);
  open('c', 0).emit('close');
  open('c', 1);
  expect(closed).toEqual(['a 1', 'a 2', 'a 3', 'a 4']);
});

it.each([
  ['localhost', 200],
  ['10.1.2.3:9464', 200],
  [`${hostname()}:9464`, 200],
  ['METRICS.example.com', 200],
  ['evil.example.com', 421],
  ['metrics.example.com.evil.com', 421],
])('a request for metrics or health asked as %s, answers %i', async (host, status) => {
  await using server = await serveTelemetry(anyPort, telling);
  for (const path of ['/metrics', '/healthz', '/readyz', '/nothing']) {
    const [response] = await once(request(`${server.url}${path}`, { headers: { host } }).end(), 'response');
    expect(response.statusCode).toBe(status === 200 && path === '/nothing' ? 404 : status);
    response.resume();
  }
});

// Most of their time they wait.
describe.concurrent('the server for metrics and health', () => {
  it.each([
    ['headers', 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n', 'x-more: yes\r\n'],
    ['body', 'POST /metrics HTTP/1.1\r\nhost: localhost\r\ncontent-length: 900\r\n\r\n', 'x'],
  ])('ends a request whose %s drip in', async (_, begin, more) => {
    await using server = await serveTelemetry(anyPort, telling);
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {});
    socket.write(begin);
    // Never idle, and never done.
    const drip = setInterval(() => socket.write(more), 20);
    await once(socket.resume(), 'close').finally(() => clearInterval(drip));
  });

  it('says within its time that a warehouse whose queries hang is away, and takes one connection for all who ask', async () => {
    await using warehouse = await aWarehouse({ connections: 3 });
    const { db } = warehouse;
    await using telemetry = await aTelemetry(db, []);
    // Locks that a migration of somebody's takes and does not give back.
    const other = new pg.Client({ connectionString: warehouse.url });
    await other.connect();
    await other.query('begin; lock table gmsi.windows, gmsi.kysely_migration in access exclusive mode');
    const asked = Array.from({ length: 5 }, () => fetch(`${telemetry.url}/readyz`));
    const scrapes = Array.from({ length: 5 }, () => fetch(`${telemetry.url}/metrics`));
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(503);
    for (const answer of await Promise.all(scrapes)) {
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain('gmsi_warehouse_up 0');
    }
    // The third one is still free for the work itself.
    await sql`select 1`.execute(db);
    await other.end();
    expect((await fetch(`${telemetry.url}/readyz`)).status).toBe(200);
  });
});
