import Fastify from 'fastify';
import { ConfigError } from '../errors.ts';
import type { Readiness } from './readiness.ts';

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
export const usualPort = 9464;

/**
 * Serves `/metrics`, `/healthz` (the process lives) and `/readyz` (503 where work should not be sent here).
 * @param port 0 for any; `undefined` for the usual one, or any where that is taken, as by another worker on the machine
 * @throws ConfigError where host and port cannot be had
 */
export async function serveTelemetry(
  { host, port }: { readonly host: string; readonly port: number | undefined },
  telling: Telling,
): Promise<TelemetryServer> {
  const app = Fastify({ forceCloseConnections: true });
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
