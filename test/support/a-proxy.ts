import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { connect as dial, type Socket } from 'node:net';
import { type Certificate, listening, type OtherServer } from './other-servers.ts';

/** A proxy for HTTP CONNECT, which connects to whatever port of this machine stands for a host. */
export interface AProxy extends OtherServer {
  /** What it was asked to connect to. */
  readonly asked: readonly string[];
  /** What clients have sent through it. */
  readonly passed: string;
  /** The status that it refuses with from now on. */
  answer: number | undefined;
}

export interface ProxyWish {
  /** `user:password` that it wants. */
  readonly credentials?: string;
  /** Its own certificate: then it speaks TLS itself. */
  readonly tls?: Certificate;
  /** The ways to sign in that a 407 offers. */
  readonly schemes?: string;
  /** The ports that stand for hosts that only the proxy knows. */
  readonly hosts?: Readonly<Record<string, number>>;
}

export async function aProxy({ credentials, tls, schemes, hosts = {} }: ProxyWish = {}): Promise<AProxy> {
  const asked: string[] = [];
  const passed: Buffer[] = [];
  const server = tls ? createHttps(tls) : createHttp();
  const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  server.on('connect', (request, client: Socket, head: Buffer) => {
    const { url = '', headers } = request;
    asked.push(url);
    client.on('error', () => {});
    const isRefused = wanted !== undefined && headers['proxy-authorization'] !== wanted;
    const status = proxy.answer ?? (isRefused ? 407 : 200);
    if (status !== 200) {
      // Repeats the credentials, as some do that show a page about it.
      const lines = [
        `HTTP/1.1 ${status} No`,
        ...(status === 407 && schemes ? [`Proxy-Authenticate: ${schemes}`] : []),
      ];
      client.end(
        `${lines.join('\r\n')}\r\nX-Credentials: ${headers['proxy-authorization']}\r\n\r\n${wanted}`,
      );
      return;
    }
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = dial(hosts[url] ?? Number(port || 80), hosts[url] ? '127.0.0.1' : hostname);
    client.on('close', () => upstream.destroy());
    upstream.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.write('HTTP/1.1 200 Connection established\r\n\r\n');
    upstream.write(head);
    passed.push(head);
    client.on('data', (chunk) => {
      passed.push(chunk);
      upstream.write(chunk);
    });
    upstream.pipe(client);
  });
  const listened = await listening(server);
  const proxy: AProxy = {
    port: listened.port,
    url: tls ? listened.url.replace('http:', 'https:') : listened.url,
    asked,
    get passed() {
      return Buffer.concat(passed).toString('latin1');
    },
    answer: undefined,
    [Symbol.asyncDispose]: () => listened[Symbol.asyncDispose](),
  };
  return proxy;
}

/** The address of a proxy with credentials in it. */
export function withCredentials({ url }: Pick<AProxy, 'url'>, credentials: string): string {
  return url.replace('://', `://${credentials}@`);
}
