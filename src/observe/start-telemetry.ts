import { standingsReader } from '../answer/standing.ts';
import type { Config } from '../config/environment.ts';
import type { Job } from '../config/job.ts';
import { shared } from '../in-time.ts';
import type { Log } from '../log.ts';
import type { ClientEvent } from '../service/client.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { answerFor, checkAlerts, watchKey } from './alerts.ts';
import { createMetrics } from './metrics.ts';
import { readinessReader, serveTelemetry } from './server.ts';
import { createWarehouseGauges } from './warehouse-gauges.ts';

export interface TelemetryOptions {
  readonly config: Pick<
    Config,
    'apiKey' | 'alertWebhook' | 'proxyFor' | 'metrics' | 'leaseSeconds' | 'serveToken'
  >;
  readonly warehouse: Warehouse;
  /** Host, process and version. */
  readonly runBy: string;
  readonly log: Log;
  readonly clock: () => Date;
  /** The jobs that this worker or others run, read each time. */
  readonly jobs: () => Promise<readonly Job[]>;
  /** Jobs whose files this worker cannot read. */
  readonly unreadable?: () => readonly string[];
  /** Aborted once the program shuts down: from then on it is not ready. */
  readonly stop: AbortSignal;
}

/** Milliseconds between two checks for alerts. */
const checkEvery = 60_000;

/**
 * Serves metrics and health, and posts alerts, until disposed of. Close it after the work and before the warehouse.
 * @throws ConfigError if the port is taken
 */
export async function startTelemetry(options: TelemetryOptions) {
  const { config, warehouse, runBy, log, jobs, unreadable, stop, clock } = options;
  const metrics = createMetrics();
  const { registry, onClientEvent } = metrics;
  const key = watchKey();
  const readStandings = standingsReader(warehouse, { ...config, clock });
  const { leaseSeconds } = config;
  const refresh = createWarehouseGauges(registry, { warehouse, readStandings, jobs, leaseSeconds, log });
  async function readStates() {
    const { jobs: shown } = await answerFor(warehouse, await readStandings(await jobs()));
    // Those with a last good version have an alert.
    const others = (unreadable?.() ?? []).filter((name) => shown.every(({ job }) => job !== name));
    return [...shown.map(({ state }) => state), ...others.map(() => 'failing' as const)];
  }
  const server = await serveTelemetry(config.metrics, {
    contentType: registry.contentType,
    async metrics() {
      await refresh();
      return registry.metrics();
    },
    readiness: readinessReader(warehouse, { stop, log, readStates }),
    token: config.serveToken,
    log,
  });
  log.info({ url: server.url }, 'serving /metrics, /healthz and /readyz');

  const closing = new AbortController();
  async function checkNow(): Promise<void> {
    try {
      const { signal } = closing;
      const by = { warehouse, config, clock, readStandings, runBy, log, signal };
      await checkAlerts(await jobs(), { ...by, key: key.standing, unreadable: unreadable?.() });
    } catch (error) {
      log.warn({ why: (error as Error).message }, 'alerts could not be checked');
    }
  }
  const checkOnce = shared(checkNow);
  let checking: Promise<void> | undefined;
  const check = () => {
    checking = checkOnce();
    return checking;
  };
  const timer = setInterval(check, checkEvery);

  return {
    /** The address of `/metrics`, `/healthz` and `/readyz`. */
    url: server.url,
    onClientEvent(event: ClientEvent): void {
      key.onClientEvent(event);
      onClientEvent(event);
    },
    /** Checks for alerts now, instead of within the minute. */
    checkAlerts: check,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      metrics[Symbol.dispose]();
      if (key.standing?.refusedWith) {
        // A refused key ends the process, and perhaps no other process reports it. A check that began earlier does not know
        // of it.
        await checking;
        await check();
      }
      closing.abort();
      await Promise.all([checking, server[Symbol.asyncDispose]()]);
    },
  };
}

export type Telemetry = Awaited<ReturnType<typeof startTelemetry>>;
