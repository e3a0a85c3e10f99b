import { createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Log } from '../log.ts';
import { Secret } from '../secret.ts';
import { answerOwnNamesOnly, bearerOf, createRefusalLog, isSame, limitStrangers } from '../server-guard.ts';

/** Who may use the server, and under which names. */
export interface Guard {
  /** Names besides `localhost`, addresses and the machine's own name under which browsers reach the page. */
  readonly names: readonly string[];
  /** `undefined` if anybody who reaches the port may use it. */
  readonly token: Secret | undefined;
  /** Receives refused tokens, by where they came from. */
  readonly log: Pick<Log, 'warn'>;
}

const cookieName = 'gmsi_session';

/**
 * Refuses requests that a page of another origin makes a browser send; another port of this host is another origin. If a token is
 * set, the API requires it, in a header or as the cookie that the server set for it.
 */
export function guard(app: FastifyInstance, { names, token, log }: Guard): void {
  const admit = limitStrangers(app.server);
  answerOwnNamesOnly(app, names, 'To add a name under which it answers: gmsi serve --name <name>');

  app.addHook('onRequest', async (request, reply) => {
    const { host, origin, 'sec-fetch-site': site = 'none' } = request.headers;
    const isForeign = origin !== undefined && hostOf(origin) !== hostOf(`http://${host}`);
    // Browsers send no origin with an image or a script. A link from elsewhere may open the page, which contains no data.
    const isEmbedded = isOfApi(request) && site !== 'none' && site !== 'same-origin';
    if (isForeign || isEmbedded) return refuse(reply, 403, { error: 'Requests of other sites are refused.' });
  });

  const session = token && sessionOf(token);
  const logRefusal = createRefusalLog(log);

  app.addHook('onRequest', async (request, reply) => {
    // The page itself needs no token, because it asks for the token.
    if (!isOfApi(request) || request.routeOptions.url === '/api/session') return;
    if (token && session) {
      const [shown, cookie] = [bearerOf(request), cookieOf(request)];
      const isRight = shown === undefined ? isSame(cookie ?? '', session) : isSame(shown, token);
      if (!isRight) {
        if (shown ?? cookie) logRefusal(request);
        return refuse(reply, 401, {
          error: 'The token is missing or wrong.',
          hint: 'Send it as "Authorization: Bearer …", or open the page in a browser and type it.',
        });
      }
    }
    admit(request);
  });

  if (!token || !session) return;
  app.post<{ Body: unknown }>('/api/session', { schema: { hide: true } }, async (request, reply) => {
    const given = (request.body as { token?: unknown } | null)?.token;
    if (typeof given !== 'string' || !isSame(given, token)) {
      logRefusal(request);
      return refuse(reply, 401, { error: 'This is not the token.' });
    }
    // Behind a TLS proxy: most proxies say so in a header, and browsers do.
    const isTls = request.protocol === 'https' || request.headers.origin?.startsWith('https:');
    const safe = isTls ? '; Secure' : '';
    const cookie = `${cookieName}=${session.reveal()}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000${safe}`;
    return reply.header('set-cookie', cookie).send({});
  });
}

/** What the cookie contains instead of the token. */
function sessionOf(token: Secret): Secret {
  return new Secret(createHmac('sha256', token.reveal()).update('session of the page').digest('hex'));
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

function cookieOf({ headers: { cookie } }: FastifyRequest): string | undefined {
  return new RegExp(`(?:^|; *)${cookieName}=([0-9a-f]+)`).exec(cookie ?? '')?.[1];
}
