import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { expect, vi } from 'vitest';
import type { JobDefinition } from '../../src/config/job.ts';
import { jobFromDefinition } from '../../src/config/read-job.ts';
import type { Log } from '../../src/log.ts';
import { keyFingerprint, monthOf, openBudget, requestLimit } from '../../src/rate/budget.ts';
import { sharedLimiter } from '../../src/rate/shared-rate.ts';
import type { Sandbox } from '../../src/sandbox/index.ts';
import { Secret } from '../../src/secret.ts';
import { createClient } from '../../src/service/client.ts';
import type { Page } from '../../src/service/page.ts';
import { createLog } from '../../src/terminal/log.ts';
import { openPool, type Warehouse } from '../../src/warehouse/connect.ts';
import { registerJob } from '../../src/warehouse/tables/jobs.ts';
import { addTasks } from '../../src/warehouse/tables/queue.ts';
import { usedRequests } from '../../src/warehouse/tables/requests.ts';
import { runsUnderWay } from '../../src/warehouse/tables/runs.ts';
import { createWorkerEvents, type WorkerContext, type WorkerEvent } from '../../src/worker/context.ts';
import { openQueue } from '../../src/worker/open-queue.ts';
import { plan } from '../../src/worker/plan.ts';
import { tickTask } from '../../src/worker/queue.ts';
import { runWorker } from '../../src/worker/run-worker.ts';
import { aWarehouse, type TestWarehouse } from './test-warehouse.ts';

export interface WorkerInTest extends AsyncDisposable {
  /** Its events so far. */
  readonly events: readonly WorkerEvent[];
  /** Told to stop, as by SIGTERM; rejects with what it ended by, if it did not stop in order. */
  stop(): Promise<void>;
  readonly ended: Promise<void>;
}

/** A warehouse in which workers have been at work before: installing their queue takes longer than most tests. */
export function aWarehouseWithQueue(): Promise<TestWarehouse> {
  return aWarehouse({ prepare: installQueue });
}

async function installQueue({ db, url }: Pick<TestWarehouse, 'db' | 'url'>): Promise<void> {
  const pool = openPool({ kind: 'url', url: new Secret(url) }, 1);
  await openQueue(db, pool, createLog({ level: 'silent', readable: false }), new AbortController().signal);
  await pool.end();
}

export interface WorkerSetting {
  readonly warehouse: Pick<TestWarehouse, 'db' | 'url'>;
  readonly sandbox: Pick<Sandbox, 'url'>;
  readonly clock?: () => Date;
  readonly concurrency?: number;
  readonly leaseSeconds?: number;
  readonly apiKey?: string;
  readonly log?: Log;
  /** What the other clocks show, if that is not what its own does. */
  readonly databaseClock?: () => Date;
  readonly serviceClock?: () => Date;
  /** The job files that it has. */
  readonly ownJobs?: WorkerContext['ownJobs'];
  /** For exports to S3. */
  readonly storage?: WorkerContext['storage'];
  /** Stands around every page that is asked for. */
  readonly aroundPage?: (ask: () => Promise<Page>) => Promise<Page>;
}

const usualClock = () => new Date('2026-11-20T12:00:00Z');

/** Starts a worker in this process, as `gmsi work` would. */
export function aWorker(setting: WorkerSetting): WorkerInTest {
  const { warehouse, concurrency = 4 } = setting;
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const { emitted, ...context } = aWorkerContext(setting, stop.signal);
  const pool = openPool({ kind: 'url', url: new Secret(warehouse.url) }, 3);
  const key_fingerprint = keyFingerprint(keyOf(setting));
  const identity = { run_by: 'test', version: 'test', key_fingerprint, concurrency };
  const hurrying = new AbortController();
  void hurry(warehouse.db, hurrying.signal);
  const ended = runWorker({ ...context, pool, identity }).finally(() => {
    hurrying.abort();
    return pool.end();
  });
  ended.catch(() => {});
  return {
    events: emitted,
    ended,
    async stop() {
      stop.abort();
      await ended;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended.catch(() => {});
    },
  };
}

/** Lets nothing wait for its time but what failed before: else a worker looks after a run once a second. */
async function hurry(db: Warehouse, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    // Before the queue is installed, and while a test breaks connections, there is none.
    await sql`
      with hurried as (
        update graphile_worker._private_jobs set run_at = now()
        where run_at > now() and attempts = 0 and locked_at is null returning id
      )
      select pg_notify('jobs:insert', '{"count": 1}') from hurried limit 1
    `
      .execute(db)
      .catch(() => {});
    await sleep(100, undefined, { signal: over }).catch(() => {});
  }
}

/** What the tasks of a worker are given, for tests that run one task alone; `emitted` holds the events so far. */
export function aWorkerContext(
  setting: WorkerSetting,
  stop: AbortSignal = new AbortController().signal,
): WorkerContext & { readonly emitted: readonly WorkerEvent[] } {
  const { warehouse, sandbox, clock = usualClock, leaseSeconds = 10, aroundPage } = setting;
  const { databaseClock = clock, serviceClock = clock } = setting;
  const key = keyOf(setting);
  const { db } = warehouse;
  const emitted: WorkerEvent[] = [];
  const raise = (error: unknown) => {
    throw error;
  };
  const events = createWorkerEvents(raise);
  events.subscribe((event) => emitted.push(event));
  const patience = { firstDelayMs: 1, maxDelayMs: 20, rateLimitPauseMs: [10, 20] as const };
  return {
    ...{ warehouse: db, clock, leaseSeconds, stop, runBy: 'test', events, emitted, fail: raise },
    ownJobs: setting.ownJobs ?? new Map(),
    storage: setting.storage ?? { endpoint: undefined, region: undefined },
    databaseClock: async () => databaseClock(),
    log: setting.log ?? createLog({ level: 'silent', readable: false }),
    openService(job, command) {
      const budget = openBudget(db.patient({}), key, requestLimit(command, job.budget), clock);
      const client = createClient({
        ...{
          baseUrl: sandbox.url,
          apiKey: key,
          settings: job.service,
          budget: budget,
          limiter: sharedLimiter(db.patient({}), key, job.service),
          userAgent: 'test',
          patience,
        },
      });
      return {
        client: {
          ...client,
          getPage: (...args) => (aroundPage ?? ((ask) => ask()))(() => client.getPage(...args)),
          get servedBy() {
            return client.servedBy;
          },
          get serviceTime() {
            // As of its first answer.
            return client.servedBy && { date: serviceClock(), mayBeLaterMs: 0 };
          },
        },
        budget,
        async [Symbol.asyncDispose]() {
          await client.close();
          await budget.settle();
        },
      };
    },
    readDefinition: (name, definition) => jobFromDefinition(name, definition, dayOf(clock())),
    usedRequests: () => usedRequests(db, keyFingerprint(key), monthOf(clock())),
  };
}

function keyOf({ apiKey = 'sandbox-key' }: WorkerSetting): Secret {
  return new Secret(apiKey);
}

function dayOf(now: Date) {
  return Temporal.PlainDate.from(now.toISOString().slice(0, 10));
}

/** Registers a job as a worker that has its file does. Its schedule is the definition's. */
export async function registered(
  db: Warehouse,
  job: string,
  definition: object,
  at = usualClock(),
): Promise<void> {
  const { schedule } = jobFromDefinition(job, definition as JobDefinition, dayOf(at));
  const { sync = null, backfill = null, refresh = null, timezone = 'UTC' } = schedule ?? {};
  await registerJob(
    db,
    { job, definition: definition as JobDefinition, schedule: { sync, backfill, refresh, timezone } },
    { at, by: 'test' },
  );
}

/** A run of a job's backfill that is planned, but that nobody works on yet; and what a worker's tasks are given. */
export async function aPlannedRun(setting: WorkerSetting, job: string, definition: object) {
  const context = aWorkerContext(setting);
  await registered(setting.warehouse.db, job, definition, new Date('2026-11-19T20:00:00Z'));
  await plan(context, { job, command: 'backfill' }, false);
  const [run] = await runsUnderWay(setting.warehouse.db);
  return { context, runId: run!.run_id };
}

/** Lets a worker look at the schedules, as it does every minute; even if one is about to. @returns the task's key */
export async function tickNow(db: Warehouse): Promise<string> {
  const key = `${tickTask.key} ${randomUUID()}`;
  await addTasks(db, [{ ...tickTask, key }]);
  return key;
}

/** Waits until a worker has sent this many events of a kind, and returns them. */
export async function told<Type extends WorkerEvent['type']>(
  workers: WorkerInTest | readonly WorkerInTest[],
  type: Type,
  atLeast = 1,
): Promise<readonly Extract<WorkerEvent, { type: Type }>[]> {
  const all = () =>
    [workers].flat().flatMap(({ events }) => events.filter((event) => event.type === type)) as Extract<
      WorkerEvent,
      { type: Type }
    >[];
  await vi.waitFor(() => expect(all().length, type).toBeGreaterThanOrEqual(atLeast), {
    timeout: 40_000,
    interval: 20,
  });
  return all();
}
