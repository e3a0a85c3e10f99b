import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttp, type RequestListener } from 'node:http';
import { createServer as createHttps } from 'node:https';
import {
  type AddressInfo,
  createServer as createTcp,
  connect as dial,
  type Server,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A server on loopback that is not the service. */
export interface OtherServer extends AsyncDisposable {
  readonly port: number;
  /** Where it answers if it speaks HTTP. */
  readonly url: string;
}

/** Speaks HTTP, or with a certificate HTTPS, and answers by a handler. */
export function webServer(answer: RequestListener, tls?: Certificate): Promise<OtherServer> {
  return listening(tls ? createHttps(tls, answer) : createHttp(answer));
}

/** Calls a handler for each connection. */
export function tcpServer(onConnection: (socket: Socket) => void): Promise<OtherServer> {
  return listening(createTcp(onConnection));
}

/** Connects each client with the server at an address; a handler decides what passes between them. */
export function relay(
  address: string,
  between: (client: Socket, upstream: Socket) => void,
  host?: string,
): Promise<OtherServer> {
  const { hostname, port } = new URL(address);
  const onConnection = (client: Socket) => {
    const upstream = dial(Number(port || 5432), hostname);
    upstream.on('error', () => {}).on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
    between(client, upstream);
  };
  return listening(createTcp(onConnection), host);
}

/** Returns a port that nobody listens on. */
export async function freePort(): Promise<number> {
  await using server = await tcpServer(() => {});
  return server.port;
}

/** Begins to talk at once, as a mail server does. */
export const mailServer = () =>
  tcpServer((socket) => {
    socket.write('220 mail.example.com ESMTP ready\r\n');
    socket.on('data', () => socket.write('500 command not recognised\r\n'));
  });

export const hangsUp = () => tcpServer((socket) => socket.destroy());

export async function listening(server: Server, host = '127.0.0.1'): Promise<OtherServer> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://${host}:${port}`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Certificates of one name would be taken for one another by whoever trusts both. */
let made = 0;

/** A certificate that signs itself. @param days until it expires; negative if it has @param host such as `IP:127.0.0.1` */
export async function aCertificate({ days = 1, host = 'IP:127.0.0.1' } = {}): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi certificate '));
  try {
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
    const [request, extensions] = [join(folder, 'request.pem'), join(folder, 'extensions')];
    const openssl = (...args: string[]) => promisify(execFile)('openssl', args);
    await writeFile(extensions, `subjectAltName=${host}`);
    const algorithm = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    await openssl('req', ...algorithm, '-keyout', key, '-out', request, '-subj', `/CN=test ${++made}`);
    const signed = ['-req', '-in', request, '-signkey', key, '-extfile', extensions];
    await openssl('x509', ...signed, '-days', String(days), '-out', cert);
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
