import Fastify from 'fastify';
import { ConfigError } from '../errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { migrationStatus } from '../warehouse/migrate.ts';
import { inTime } from './tracing.ts';

/** What the server tells. */
export interface Telling {
  /** In the text format of Prometheus, which `contentType` names. */
  metrics(): Promise<string>;
  readonly contentType: string;
  readiness(): Promise<Readiness>;
}

export interface TelemetryServer extends AsyncDisposable {
  /** Such as `http://127.0.0.1:9464`. */
  readonly url: string;
}

/** OpenTelemetry's own port for Prometheus, where none is set. */
const usualPort = 9464;

/** What a client may take of the server at the most; times in milliseconds. */
export interface ServerBounds {
  /** From the first byte of a request to the last of its headers. */
  readonly headersMs: number;
  /** From the first byte of a request to its last. */
  readonly requestMs: number;
  /** From the last byte of a request to its answer, which is 503 then. */
  readonly answerMs: number;
  /** In which a connection that has something to send or to take moves nothing. */
  readonly idleMs: number;
  readonly connections: number;
}

/** A scrape is one short request; Prometheus itself waits 10 seconds for the answer. */
export const usualBounds: ServerBounds = {
  ...{ headersMs: 5_000, requestMs: 5_000, answerMs: 9_500, idleMs: 20_000, connections: 64 },
};

/** Of a request's headers, in bytes; browsers send some 2 kB. */
const maxHeaderBytes = 8_192;

/**
 * Serves `/metrics`, `/healthz` (the process lives) and `/readyz` (503 where work should not be sent here).
 * @param port 0 for any; `undefined` for the usual one, or any where that is taken, as by another worker on the machine
 * @throws ConfigError if host and port cannot be had
 */
export async function serveTelemetry(
  { host, port }: { readonly host: string; readonly port: number | undefined },
  telling: Telling,
  { headersMs, requestMs, answerMs, idleMs, connections }: ServerBounds = usualBounds,
): Promise<TelemetryServer> {
  const app = Fastify({
    forceCloseConnections: true,
    ...{ requestTimeout: requestMs, handlerTimeout: answerMs, connectionTimeout: idleMs },
    ...{ keepAliveTimeout: idleMs, bodyLimit: 1_024 },
    http: {
      headersTimeout: headersMs,
      maxHeaderSize: maxHeaderBytes,
      // Node looks at all connections this often; its own 30 seconds would be what a request may really take.
      connectionsCheckingInterval: Math.min(1_000, headersMs),
    },
  });
  // Further ones are closed at once, so that whoever holds many open takes no more than these.
  app.server.maxConnections = connections;
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
        hint: 'Set GMSI_METRICS_HOST and GMSI_METRICS_PORT (0: any free port), or --metrics-port.',
      });
    },
  );
  return { url, [Symbol.asyncDispose]: () => app.close() };
}

/** Whether work may be sent here. */
export interface Readiness {
  readonly ready: boolean;
  /** Why not. */
  readonly reasons: readonly string[];
}

/** Milliseconds; less than what asks for it waits, which is a second or a few. */
const patience = 3_000;

/** Looks whether the warehouse answers, its schema is this program's, and nobody has told the program to stop. */
export function readinessReader(warehouse: Warehouse, stop: AbortSignal): () => Promise<Readiness> {
  let looking: ReturnType<typeof migrationStatus> | undefined;

  return async () => {
    const reasons = stop.aborted ? ['shutting down'] : [];
    // Shared by all who ask meanwhile: else each of them would take a connection of a warehouse that does not answer.
    looking ??= migrationStatus(warehouse).finally(() => {
      looking = undefined;
    });
    try {
      const migrations = await inTime(looking, patience);
      const missing = migrations.filter(({ executedAt }) => executedAt === undefined);
      if (missing.length > 0) reasons.push(`the schema lacks ${missing.map(({ name }) => name).join(', ')}`);
    } catch (error) {
      reasons.push(`the warehouse: ${(error as Error).message || 'no answer'}`);
    }
    return { ready: reasons.length === 0, reasons };
  };
}
