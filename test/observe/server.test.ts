import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { serveTelemetry, usualBounds } from '../../src/observe/server.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aTelemetry } from './a-telemetry.ts';

const anyPort = { host: '127.0.0.1', port: 0, names: ['metrics.example.com'] };
const telling: Parameters<typeof serveTelemetry>[1] = {
  contentType: 'text/plain',
  metrics: async () => 'gmsi_warehouse_up 1\n',
  readiness: async () => ({ ready: true, reasons: [] }),
};
/** As usual, but so short that a test need not wait. */
const bounds = { ...usualBounds, headersMs: 1_000, requestMs: 1_500, answerMs: 500, idleMs: 1_000 };

/** A connection that says whatever a client should not; the server closes it with itself. */
async function dial(url: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let heard = '';
  socket.setEncoding('utf8').on('data', (text) => {
    heard += text;
  });
  socket.on('error', () => {});
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(heard)));
  return { socket, ended };
}

describe('a request for metrics or health', () => {
  it.each([
    ['localhost', 200],
    ['10.1.2.3:9464', 200],
    [`${hostname()}:9464`, 200],
    ['METRICS.example.com', 200],
    ['evil.example.com', 421],
    ['metrics.example.com.evil.com', 421],
  ])('asked as %s, answers %i', async (host, status) => {
    await using server = await serveTelemetry(anyPort, telling);
    for (const path of ['/metrics', '/healthz', '/readyz', '/nothing']) {
      const [response] = await once(request(`${server.url}${path}`, { headers: { host } }).end(), 'response');
      expect(response.statusCode).toBe(status === 200 && path === '/nothing' ? 404 : status);
      response.resume();
    }
  });
});

// Most of their time they wait.
describe.concurrent('the server for metrics and health', () => {
  it('ends a request whose headers drip in', async () => {
    await using server = await serveTelemetry(anyPort, telling, bounds);
    const { socket, ended } = await dial(server.url);
    socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n');
    // Never idle, and never done.
    const drip = setInterval(() => socket.write('x-more: yes\r\n'), 20);
    const heard = await ended.finally(() => clearInterval(drip));
    expect(heard).toMatch(/^HTTP\/1.1 408 /);
  });

  it('ends a request whose body drips in', async () => {
    await using server = await serveTelemetry(anyPort, telling, bounds);
    const { socket, ended } = await dial(server.url);
    socket.write(
      'POST /metrics HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/plain\r\ncontent-length: 900\r\n\r\n',
    );
    const drip = setInterval(() => socket.write('x'), 20);
    await ended.finally(() => clearInterval(drip));
  });

  it('closes a connection on which nothing is said, before a request and after one', async () => {
    await using server = await serveTelemetry(anyPort, telling, bounds);
    const silent = await dial(server.url);
    expect(await silent.ended).toMatch(/^(HTTP\/1.1 408 |$)/);
    const satisfied = await dial(server.url);
    satisfied.socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n');
    expect(await satisfied.ended).toMatch(/^HTTP\/1.1 200 .*gmsi_warehouse_up 1/s);
  });

  it('refuses headers that are too large', async () => {
    await using server = await serveTelemetry(anyPort, telling, bounds);
    const { socket, ended } = await dial(server.url);
    socket.write(`GET /metrics HTTP/1.1\r\nhost: localhost\r\nx-large: ${'x'.repeat(9_000)}\r\n\r\n`);
    expect(await ended).toMatch(/^HTTP\/1.1 431 /);
  });

  it('answers 503 when metrics or readiness take too long to find', async () => {
    const hanging = { ...telling, metrics: () => new Promise<never>(() => {}) };
    await using server = await serveTelemetry(anyPort, hanging, bounds);
    expect((await fetch(`${server.url}/metrics`)).status).toBe(503);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  it('closes connections above its number at once, and takes new ones as soon as others have gone', async () => {
    await using server = await serveTelemetry(anyPort, telling, { ...usualBounds, connections: 2 });
    const held = [await dial(server.url), await dial(server.url)];
    await Promise.all(held.map(({ socket }) => new Promise((there) => socket.once('connect', there))));
    expect(await (await dial(server.url)).ended).toBe('');
    for (const { socket } of held) socket.destroy();
    await expect
      .poll(() =>
        fetch(`${server.url}/healthz`).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });

  it('has bounds that a scrape by Prometheus, which waits 10 seconds, keeps to', () => {
    expect(usualBounds.answerMs).toBeLessThan(10_000);
    expect(Math.max(usualBounds.headersMs, usualBounds.requestMs)).toBeLessThan(10_000);
  });

  it('says within its time that a warehouse whose queries hang is away, and takes one connection for all who ask', async () => {
    await using warehouse = await aWarehouse({ connections: 3 });
    const { db } = warehouse;
    await using telemetry = await aTelemetry(db, []);
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await using other = await aConnectionTo(warehouse.url);
    // Locks that a migration of somebody's takes and does not give back.
    const locked = other.hold(
      'lock table gmsi.windows, gmsi.kysely_migration in access exclusive mode',
      released,
    );
    await locked.taken;
    const asked = Array.from({ length: 5 }, () => fetch(`${telemetry.url}/readyz`));
    const scrapes = Array.from({ length: 5 }, () => fetch(`${telemetry.url}/metrics`));
    for (const answer of await Promise.all(asked)) expect(answer.status).toBe(503);
    for (const answer of await Promise.all(scrapes)) {
      expect(answer.status).toBe(200);
      expect(await answer.text()).toContain('gmsi_warehouse_up 0');
    }
    // The third one is still free for the work itself.
    await sql`select 1`.execute(db);
    release();
    await locked.done;
    expect((await fetch(`${telemetry.url}/readyz`)).status).toBe(200);
  });
});

async function aConnectionTo(url: string) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return {
    hold(lock: string, until: Promise<void>) {
      const taken = client.query('begin').then(() => client.query(lock));
      return { taken, done: taken.then(() => until).then(() => client.query('rollback')) };
    },
    [Symbol.asyncDispose]: () => client.end(),
  };
}
