import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MalformedPage, NotText, PageTooLarge, ServiceUnavailable } from '../../src/service/errors.ts';
import { type Http, type HttpOptions, openHttp } from '../../src/service/http.ts';
import { tcpServer } from '../support/other-servers.ts';
import { cutShort, json, rawServer, reset, text } from './raw-server.ts';

const never = new AbortController().signal;

function http(origin: string, changes: Partial<HttpOptions> = {}): Http {
  const opened = openHttp(origin, {
    connections: 2,
    maxBodyBytes: 10_000,
    headers: { 'x-api-key': 'k' },
    connectTimeout: 1000,
    headersTimeout: 1000,
    bodyTimeout: 1000,
    ...changes,
  });
  onTestFinished(() => opened.close());
  return opened;
}

/** A TCP server with a handler for each connection. */
async function socketServer(onConnection: (socket: Socket) => void): Promise<string> {
  const server = await tcpServer(onConnection);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return `127.0.0.1:${server.port}`;
}

describe('openHttp', () => {
  test('sends the headers and the target as they are and reads status, headers and body', async () => {
    const server = await rawServer(text('hello', 418, { 'x-flavour': 'mint' }));
    const answer = await http(server.url).send('/v1/x?a=%20%2B', undefined, never);
    expect(String(answer.content)).toBe('hello');
    expect(answer).toMatchObject({ status: 418, headers: { 'x-flavour': 'mint' } });
    expect(server.targets).toEqual(['/v1/x?a=%20%2B']);
    expect(server.headers[0]).toMatchObject({ 'x-api-key': 'k', accept: 'application/json' });
  });

  test('uses one connection for requests that follow each other', async () => {
    const server = await rawServer(json({}));
    const { send } = http(server.url, { connections: 1 });
    for (let request = 0; request < 5; request += 1) await send('/', undefined, never);
    expect(server.connections).toBe(1);
  });

  test('opens no more connections than it may', async () => {
    const server = await rawServer(json({}));
    const { send } = http(server.url);
    await Promise.all(Array.from({ length: 10 }, () => send('/', undefined, never)));
    expect(server.connections).toBe(2);
  });

  const content = 'unpacked: "für" '.repeat(500);
  const gzipped = gzipSync(content);

  test.each([
    ['GZip', gzipped],
    ['x-gzip', gzipped],
    ['Identity', Buffer.from(content)],
    ['', Buffer.from(content)],
  ])('unpacks a body whose content-encoding is %j', async (encoding, body) => {
    const server = await rawServer((_request, response) => {
      response.setHeader('content-encoding', encoding).end(body);
    });
    const answer = await http(server.url).send('/', undefined, never);
    expect(server.headers[0]).toMatchObject({ 'accept-encoding': 'gzip' });
    expect(String(answer.content)).toBe(content);
  });

  test.each([
    ['br', gzipped, NotText, 'The body has an encoding other than gzip.'],
    ['constructor', gzipped, NotText, /an encoding other than/],
    ['gzip, gzip', gzipped, NotText, /an encoding other than/],
    ['gzip', Buffer.from(content), MalformedPage, 'The body cannot be unpacked: Z_DATA_ERROR.'],
  ])('refuses what cannot be unpacked: %s', async (encoding, body, error, message) => {
    const server = await rawServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(body);
    });
    const { send } = http(server.url, { connections: 1 });
    for (const _ of [1, 2]) {
      const refused = send('/', undefined, never);
      await expect(refused).rejects.toThrow(error);
      await expect(refused).rejects.toThrow(message);
    }
  });

  test('never unpacks more than the cap', async () => {
    const server = await rawServer((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(2_000_000)));
    });
    const refused = http(server.url, { maxBodyBytes: 1_000_000 }).send('/', undefined, never);
    await expect(refused).rejects.toThrow(PageTooLarge);
    await expect(refused).rejects.toThrow('The body unpacks to more than 1000000 bytes.');
  });

  test('does not read a refusal without end, and keeps its status', async () => {
    const server = await rawServer((_request, response) => {
      response.writeHead(500);
      const write = () => {
        while (!response.destroyed && response.write('x'.repeat(10_000)));
      };
      response.on('drain', write);
      write();
    });
    const { status, content } = await http(server.url).send('/', undefined, never);
    expect({ status, length: content.length }).toEqual({ status: 500, length: 0 });
  });

  test('gives up a connection that does not come to stand in time', async () => {
    const address = await socketServer(() => {}); // accepts, and never says its part of the TLS handshake
    const answer = http(`https://${address}`, { connectTimeout: 50 }).send('/', undefined, never);
    await expect(answer).rejects.toMatchObject({
      name: 'NotSent',
      message: 'No connection within 50 ms.',
      hint: expect.stringContaining('If only a proxy'),
    });
  });

  test('gives up an answer whose headers do not come in time', async () => {
    const server = await rawServer(() => {});
    const answer = http(server.url, { headersTimeout: 50 }).send('/', undefined, never);
    await expect(answer).rejects.toThrow('No answer within 50 ms.');
  });

  test('gives up a body that is not complete in time, even if it keeps trickling', async () => {
    const server = await rawServer((request, response) => {
      response.writeHead(200);
      const trickle = setInterval(() => response.write(' '), 10);
      request.on('close', () => clearInterval(trickle));
    });
    const answer = http(server.url, { bodyTimeout: 100 }).send('/', undefined, never);
    await expect(answer).rejects.toThrow('The body was not complete within 100 ms.');
  });

  test.each([
    ['one that announces its length', text('x'.repeat(10_001), 200)],
    [
      'one that does not',
      (_request: unknown, response: ServerResponse) => {
        response.writeHead(200);
        for (let chunk = 0; chunk < 20; chunk += 1) response.write('x'.repeat(1000));
        response.end();
      },
    ],
  ])('refuses a body over the cap: %s', async (_name, answer) => {
    const server = await rawServer(answer);
    const refused = http(server.url).send('/', undefined, never);
    await expect(refused).rejects.toThrow(PageTooLarge);
    await expect(refused).rejects.toThrow('The body is larger than 10000 bytes.');
  });

  test('reads a body of exactly the cap', async () => {
    const server = await rawServer(text('x'.repeat(10_000), 200));
    const { content } = await http(server.url).send('/', undefined, never);
    expect(content).toHaveLength(10_000);
  });

  test('refuses a body that is cut short, packed or not', async () => {
    const packed = (_request: unknown, response: ServerResponse) =>
      void response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipped.subarray(0, -10));
    for (const answer of [cutShort, packed]) {
      const server = await rawServer(answer);
      await expect(http(server.url).send('/', undefined, never)).rejects.toThrow(MalformedPage);
    }
  });

  test('reads the words of a refusal that is not UTF-8 as far as it can', async () => {
    const server = await rawServer((_request, response) => {
      response.writeHead(403).end(Buffer.from('Accès refusé', 'latin1'));
    });
    const { status, content } = await http(server.url).send('/', undefined, never);
    expect({ status, content: String(content) }).toEqual({ status: 403, content: 'Acc\ufffds refus\ufffd' });
  });

  test('keeps the status of a refusal whose body cannot be read', async () => {
    const server = await rawServer((_request, response) => {
      response.writeHead(401, { 'content-length': '100' });
      response.write('{', () => response.destroy());
    });
    await expect(http(server.url).send('/', undefined, never)).resolves.toMatchObject({
      status: 401,
      content: Buffer.alloc(0),
    });
  });

  test('names a connection that is reset, refused or not HTTP as no answer', async () => {
    const resetting = await rawServer(reset);
    await expect(http(resetting.url).send('/', undefined, never)).rejects.toThrow(ServiceUnavailable);
    await expect(http('http://127.0.0.1:1').send('/', undefined, never)).rejects.toMatchObject({
      name: 'NotSent',
      message: 'No answer from the service: ECONNREFUSED.',
    });
    const wordy = await rawServer(text('', 200, { 'x-much': 'x'.repeat(20_000) }));
    await expect(http(wordy.url).send('/', undefined, never)).rejects.toMatchObject({
      name: 'ServiceUnavailable',
      message: 'No answer from the service: UND_ERR_HEADERS_OVERFLOW.',
    });
    const address = await socketServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n'));
    await expect(http(`http://${address}`).send('/', undefined, never)).rejects.toThrow(ServiceUnavailable);
  });

  test.each([200, 500])('ends at once when aborted in the middle of a body (status %i)', async (status) => {
    const stop = new AbortController();
    const server = await rawServer((_request, response) => {
      response.writeHead(status);
      response.write('{', () => stop.abort(new Error('interrupted')));
    });
    await expect(http(server.url, { bodyTimeout: 60_000 }).send('/', undefined, stop.signal)).rejects.toThrow(
      'interrupted',
    );
  });
});
