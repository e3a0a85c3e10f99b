import Fastify from 'fastify';
import type { Config } from '../config/environment.ts';
import { ConfigError } from '../errors.ts';
import { answerOwnNamesOnly } from '../own-names.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { migrationStatus } from '../warehouse/migrate.ts';
import { inTime, shared } from './in-time.ts';

/** OpenTelemetry's port for Prometheus, used if none is set. */
const usualPort = 9464;

/** In milliseconds, from the first byte of a request to its last. A scrape is one short request. */
const requestTime = 5_000;

/**
 * Serves `/metrics`, `/healthz` (the process is alive) and `/readyz` (503 if it should get no work).
 * @param port 0 for any; `undefined` for the usual one, or any if that is taken, for example by another worker on the
 * machine
 * @returns its address, such as `http://127.0.0.1:9464`
 * @throws ConfigError if host and port cannot be used
 */
export async function serveTelemetry(
  { host, port, names }: Config['metrics'],
  telling: {
    /** The format of `metrics`. */
    readonly contentType: string;
    readonly metrics: () => Promise<string>;
    readonly readiness: () => Promise<Readiness>;
  },
): Promise<{ readonly url: string } & AsyncDisposable> {
  const app = Fastify({
    forceCloseConnections: true,
    requestTimeout: requestTime,
    // Node's defaults would allow a request to take minutes.
    http: { headersTimeout: requestTime, connectionsCheckingInterval: 1_000 },
  });
  answerOwnNamesOnly(app, [host, ...names], 'Add the name to GMSI_METRICS_NAMES.');
  app.get('/metrics', async (_request, reply) =>
    reply.type(telling.contentType).send(await telling.metrics()),
  );
  app.get('/healthz', async () => ({ alive: true }));
  app.get('/readyz', async (_request, reply) => {
    const readiness = await telling.readiness();
    return reply.code(readiness.ready ? 200 : 503).send(readiness);
  });
  const listen = (on: number) => app.listen({ host, port: on });
  const url = await (port === undefined ? listen(usualPort).catch(() => listen(0)) : listen(port)).catch(
    (cause: Error) => {
      throw new ConfigError(`Metrics cannot be served on ${host}:${port ?? usualPort}: ${cause.message}`, {
        cause,
        hint: 'Set GMSI_METRICS_HOST and GMSI_METRICS_PORT (0: any free port).',
      });
    },
  );
  return { url, [Symbol.asyncDispose]: () => app.close() };
}

/** Whether this process may get work. */
export interface Readiness {
  readonly ready: boolean;
  /** Why not. */
  readonly reasons: readonly string[];
}

/** In milliseconds; probes wait for a few seconds, and this must be shorter. */
const patience = 3_000;

/** Checks that the warehouse answers, that its schema is current, and that the program is not shutting down. */
export function readinessReader(warehouse: Warehouse, stop: AbortSignal): () => Promise<Readiness> {
  // Shared, because otherwise every probe would hold a connection while the warehouse does not answer.
  const look = shared(() => migrationStatus(warehouse));

  return async () => {
    const reasons = stop.aborted ? ['shutting down'] : [];
    try {
      const migrations = await inTime(look(), patience);
      const missing = migrations.filter(({ executedAt }) => executedAt === undefined);
      if (missing.length > 0) reasons.push(`the schema lacks ${missing.map(({ name }) => name).join(', ')}`);
    } catch (error) {
      reasons.push(`the warehouse: ${(error as Error).message || 'no answer'}`);
    }
    return { ready: reasons.length === 0, reasons };
  };
}
