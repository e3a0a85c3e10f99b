import { setMaxListeners } from 'node:events';
import { Temporal } from 'temporal-polyfill';
import type { Sandbox } from '#sandbox';
import type { Job } from '../../src/config/job.ts';
import { parseJob } from '../../src/config/read-job.ts';
import { type BackfillContext, backfill } from '../../src/load/backfill.ts';
import type { LoadContext, LoadResult } from '../../src/load/load.ts';
import { type SyncUnlessRunning, syncUnlessRunning } from '../../src/load/sync.ts';
import { Secret } from '../../src/secret.ts';
import { type Client, type ClientEvent, createClient } from '../../src/service/client.ts';
import type { Page, ServiceRequest } from '../../src/service/page.ts';
import { openPermits, type Permits } from '../../src/service/permits.ts';
import { createLog } from '../../src/terminal/log.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aProcess } from './a-process.ts';
import type { TruthScope } from './truth.ts';

/** A job as its file's text, unlimited in rate so that tests are bound by nothing but the machine. */
export function aJob(overrides: Record<string, unknown> = {}, today = '2026-11-20'): Job {
  const file = {
    countries: ['US', 'NO'],
    topics: ['Inflation-Food', 'Governance/Corruption'],
    start_date: '2024-01-01',
    end_date: '2024-12-31',
    ...overrides,
    service: {
      rate: 'unlimited',
      max_attempts: 4,
      concurrency: 2,
      ...(overrides.service as object | undefined),
    },
  };
  return parseJob(
    { path: 'test.yaml', name: 'test', text: JSON.stringify(file) },
    Temporal.PlainDate.from(today),
  );
}

/** A job for exactly the days and series of which a test compares the truth. */
export function aJobFor(
  { countries, topics, matchType = 'COMBINED', from, to }: TruthScope,
  overrides: Record<string, unknown> = {},
  today?: string,
): Job {
  const scope = { countries, topics, match_type: matchType, start_date: from, end_date: to };
  return aJob({ ...scope, ...overrides }, today);
}

/** Loads every day again. */
export const refresh = { fullRefresh: true, retryRefused: false };

/** When tests load, unless they name another time. Feeds that reach back 90 days have what the tests load. */
export const usualClock = () => new Date('2026-11-20T12:00:00Z');

export interface ServiceSetting {
  readonly db: Warehouse;
  readonly sandbox: Pick<Sandbox, 'url'>;
  readonly apiKey?: string;
  /** Limits the requests of the run; see `capRequests`. */
  readonly cap?: (permits: Permits) => Permits;
  /** Stands around every page that is asked for: to wait before it, look at it, or hold it back. */
  readonly aroundPage?: (ask: () => Promise<Page>, request: ServiceRequest) => Promise<Page>;
  readonly onClientEvent?: (event: ClientEvent) => void;
  /**
   * What time it is at the service from its first answer on, if that is not what the run's clock shows; nothing, or what its
   * answers really say.
   */
  readonly serviceClock?: 'unknown' | 'as answered' | (() => Date);
  /** Who the client says answers, if that is not the sandbox. */
  readonly servedBy?: Client['servedBy'];
}

export interface BackfillSetting
  extends ServiceSetting,
    Partial<Omit<BackfillContext, 'job' | 'warehouse' | 'client' | 'process'>> {
  readonly job: Job;
  readonly leaseSeconds?: number;
}

/** Runs a backfill as `gmsi backfill` would, in this process. */
export function runBackfill(setting: BackfillSetting): Promise<LoadResult> {
  const { plan = { fullRefresh: false, retryRefused: false } } = setting;
  return withContext(setting, (context) => backfill({ ...context, plan }));
}

/** Runs a sync as `gmsi sync` would, in this process. */
export function runSync(setting: BackfillSetting): Promise<SyncUnlessRunning> {
  return withContext(setting, syncUnlessRunning);
}

async function withContext<Result>(
  setting: BackfillSetting,
  run: (context: LoadContext) => Promise<Result>,
): Promise<Result> {
  const { job, db, sandbox, apiKey, cap, aroundPage, servedBy, serviceClock, onClientEvent, ...context } =
    setting;
  const { clock = usualClock } = context;
  const limit = job.budget.requestsPerMonth - job.budget.reserve;
  await using service = aServiceFor(job.service, limit, clock, setting);
  await using process = await aProcess(db, context);
  const stop = new AbortController().signal;
  setMaxListeners(0, stop);
  return await run({
    job,
    warehouse: db.patient({ signal: context.stop ?? stop, ...(context.log && { log: context.log }) }),
    client: service.client,
    clock,
    stop,
    process,
    log: createLog({ level: 'silent', readable: false }),
    ...context,
  });
}

/** Stops a run that is given this while its nth page is under way. */
export function stoppedAt(page: number): Pick<BackfillSetting, 'stop' | 'aroundPage'> {
  const stop = new AbortController();
  let asked = 0;
  const aroundPage = (ask: () => Promise<Page>) => {
    if (++asked === page) stop.abort();
    return ask();
  };
  return { stop: stop.signal, aroundPage };
}

/** The client of a load, with a budget of so many requests a month. */
export function aServiceFor(
  settings: Job['service'],
  budget: number,
  clock: () => Date,
  setting: ServiceSetting,
): { readonly client: Client } & AsyncDisposable {
  const { db, sandbox, apiKey = 'sandbox-key', aroundPage = (ask) => ask(), onClientEvent } = setting;
  const { servedBy, serviceClock = clock, cap = (permits) => permits } = setting;
  const key = new Secret(apiKey);
  const permits = cap(openPermits(db.patient({}), key, { ...settings, budget, clock }));
  const client = createClient({
    baseUrl: sandbox.url,
    apiKey: key,
    settings,
    permits,
    userAgent: 'test',
    patience: { firstDelayMs: 1, maxDelayMs: 20, rateLimitPauseMs: [10, 20] },
    ...(onClientEvent && { onEvent: onClientEvent }),
  });
  return {
    client: {
      ...client,
      getPage: (request, signal, envelope) =>
        aroundPage(() => client.getPage(request, signal, envelope), request),
      get requests() {
        return client.requests;
      },
      get servedBy() {
        return servedBy ?? client.servedBy;
      },
      get serviceTime() {
        if (serviceClock === 'as answered') return client.serviceTime;
        const isUnknown = serviceClock === 'unknown' || client.servedBy === undefined;
        return isUnknown ? undefined : { date: serviceClock(), mayBeLaterMs: 0 };
      },
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
