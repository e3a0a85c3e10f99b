import Fastify from 'fastify';
import type { JobState } from '../answer/answer.ts';
import type { Config } from '../config/environment.ts';
import { ConfigError } from '../errors.ts';
import { inTime, shared } from '../in-time.ts';
import type { Log } from '../log.ts';
import type { Secret } from '../secret.ts';
import {
  answerOwnNamesOnly,
  bearerOf,
  createRefusalLog,
  isLoopback,
  isSame,
  limitStrangers,
  shortWaits,
} from '../server-guard.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { migrationStatus } from '../warehouse/migrate.ts';

/** OpenTelemetry's port for Prometheus, used if none is set. */
const usualPort = 9464;

/**
 * Serves `/metrics`, `/healthz` (the process is alive) and `/readyz` (503 if it should get no work). If a token is set, or if
 * other machines can connect, `/metrics` requires the token; the other two say nothing that is worth one.
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
    readonly token: Secret | undefined;
    readonly log: Pick<Log, 'warn'>;
  },
): Promise<{ readonly url: string } & AsyncDisposable> {
  const app = Fastify({
    forceCloseConnections: true,
    ...shortWaits,
  });
  const admit = limitStrangers(app.server);
  const logRefusal = createRefusalLog(telling.log);
  answerOwnNamesOnly(app, [host, ...names], 'Add the name to GMSI_METRICS_NAMES.');
  app.get('/metrics', async (request, reply) => {
    const { token, contentType } = telling;
    const shown = bearerOf(request);
    const isRight = token ? isSame(shown ?? '', token) : isLoopback(host);
    if (!isRight) {
      if (shown !== undefined) logRefusal(request);
      const hint = token
        ? 'Send it as "Authorization: Bearer …".'
        : 'Beyond loopback, metrics need a token: set GMSI_SERVE_TOKEN.';
      return reply.code(401).send({ error: 'The token is missing or wrong.', hint });
    }
    admit(request);
    return reply.type(contentType).send(await telling.metrics());
  });
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
  /** Why not, without details: whoever can connect may ask. */
  readonly reasons: readonly ('shutting down' | 'schema' | 'warehouse')[];
  /** How many jobs stand how, as in `gmsi status`; none before they are known. A worker with failing jobs may still get work. */
  readonly jobs: Readonly<Partial<Record<JobState, number>>>;
}

/** In milliseconds; probes wait for a few seconds, and this must be shorter. */
const patience = 3_000;

/** Milliseconds for which the states of the jobs are kept. */
const statesKeptFor = 60_000;

/**
 * Checks that the warehouse answers, that its schema is current, and that the program is not shutting down.
 * @param of `readStates` returns the state of each job; `log` receives what is wrong, when that changes
 */
export function readinessReader(
  warehouse: Warehouse,
  {
    stop,
    log,
    readStates,
  }: {
    readonly stop: AbortSignal;
    readonly log: Pick<Log, 'warn'>;
    readonly readStates: () => Promise<readonly JobState[]>;
  },
): () => Promise<Readiness> {
  let known: { readonly at: number; readonly jobs: Readiness['jobs'] } | undefined;
  const count = shared(async () => {
    const states = await readStates();
    const jobs = Object.fromEntries(
      states.map((one) => [one, states.filter((state) => state === one).length]),
    );
    known = { at: performance.now(), jobs };
  });
  // Shared, because otherwise every probe would hold a connection while the warehouse does not answer.
  const look = shared(() => migrationStatus(warehouse));
  let logged: string | undefined;

  async function lacking(): Promise<{ reason: 'schema' | 'warehouse'; why: string } | undefined> {
    try {
      const migrations = await inTime(look(), patience);
      const missing = migrations.filter(({ executedAt }) => executedAt === undefined);
      if (missing.length === 0) return undefined;
      return { reason: 'schema', why: `it lacks ${missing.map(({ name }) => name).join(', ')}` };
    } catch (error) {
      return { reason: 'warehouse', why: (error as Error).message || 'no answer' };
    }
  }

  return async () => {
    const lack = await lacking();
    if (lack && lack.why !== logged) log.warn(lack, 'not ready');
    logged = lack?.why;
    // Beside the answer, because a probe does not wait long.
    if (!lack && (!known || performance.now() - known.at > statesKeptFor))
      count().catch((error: Error) =>
        log.warn({ why: error.message }, 'the states of the jobs are not known'),
      );
    const reasons = [...(stop.aborted ? (['shutting down'] as const) : []), ...(lack ? [lack.reason] : [])];
    return { ready: reasons.length === 0, reasons, jobs: (lack ? undefined : known?.jobs) ?? {} };
  };
}
