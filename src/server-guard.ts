import { createHmac, timingSafeEqual } from 'node:crypto';
import { isIP, type Server, type Socket } from 'node:net';
import { hostname } from 'node:os';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Log } from './log.ts';
import type { Secret } from './secret.ts';

/** The time limits of a server, in milliseconds. Node's own let a request take minutes. */
export const shortWaits = {
  requestTimeout: 5_000,
  // Longer than proxies keep theirs, which would otherwise send a request into a connection that is being closed.
  keepAliveTimeout: 65_000,
  // By default, Node checks for late requests only every 30 seconds.
  http: { headersTimeout: 5_000, connectionsCheckingInterval: 500, maxHeaderSize: 16_384 },
};

/**
 * Refuses requests whose host is not an address, `localhost`, this machine's name, or one of `names`. Otherwise another site
 * could read the answers in a visitor's browser, through a domain that resolves to this machine.
 * @param hint says how to add a name
 */
export function answerOwnNamesOnly(app: FastifyInstance, names: readonly string[], hint: string): void {
  const own = new Set(['localhost', hostname(), ...names].map((name) => name.toLowerCase()));
  app.addHook('onRequest', async ({ headers }, reply) => {
    const asked = `http://${headers.host ?? ''}`;
    const name = URL.canParse(asked) ? new URL(asked).hostname.replace(/\.$/, '') : undefined;
    if (name !== undefined && (isIP(name.replace(/^\[|\]$/g, '')) > 0 || own.has(name))) return;
    const error =
      name === undefined ? 'A request must name its host.' : `This server is not known as ${name}.`;
    return reply.code(421).send({ error, hint });
  });
}

/** Connections that are not admitted yet, of an address and in total. A browser opens about six; a proxy has one address. */
const most = { ofAddress: 32, total: 96 };

/**
 * Closes the oldest connection that is not admitted yet when a new one is too many, of its address or in total. So whoever may
 * not use the server cannot keep others out: a new connection lives long enough to show its token.
 * @returns a function that admits the connection of a request that may use the server
 */
export function limitStrangers(server: Server): (request: FastifyRequest) => void {
  /** The oldest first. */
  const strangers = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    const all = [...strangers];
    const same = all.filter(({ remoteAddress }) => remoteAddress === socket.remoteAddress);
    const surplus = same.length >= most.ofAddress ? same[0] : all.length >= most.total ? all[0] : undefined;
    if (surplus) {
      strangers.delete(surplus);
      surplus.destroy();
    }
    strangers.add(socket);
    socket.once('close', () => strangers.delete(socket));
  });
  return ({ raw }) => strangers.delete(raw.socket);
}

/** Returns true if only this machine can connect to a server that listens on `host`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

export function bearerOf({ headers: { authorization } }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

/** Takes the same time for any input, so that the time reveals nothing about the secret. */
export function isSame(given: string, secret: Secret): boolean {
  const digest = (text: string) => createHmac('sha256', secret.reveal()).update(text).digest();
  return timingSafeEqual(digest(given), digest(secret.reveal()));
}

/** Lines about refused tokens in a minute. Without a bound, whoever can connect could fill the disk. */
const linesPerMinute = 10;

/** Returns a function that logs from where a wrong token came; never the token. */
export function createRefusalLog(log: Pick<Log, 'warn'>): (request: FastifyRequest) => void {
  let minute = Number.NEGATIVE_INFINITY;
  let lines = 0;
  let unlogged = 0;
  return ({ raw, headers, routeOptions }) => {
    const now = performance.now();
    if (now - minute >= 60_000) [minute, lines] = [now, 0];
    if (lines >= linesPerMinute) {
      unlogged += 1;
      return;
    }
    lines += 1;
    // Behind a proxy, the address is the proxy's. The header says more, and anybody can forge it.
    const forwardedFor = headers['x-forwarded-for']?.slice(0, 100);
    const from = raw.socket.remoteAddress;
    log.warn({ from, forwardedFor, path: routeOptions.url, unlogged }, 'refused a wrong token');
    unlogged = 0;
  };
}
