import { hostname } from 'node:os';
import type { Temporal } from 'temporal-polyfill';
import type { Config } from './config/environment.ts';
import type { Job, ServiceSettings } from './config/job.ts';
import { proxyName } from './config/proxies.ts';
import { readJob } from './config/read-job.ts';
import type { WarehouseAddress } from './config/warehouse-address.ts';
import { ConfigError, sentence } from './errors.ts';
import { feedNamed } from './feeds/catalog.ts';
import { type Log, sayIfSlow } from './log.ts';
import { version } from './package.ts';
import { dayAt, wantedDays } from './plan/days.ts';
import { missingLists, scopeOf } from './plan/scope.ts';
import type { Secret } from './secret.ts';
import { isReadableOnTheWay } from './service/address.ts';
import type { Client, ClientEvent } from './service/client.ts';
import { DoubtfulAnswer } from './service/errors.ts';
import type { AnsweredAddresses } from './service/first-contact.ts';
import { openPermits, type Permits, unlimited } from './service/permits.ts';
import type { ProgressView } from './terminal/progress.ts';
import { asTyped, count } from './terminal/table.ts';
import { checkServer, connect, type PatientWarehouse, type Warehouse } from './warehouse/connect.ts';
import { findRemains } from './warehouse/embedded/remove.ts';
import { useEmbeddedServer } from './warehouse/embedded/server.ts';
import { type KeptProcess, keepProcess } from './warehouse/keep-process.ts';
import { migrate, olderSchema, schemaState } from './warehouse/migrate.ts';
import { readStandby } from './warehouse/standby.ts';
import type { StoredLookups } from './warehouse/tables/lookups.ts';
import { hasAnswered } from './warehouse/tables/origin.ts';
import type { WindowScope } from './warehouse/tables/series.ts';

/** The configuration, log, clock and stop signal that every command receives. */
export interface Session {
  readonly config: Config;
  readonly log: Log;
  readonly clock: () => Date;
  readonly stop: AbortSignal;
  /** Whether to print the result as one JSON document instead of text. */
  readonly json: boolean;
  readonly progress: ProgressView;
  readonly schemaUse: SchemaUse;
  /** Receives the client's events, for metrics. */
  readonly onClientEvent?: (event: ClientEvent) => void;
}

/**
 * What a command may do to the warehouse's schema:
 * - `reads`: it needs a current one, even if it writes rows
 * - `makes embedded`: the same, but it makes the embedded warehouse if there is none
 * - `upgrades`: it creates the schema, or upgrades it
 */
export type SchemaUse = 'reads' | 'makes embedded' | 'upgrades';

export type OpenWarehouse = Awaited<ReturnType<typeof openWarehouse>>;

/** Shared by all clients of the process: `gmsi work` opens one for each load. */
const answered: AnsweredAddresses = new Set();

/** Host, process and version, as stored with each load. */
export const runBy = `${hostname()} ${process.pid}, gmsi ${version}`;

/** The most connections to the warehouse. */
export const usualConnections = 6;

/**
 * Opens the warehouse that the environment names, or starts the embedded one.
 * @param schema `current`: upgraded first if the command may do that, else refused if it is not current; `as-is`: not looked at
 * @throws ConfigError if there is no warehouse, and the command may not make one
 */
export async function openWarehouse(
  session: Session,
  schema: 'current' | 'as-is' = 'current',
  connections = usualConnections,
) {
  if (session.schemaUse === 'reads') refuseNoWarehouse(session);
  const { address, description, release } = await warehouseAddress(session);
  const db = connect(address, connections);
  // A connection that breaks after the first answer is a restart, not a wrong address.
  const patient = db.patient({ log: session.log, signal: session.stop });
  const close = async () => {
    await db.destroy();
    await release();
  };
  try {
    const sayWaiting = () => session.log.info(`waiting for ${description}: it has not answered yet`);
    await sayIfSlow(sayWaiting, () => checkServer(db));
    await prepareSchema(session, patient, description, schema);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    db,
    /** Repeats what a restart interrupts, until the command is stopped. */
    patient,
    address,
    /** Set for the embedded server and for DATABASE_URL; `PG*` variables are read by pg itself. */
    url: address.kind === 'url' ? address.url : undefined,
    /** For a person, without a password. */
    description,
    [Symbol.asyncDispose]: close,
  };
}

/** @throws ConfigError if the schema is not current, and the command may not change that */
async function prepareSchema(
  { schemaUse, config, log, stop }: Session,
  warehouse: PatientWarehouse,
  description: string,
  schema: 'current' | 'as-is',
): Promise<void> {
  const makesEmbedded = schemaUse === 'makes embedded' && config.warehouse.kind === 'embedded';
  if (schema === 'as-is' && !makesEmbedded) return;
  const state = await schemaState(warehouse);
  if (state === 'current') return;
  if (schemaUse === 'upgrades' || (makesEmbedded && state === 'absent')) {
    const applied = await migrate(warehouse, { log, stop, leaseSeconds: config.leaseSeconds });
    const did = state === 'absent' ? 'created' : 'upgraded';
    // Another process may have been faster.
    if (applied.length > 0) log.info({ migrations: applied }, `the schema was ${did} in ${description}`);
  } else if (schema === 'current') {
    if (state === 'older') throw await olderSchema(warehouse);
    throw new ConfigError(`Nothing is loaded into ${description} yet.`, {
      hint: 'Set DATABASE_URL to the database of your loads. For a first load, create the schema: gmsi migrate',
    });
  }
}

/** Opens the warehouse for a command that only reads: the standby, if the environment names one. */
export async function openToRead(session: Session, schema: 'current' | 'as-is' = 'current') {
  const { standby } = session.config;
  const warehouse = standby
    ? await openWarehouseAt(session, standby, 'GMSI_READ_DATABASE_URL', schema)
    : await openWarehouse(session, schema);
  try {
    return { ...warehouse, standby: await readStandby(warehouse.patient) };
  } catch (error) {
    await warehouse[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Opens a warehouse at another address than the usual one.
 * @param name where the address comes from, for errors, whose hints name the setting of the usual one
 */
export async function openWarehouseAt(
  session: Session,
  address: WarehouseAddress,
  name: string,
  schema: 'current' | 'as-is',
): Promise<OpenWarehouse> {
  const at = { ...session, config: { ...session.config, warehouse: address } };
  return await openWarehouse(at, schema).catch((error: unknown) => {
    if (!(error instanceof ConfigError)) throw error;
    const hint = [error.hint, `The address in use is ${name}.`].filter(Boolean).join(' ');
    throw new ConfigError(error.message, { cause: error, hint });
  });
}

/** Refuses if the embedded server has no data: a command that only reads would make an empty one, maybe in the wrong folder. */
function refuseNoWarehouse({ config }: Session): void {
  if (config.warehouse.kind !== 'embedded' || findRemains(config.home).clusters.length > 0) return;
  throw new ConfigError(`Nothing is loaded yet: there is no warehouse in ${config.home}.`, {
    hint:
      'Run gmsi lookups or a load, which make it; or run the command in the folder of your loads, ' +
      'or set GMSI_HOME or DATABASE_URL.',
  });
}

/** Finds the warehouse's address, and starts the embedded server if none is set; it runs until `release`. */
async function warehouseAddress({ config, log, stop }: Session) {
  const { warehouse } = config;
  const release = async () => {};
  if (warehouse.kind === 'pg-environment') {
    return { address: warehouse, description: 'the database of the PG* variables', release };
  }
  if (warehouse.kind === 'url') {
    const { hostname: host, port, pathname } = new URL(warehouse.url.reveal());
    const database = decodeURIComponent(pathname.slice(1)) || '(default)';
    return {
      address: warehouse,
      description: `database ${database} on ${decodeURIComponent(host)}${port && `:${port}`}`,
      release,
    };
  }
  const server = await useEmbeddedServer(config.home, { log, stop }, config.embeddedIdleSeconds);
  return {
    address: { kind: 'url' as const, url: server.url },
    description: `the embedded PostgreSQL in ${server.location.cluster}`,
    release: () => server[Symbol.asyncDispose](),
  };
}

/**
 * Registers this process, so that it can own work.
 * @param command as listed in `gmsi.processes`
 */
export function keepThisProcess(
  { config, log }: Session,
  warehouse: PatientWarehouse,
  command: string,
): Promise<KeptProcess> {
  const about = { command, run_by: runBy, version, concurrency: null };
  const { leaseSeconds } = config;
  return keepProcess(warehouse, about, { leaseSeconds, log });
}

/** Returns the current day in UTC. */
export function today({ clock }: Session): Temporal.PlainDate {
  return dayAt(clock());
}

/** Reads and checks all job files, before the first request. */
export async function readJobs(session: Session, names: readonly string[]): Promise<Job[]> {
  return Promise.all(names.map((name) => readJob(name, today(session))));
}

/**
 * Returns the service's address and key.
 * @throws ConfigError if one is not set, or if the key would be sent unencrypted
 */
export function serviceAccess({ config }: Session): { baseUrl: string; apiKey: Secret } {
  const { baseUrl, apiKey } = config;
  if (!baseUrl || !apiKey) {
    const missing = [...(apiKey ? [] : ['GMSI_API_KEY']), ...(baseUrl ? [] : ['GMSI_BASE_URL'])].join(
      ' and ',
    );
    throw new ConfigError(`${missing} is not set.`.replace(/ and (.*) is/, ' and $1 are'), {
      hint: `${asTyped('init')} sets them up, with or without a key.`,
    });
  }
  for (const [name, url] of Object.entries({
    GMSI_BASE_URL: baseUrl,
    GMSI_LIVE_BASE_URL: config.liveBaseUrl,
  })) {
    const proxy = url === undefined ? undefined : config.proxyFor?.(url);
    if (url === undefined || config.sendKeyUnencrypted || !isReadableOnTheWay(url, proxy)) continue;
    if (!isReadableOnTheWay(url))
      throw new ConfigError(
        `${name} is ${url}: the key would be sent unencrypted to the proxy ${proxyName(proxy!)}.`,
        { hint: `Add ${new URL(url).hostname} to NO_PROXY, so that it is reached directly.` },
      );
    throw new ConfigError(`${name} is ${url}: the key would be sent unencrypted.`, {
      hint: 'Use https://. If nobody else can read the network, set GMSI_SEND_KEY_UNENCRYPTED=true.',
    });
  }
  return { baseUrl, apiKey };
}

/**
 * Opens a client whose requests share budget and rate with all processes of the same key.
 * @param budget the most requests of a month
 * @param cap limits the requests of this run; see `capRequests`
 */
export async function openService(
  session: Session,
  warehouse: Warehouse,
  settings: ServiceSettings,
  budget: number,
  cap: (permits: Permits) => Permits = (permits) => permits,
) {
  const { apiKey } = serviceAccess(session);
  const patient = warehouse.patient({ signal: session.stop });
  const permits = openPermits(patient, apiKey, { ...settings, budget, clock: session.clock });
  const recall = (address: string) => hasAnswered(patient, address);
  const client = await openClient(session, settings, cap(permits), recall);
  return {
    client,
    /** The log of the client; a load adds its number to it, so that what is said of its requests has it, too. */
    log: session.log,
    /** Requests that all processes of the key have booked this month. */
    used: permits.used,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** Opens a client that books nothing: for the one request of `gmsi doctor`, if the warehouse cannot book it. */
export function openUncounted(session: Session, settings: ServiceSettings): Promise<Client> {
  return openClient(session, settings, unlimited);
}

async function openClient(
  session: Session,
  settings: ServiceSettings,
  permits: Permits,
  recall?: (address: string) => Promise<boolean>,
): Promise<Client> {
  // undici takes a tenth of a second, and most commands send nothing.
  const { createClient } = await import('./service/client.ts');
  const onEvent = (event: ClientEvent) => {
    logEvent(session.log, event);
    session.onClientEvent?.(event);
  };
  return createClient({
    ...serviceAccess(session),
    liveBaseUrl: session.config.liveBaseUrl,
    proxyFor: session.config.proxyFor,
    userAgent: `gmsi-etl/${version}`,
    settings,
    permits,
    answered,
    ...(recall && { recall }),
    onEvent,
  });
}

function logEvent(log: Log, event: ClientEvent): void {
  if (event.type === 'request') log.trace(event, 'answered');
  else if (event.type === 'retry') {
    const { path, attempt, delayMs, reason } = event;
    // The first retries take a second or two; later ones explain a long wait. A doubt may be right.
    const level = reason instanceof DoubtfulAnswer ? 'warn' : attempt < 3 ? 'debug' : 'info';
    log[level](
      { path },
      `${sentence(reason.message)} Try ${attempt + 1} follows in ${(delayMs / 1000).toFixed(1)} s.`,
    );
  } else if (event.type === 'key refused') log.debug(event, 'the service refused the API key');
  else if (event.type === 'key echoed')
    log.warn('the service sends the API key back among its data; [key] is stored instead. Tell the vendor');
  else
    log.warn(
      `the service asked to slow down: pausing ${Math.ceil(event.pauseMs / 1000)} s, ` +
        `then ${count(event.concurrency, 'request')} at a time`,
    );
}

/**
 * Resolves a job's series by the stored lookups, without a request.
 * @param verb what the command does, for the error message, such as `check`
 * @throws ConfigError if the lookups were never loaded
 */
export function knownScope(session: Session, job: Job, lookups: StoredLookups, verb: string): WindowScope {
  if (missingLists(feedNamed(job.feed), lookups).length > 0) {
    throw new ConfigError(`${job.name} has not been loaded yet, so there is nothing to ${verb}.`, {
      hint: 'Run gmsi lookups, or load the job first.',
    });
  }
  // Job files with a start in the future are refused, so a period always has a day.
  return scopeOf(job, wantedDays(job, today(session))!, lookups);
}
