import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { answerOwnNamesOnly } from '../own-names.ts';
import type { Secret } from '../secret.ts';

/** Who may use the server, and under which names. */
export interface Guard {
  /** Names besides `localhost`, addresses and the machine's own name under which browsers reach the page. */
  readonly names: readonly string[];
  /** `undefined` if anybody who reaches the port may use it. */
  readonly token: Secret | undefined;
}

const cookieName = 'gmsi_session';

/**
 * Refuses requests that a page of another origin makes a browser send; another port of this host is another origin. If a token is
 * set, the API requires it, in a header or as the cookie that the server set for it.
 */
export function guard(app: FastifyInstance, { names, token }: Guard): void {
  answerOwnNamesOnly(app, names, 'To add a name under which it answers: gmsi serve --name <name>');

  app.addHook('onRequest', async (request, reply) => {
    const { host, origin, 'sec-fetch-site': site = 'none' } = request.headers;
    const isForeign = origin !== undefined && hostOf(origin) !== hostOf(`http://${host}`);
    // Browsers send no origin with an image or a script. A link from elsewhere may open the page, which contains no data.
    const isEmbedded = isOfApi(request) && site !== 'none' && site !== 'same-origin';
    if (isForeign || isEmbedded) return refuse(reply, 403, { error: 'Requests of other sites are refused.' });
  });

  if (token === undefined) return;
  const session = createHmac('sha256', token.reveal()).update('session of the page').digest('hex');

  app.addHook('onRequest', async (request, reply) => {
    // The page itself needs no token, because it asks for the token.
    if (!isOfApi(request) || request.routeOptions.url === '/api/session') return;
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
    // Behind a TLS proxy: most proxies say so in a header, and browsers do.
    const isTls = request.protocol === 'https' || request.headers.origin?.startsWith('https:');
    const safe = isTls ? '; Secure' : '';
    const cookie = `${cookieName}=${session}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000${safe}`;
    return reply.header('set-cookie', cookie).send({});
  });
}

function refuse(reply: FastifyReply, status: number, body: { error: string; hint?: string }) {
  return reply.code(status).send(body);
}

/** Decides by the route, because an address can be spelt in many ways. */
function isOfApi({ routeOptions: { url } }: FastifyRequest): boolean {
  return url?.startsWith('/api/') ?? false;
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

/** Takes the same time for any input, so that the time reveals nothing about the secret. */
function isSame(given: string, secret: string): boolean {
  const digest = (text: string) => createHmac('sha256', secret).update(text).digest();
  return timingSafeEqual(digest(given), digest(secret));
}
