import { createHash } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { constants } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import fastifyHelmet from '@fastify/helmet';
import fastifyStatic from '@fastify/static';
import fastifySwagger from '@fastify/swagger';
import { stringify } from 'csv-stringify/sync';
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import { jsonSchemaTransform, validatorCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ConfigError, GmsiError } from '../errors.ts';
import { withoutFormulas } from '../formulas.ts';
import { shared } from '../in-time.ts';
import type { Log } from '../log.ts';
import { version } from '../package.ts';
import { controls, longest, sqlText, stateOf } from '../questions/reading.ts';
import { shortWaits } from '../server-guard.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { namedDatabaseError } from '../warehouse/errors.ts';
import { type Answer, answerOf, type Endpoint } from './endpoint.ts';
import { type Guard, guard } from './guard.ts';

/** In milliseconds, or numbers of connections. A browser opens about six connections. */
const bounds = { silence: 60_000, connections: 200, asking: 32 };

export interface WebOptions extends Guard {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** The folder of the built page. */
  readonly page: string;
  readonly endpoints: readonly Endpoint[];
  /** Also receives internal errors, which answers do not show. */
  readonly log: Pick<Log, 'error' | 'warn'>;
}

/**
 * Serves the page, and its API below `/api/`: each endpoint as JSON, with the ending `.csv` as CSV, and with `.sql` as its query.
 * @throws ConfigError if host and port cannot be used
 */
export async function serveWeb(
  warehouse: Warehouse,
  { host, port, page, endpoints, log, ...who }: WebOptions,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const app = Fastify({
    forceCloseConnections: true,
    ...shortWaits,
    connectionTimeout: bounds.silence,
    bodyLimit: 4_096,
    // Only the protocol depends on this; a false header changes only the sender's own cookie.
    trustProxy: true,
    routerOptions: { maxParamLength: 500 },
  });
  app.server.maxConnections = bounds.connections;
  app.setValidatorCompiler(validatorCompiler);
  // The schemas of answers are for readers and tests. Checking each answer would cost more than reading it.
  app.setSerializerCompiler(() => (answer) => JSON.stringify(answer));
  app.setErrorHandler(errorAnswer(log));
  guard(app, { ...who, log });
  await app.register(fastifyHelmet, {
    contentSecurityPolicy: { useDefaults: false, directives: policy },
    // The page is served over plain HTTP; a TLS proxy sets this header.
    strictTransportSecurity: false,
  });
  // The fastest levels: brotli's default took seven times as long and saved 6%.
  await app.register(fastifyCompress, {
    threshold: 1_024,
    zlibOptions: { level: 1 },
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } },
  });
  await app.register(fastifySwagger, {
    openapi: {
      info: {
        title: 'gmsi serve',
        version,
        description: 'The contents of the warehouse, as the page shows them.',
      },
    },
    transform: jsonSchemaTransform,
  });
  const asked = { now: 0 };
  for (const one of endpoints) addEndpoint(app, one, warehouse, asked);
  // Each page asks every second, and asks its questions again when it has changed. One look at a time serves them all.
  const look = shared(() => stateOf(warehouse));
  app.get('/api/state', { schema: { hide: true } }, async (_request, reply) =>
    reply.header('cache-control', 'no-store').send({ state: hash((await look()).state) }),
  );
  app.get('/api/openapi.json', { schema: { hide: true } }, async () => app.swagger());
  app.get('/api/*', { schema: { hide: true } }, async (_request, reply) =>
    reply.code(404).send({ error: 'There is no such address.', hint: '/api/openapi.json lists them all.' }),
  );
  await app.register(fastifyStatic, {
    root: page,
    cacheControl: false,
    etag: true,
    preCompressed: true,
    // The names of assets contain a hash of their content.
    setHeaders: (reply, path) =>
      reply.setHeader('cache-control', isAsset(path) ? 'private, max-age=31536000, immutable' : 'no-cache'),
  });
  const url = await app.listen({ host, port }).catch((cause: Error) => {
    throw new ConfigError(`The page cannot be served on ${host}:${port}: ${cause.message}`, {
      cause,
      hint: 'Choose another --port; 0 takes a free one.',
    });
  });
  return { url, [Symbol.asyncDispose]: () => app.close() };
}

/** Allows nothing from other origins and nothing inline. */
const policy = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'connect-src': ["'self'"],
  'font-src': ["'self'"],
  'manifest-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'self'"],
  'frame-ancestors': ["'none'"],
};

type Form = 'json' | 'csv' | 'sql';

function addEndpoint(
  app: FastifyInstance,
  one: Endpoint,
  warehouse: Warehouse,
  asked: { now: number },
): void {
  const { path, about, takes, row, isLive, answer: how } = one;
  const answer = (form: Form) => async (request: FastifyRequest, reply: FastifyReply) => {
    if (asked.now >= bounds.asking)
      return reply.code(503).header('retry-after', '1').send({ error: 'Too many queries at once.' });
    asked.now += 1;
    try {
      reply.header('cache-control', isLive ? 'no-store' : 'private, no-cache');
      // Each answer says up to when it has everything. Asked before the answer, which is never older than that.
      const { state, asOf, isStandby } = await stateOf(warehouse);
      if (asOf) reply.header('gmsi-as-of', asOf.toISOString());
      if (isStandby) reply.header('gmsi-complete-to', asOf?.toISOString() ?? 'unknown');
      if (!isLive) {
        const etag = `W/"${hash(version, request.url, state)}"`;
        reply.header('etag', etag);
        if (request.headers['if-none-match'] === etag) return reply.code(304).send();
      }
      const { raw = false, ...taken } = request.query as { raw?: boolean };
      if (form === 'sql' && 'ask' in how)
        return reply
          .type('text/plain; charset=utf-8')
          .send(sqlText(warehouse, await how.ask(taken as never)));
      const found = await answerOf(warehouse, one, taken);
      if (form === 'json') return reply.send(found);
      return (
        reply
          .type('text/csv; charset=utf-8')
          // Without a name, which would win over that of the page's link.
          .header('content-disposition', 'attachment')
          .send(asCsv(found, raw))
      );
    } finally {
      asked.now -= 1;
    }
  };
  const response = z.object({
    columns: z.tuple(Object.keys(row.shape).map((column) => z.literal(column)) as [z.ZodLiteral]),
    rows: z.array(z.tuple(Object.values(row.shape) as [z.ZodType])),
  });
  app.get(
    `/api/${path}`,
    { schema: { summary: about, querystring: takes, response: { 200: response } } },
    answer('json'),
  );
  const inForm = (form: Form) => ({
    schema: { summary: `${about} (${form.toUpperCase()})`, querystring: takes, hide: true },
  });
  const csv = inForm('csv');
  csv.schema.querystring = takes.safeExtend({ raw: z.stringbool().default(false) });
  app.get(`/api/${path}.csv`, csv, answer('csv'));
  if ('ask' in how) app.get(`/api/${path}.sql`, inForm('sql'), answer('sql'));
}

/**
 * Writes an answer as CSV with one line a row: control characters become spaces.
 * @param raw keeps texts that a spreadsheet would run; otherwise they get an apostrophe
 */
function asCsv({ columns, rows }: Answer, raw: boolean): string {
  const string = (text: string) => {
    const line = text.replace(controls, ' ');
    return raw ? line : withoutFormulas(line);
  };
  return stringify([columns, ...rows], {
    cast: { string, date: (moment) => moment.toISOString() },
  });
}

function hash(...texts: readonly string[]): string {
  return createHash('sha256').update(texts.join('\n')).digest('base64url').slice(0, 22);
}

/** Sends an error as JSON: what is wrong, and what to do. Internal errors are logged and not sent. */
const errorAnswer =
  (log: WebOptions['log']) => (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
    const refuse = (status: number, error: string, hint?: string) => reply.code(status).send({ error, hint });
    const { validation, statusCode, message } = error;
    const code: string = error.code;
    if (validation) {
      const problems = validation.map(({ instancePath, message }) => {
        const name = instancePath?.split('/').filter(Boolean).join('.');
        return `${name ? `${name}: ` : ''}${message}`;
      });
      return refuse(400, problems.join(' '), '/api/openapi.json says what each address takes.');
    }
    if (code === '57014')
      return refuse(
        504,
        `The answer took longer than ${longest} seconds.`,
        'Choose a shorter period or fewer series.',
      );
    // gmsi.moment() knows no such name.
    if (code === 'P0002') return refuse(400, `as_of: ${message}`, 'gmsi snapshot lists the names.');
    if (code === '42501')
      return refuse(403, `The database user of gmsi serve may not see ${request.routeOptions.url}.`);
    if (statusCode !== undefined && statusCode < 500) return refuse(statusCode, message);
    // Logs the route, because an address can contain anything.
    log.error({ err: error, path: request.routeOptions.url }, 'the page cannot answer a question');
    const why = 'The log of gmsi serve says why.';
    if (namedDatabaseError(error) instanceof GmsiError)
      return refuse(503, 'The warehouse does not answer.', why);
    return refuse(500, 'The query failed because of an error in the program.', why);
  };

function isAsset(path: string): boolean {
  return basename(dirname(path)) === 'assets';
}
