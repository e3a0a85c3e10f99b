import { setMaxListeners } from 'node:events';
import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { expect, vi } from 'vitest';
import type { JobDefinition } from '../../src/config/job.ts';
import { jobFromDefinition } from '../../src/config/read-job.ts';
import type { Log } from '../../src/log.ts';
import { Secret } from '../../src/secret.ts';
import { countedAs, monthOf, requestLimit } from '../../src/service/budget.ts';
import { createLog } from '../../src/terminal/log.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { KeptProcess } from '../../src/warehouse/keep-process.ts';
import { usedRequests } from '../../src/warehouse/tables/requests.ts';
import { registerJob } from '../../src/warehouse/tables/schedules.ts';
import type { WorkerContext } from '../../src/worker/context.ts';
import type { JobFiles } from '../../src/worker/job-files.ts';
import { runWorker } from '../../src/worker/run-worker.ts';
import { aServiceFor, type ServiceSetting, usualClock } from './run-backfill.ts';
import type { TestWarehouse } from './test-warehouse.ts';

export interface WorkerInTest extends AsyncDisposable {
  /** Told to stop, as by SIGTERM; rejects with what it ended by, if it did not stop in order. */
  stop(): Promise<void>;
  readonly ended: Promise<void>;
}

export interface WorkerSetting extends Pick<ServiceSetting, 'sandbox' | 'apiKey' | 'aroundPage'> {
  readonly warehouse: Pick<TestWarehouse, 'db' | 'url'>;
  readonly clock?: () => Date;
  readonly concurrency?: number;
  readonly leaseSeconds?: number;
  readonly log?: Log;
  /** What the service's clock shows, if that is not what its own does. */
  readonly serviceClock?: () => Date;
  /** The job files that it has; none if not set, so that it runs every stored job. */
  readonly jobFiles?: JobFiles;
  /** For exports to S3. */
  readonly storage?: WorkerContext['storage'];
}

/** Starts a worker in this process, as `gmsi work` would. */
export function aWorker(setting: WorkerSetting): WorkerInTest {
  const { concurrency = 4, leaseSeconds = 10 } = setting;
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const context = aWorkerContext(setting, stop.signal);
  const identity = { command: 'work', run_by: 'test', version: 'test', concurrency };
  const ended = runWorker({
    ...context,
    identity,
    leaseSeconds,
  });
  ended.catch(() => {});
  return {
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

/** What the loads of a worker are given, for tests of one part alone. */
export function aWorkerContext(
  setting: WorkerSetting,
  stop: AbortSignal = new AbortController().signal,
): WorkerContext {
  const { warehouse, clock = usualClock } = setting;
  const { serviceClock = clock } = setting;
  const key = keyOf(setting);
  const { db } = warehouse;
  const raise = (error: unknown) => {
    throw error;
  };
  const log = setting.log ?? createLog({ level: 'silent', readable: false });
  return {
    process: { processId: 'a test', runBy: 'test', leaseSeconds: 10 } as KeptProcess,
    warehouse: db.patient({}),
    clock,
    stop,
    fail: raise,
    databaseClock: async () => clock(),
    longestRound: 100,
    jobFiles: setting.jobFiles ?? withJobFiles(),
    storage: setting.storage ?? { endpoint: undefined, region: undefined },
    log,
    openService: async (job, command) => {
      const limit = requestLimit(command, job.budget);
      const service = aServiceFor(job.service, limit, clock, { ...setting, db, serviceClock });
      return Object.assign(service, { log: log.child({ job: job.name }) });
    },
    readDefinition: (name, definition) => jobFromDefinition(name, definition, dayOf(clock())),
    usedRequests: () => usedRequests(db, countedAs(key), monthOf(clock())),
  };
}

/** Job files that nobody changes, of a worker that runs every stored job. */
export function withJobFiles(
  jobs: JobFiles['jobs'] = new Map(),
  register: JobFiles['register'] = async () => {},
): JobFiles {
  return {
    jobs,
    unreadable: [],
    running: null,
    isDue: () => false,
    readSoon() {},
    register,
    readAgain: async () => {},
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

/** Waits until the workers have made a whole round since now, and so have looked at the schedules. */
export async function aRound(db: Warehouse): Promise<void> {
  const beats = async () => {
    const { rows } = await sql<{ worker: string; at: string }>`
      select process_id as worker, heartbeat_at::text as at from gmsi.processes
      where command = 'work' and stopped_at is null order by 1`.execute(db);
    return rows;
  };
  await vi.waitFor(async () => expect(await beats(), 'a worker is registered').not.toEqual([]), 20_000);
  // The second heartbeat from now on comes after the round that the first one begins; another one may be sent meanwhile.
  for (let beat = 0; beat < 3; beat++) {
    const before = await beats();
    await vi.waitFor(
      async () => {
        const now = await beats();
        const hasBeaten = before.map(({ worker, at }) =>
          now.some((one) => one.worker === worker && one.at > at),
        );
        expect(hasBeaten).toEqual(before.map(() => true));
      },
      { timeout: 20_000, interval: 50 },
    );
  }
}

const patiently = { timeout: 40_000, interval: 20 };

/** Waits until so many loads have ended and no worker has a job, and returns them in order. */
export async function loadsEnded(db: Warehouse, atLeast = 1) {
  const inHand = db.selectFrom('gmsi.schedules').select('job').where('process_id', 'is not', null);
  const loads = db.selectFrom('gmsi.loads').select(['load_id', 'job', 'command', 'outcome', 'error']);
  return vi.waitFor(async () => {
    const busy = await inHand.execute();
    const ended = await loads.where('finished_at', 'is not', null).orderBy('load_id').execute();
    expect(ended.length).toBeGreaterThanOrEqual(atLeast);
    expect(busy).toEqual([]);
    return ended;
  }, patiently);
}

/** Waits until so many loads have begun. */
export async function loadsBegun(db: Warehouse, atLeast = 1): Promise<void> {
  const begun = db.selectFrom('gmsi.loads').select('load_id');
  await vi.waitFor(
    async () => expect((await begun.execute()).length).toBeGreaterThanOrEqual(atLeast),
    patiently,
  );
}

/** Waits until a job is paused. */
export async function pausedJob(db: Warehouse) {
  const all = db
    .selectFrom('gmsi.schedules')
    .select(['job', 'command', 'paused_because', 'pause_error', 'resumes_at', 'pauses'])
    .where('paused_because', 'is not', null);
  return vi.waitFor(async () => {
    const paused = await all.execute();
    expect(paused).toHaveLength(1);
    return paused[0]!;
  }, patiently);
}

/** Jobs that were found due, in the order in which a log has them. */
export function dueIn(lines: readonly Record<string, unknown>[]) {
  return lines.filter(({ msg }) => msg === 'due').map(({ job, command, since }) => ({ job, command, since }));
}
