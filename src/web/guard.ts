import { createHmac, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Secret } from '../secret.ts';

/** Who may ask, and under which names. */
export interface Guard {
  /** Names besides `localhost`, addresses and the machine's own name under which browsers reach the page. */
  readonly names: readonly string[];
  /** `undefined` if everybody who reaches the port may ask. */
  readonly token: Secret | undefined;
}

const cookieName = 'gmsi_session';

/**
 * Refuses requests that a foreign page makes a browser send: to a name that this server does not have, which is how a domain
 * that resolves to this machine would read its answers, or from another origin. With a token, the API answers only those who
 * show it, in a header or by the cookie that they were given for it.
 */
export function guard(app: FastifyInstance, { names, token }: Guard): void {
  const own = new Set(['localhost', hostname().toLowerCase(), ...names.map((name) => name.toLowerCase())]);
  const isOwn = (name: string) => isIP(name.replace(/^\[|\]$/g, '')) > 0 || own.has(name);

  app.addHook('onRequest', async (request, reply) => {
    const { host, origin } = request.headers;
    const asked = `http://${host ?? ''}`;
    const name = nameOf(asked);
    if (name === undefined || !isOwn(name)) return refuse(reply, 421, unknownName(name));
    if (origin !== undefined && hostOf(origin) !== hostOf(asked))
      return refuse(reply, 403, { error: 'Requests of other sites are refused.' });
  });

  if (token === undefined) return;
  const session = createHmac('sha256', token.reveal()).update('session of the page').digest('hex');

  app.addHook('onRequest', async (request, reply) => {
    // By the route, not by the address, which can be spelt in many ways. The page itself holds no data, and must be there to
    // ask for the token.
    const { url: route = '' } = request.routeOptions;
    if (!route.startsWith('/api/') || route === '/api/session') return;
    const shown = bearerOf(request);
    const isRight =
      shown === undefined ? isSame(cookieOf(request) ?? '', session) : isSame(shown, token.reveal());
    if (!isRight)
      return refuse(reply, 401, {
        error: 'The token is missing or wrong.',
        hint: 'Send it as "Authorization: Bearer …", or open the page in a browser and type it.',
      });
  });

  app.post<{ Body: unknown }>('/api/session', { schema: { hide: true } }, async (request, reply) => {
    const given = (request.body as { token?: unknown } | null)?.token;
    if (typeof given !== 'string' || !isSame(given, token.reveal()))
      return refuse(reply, 401, { error: 'This is not the token.' });
    const safe = request.protocol === 'https' ? '; Secure' : '';
    const cookie = `${cookieName}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000${safe}`;
    return reply.header('set-cookie', cookie).send({});
  });
}

function refuse(reply: FastifyReply, status: number, body: { error: string; hint?: string }) {
  return reply.code(status).send(body);
}

function unknownName(name: string | undefined) {
  return {
    error: name === undefined ? 'A request must name its host.' : `This server is not known as ${name}.`,
    hint: 'gmsi serve --name <name> adds a name under which it answers.',
  };
}

function nameOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).hostname.replace(/\.$/, '') : undefined;
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

function bearerOf({ headers: { authorization } }: FastifyRequest): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}

function cookieOf({ headers: { cookie } }: FastifyRequest): string | undefined {
  return new RegExp(`(?:^|; *)${cookieName}=([0-9a-f]+)`).exec(cookie ?? '')?.[1];
}

/** Takes as long whatever is given, so that its time says nothing about the secret. */
function isSame(given: string, secret: string): boolean {
  const digest = (text: string) => createHmac('sha256', secret).update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
