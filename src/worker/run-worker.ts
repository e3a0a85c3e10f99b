import { addAbortListener, EventEmitter } from 'node:events';
import {
  type JobHelpers,
  parseCronItems,
  type WorkerEvents as QueueEvents,
  run as startQueue,
  type TaskList,
  type WorkerPool,
} from 'graphile-worker';
import type pg from 'pg';
import { type Clocks, watchClocks } from '../load/clocks.ts';
import { forLog, WarehouseUnavailable } from '../warehouse/errors.ts';
import { databaseTime } from '../warehouse/health.ts';
import { retried } from '../warehouse/retries.ts';
import { addTasks, queueSchema, taskNames } from '../warehouse/tables/queue.ts';
import type { WorkerContext } from './context.ts';
import { drain, live } from './drain.ts';
import { exportJob } from './export.ts';
import { openQueue, queueLog } from './open-queue.ts';
import { keepParts, type Parts } from './parts.ts';
import { plan } from './plan.ts';
import { tickTask } from './queue.ts';
import { keepRegistered, type WorkerIdentity } from './registry.ts';
import { tend } from './tend.ts';
import { tick } from './tick.ts';

export interface WorkerSetting extends Omit<WorkerContext, 'fail'> {
  /** Connections for the queue, apart from the warehouse's own; at least 3. */
  readonly pool: pg.Pool;
  readonly identity: Omit<WorkerIdentity, 'worker_id'>;
}

/** How long an idle worker waits before it checks whether a failed task is due again, in milliseconds. */
const pollInterval = 1_000;

/**
 * Works on due and queued tasks until it is stopped. Then commits the pages in flight, gives back the other windows and
 * tasks, and returns.
 * @throws if it cannot continue: the key is refused, or the warehouse no longer answers
 */
export async function runWorker(setting: WorkerSetting): Promise<void> {
  const { pool, log, events, identity } = setting;
  const warehouse = setting.warehouse.patient({ log });
  const failing = new AbortController();
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown) => {
    failure ??= { error };
    failing.abort();
  };
  const context: WorkerContext = {
    ...setting,
    warehouse,
    stop: AbortSignal.any([setting.stop, failing.signal]),
    fail,
  };
  const clocks = watchClocks({
    machine: setting.clock,
    service: () => undefined,
    log,
    database: setting.databaseClock ?? (() => databaseTime(warehouse)),
  });
  await clocks.compare();
  // With a wrong clock, schedules would run at the wrong times, and no day would count as covered.
  if (clocks.apart) throw clocks.apart;
  const parts = keepParts(context);
  const inHand = new Set<string>();

  try {
    await openQueue(warehouse, pool, log, setting.stop);
  } catch (error) {
    if (setting.stop.aborted) return;
    throw error;
  }
  const { runner, workerId } = await start(
    { ...context, clocks, parts, inHand },
    retryingPool(pool),
    identity.concurrency,
  );
  // If this threw, the queue would keep running, and its connections would keep the process from ending.
  const registered = await keepRegistered(context, { ...identity, worker_id: workerId }, parts, inHand).catch(
    (error: unknown) => {
      fail(error);
      return undefined;
    },
  );
  events.emit({ type: 'worker started', workerId, concurrency: identity.concurrency });
  log.info({ worker: workerId, concurrency: identity.concurrency }, 'working');
  // The queue ends by itself if it cannot store the results of its tasks.
  const died = () =>
    fail(new WarehouseUnavailable('The queue ended: the warehouse has not answered for minutes.'));
  runner.promise.then(() => context.stop.aborted || died(), fail);
  addTasks(warehouse, [tickTask]).catch(fail);

  await untilAborted(context.stop);
  await runner.stop().catch(fail);
  await runner.promise.catch(() => {});
  await parts.closeAll({ outcome: failure ? 'failed' : 'interrupted', error: failure?.error });
  await registered?.end();
  events.emit({ type: 'worker stopped', workerId, error: failure?.error });
  if (failure) throw failure.error;
}

interface TaskContext extends WorkerContext {
  readonly clocks: Clocks;
  readonly parts: Parts;
  /** Ids of the present tasks. */
  readonly inHand: Set<string>;
}

/** Starts to take tasks. Sets every option, so that graphile-worker takes none from its own files or variables. */
async function start(context: TaskContext, pgPool: pg.Pool, concurrency: number) {
  const events = new EventEmitter() as QueueEvents;
  let workerId = '';
  events.once('pool:create', ({ workerPool }: { workerPool: WorkerPool }) => {
    workerId = workerPool.id;
  });
  const runner = await startQueue({
    pgPool,
    schema: queueSchema,
    concurrency,
    pollInterval,
    events,
    noHandleSignals: true,
    logger: queueLog(context.log),
    // Once a minute, by one of all workers.
    parsedCronItems: parseCronItems([
      {
        task: taskNames.tick,
        match: '* * * * *',
        identifier: taskNames.tick,
        options: { jobKey: taskNames.tick, maxAttempts: 1, backfillPeriod: 0 },
      },
    ]),
    taskList: taskList(context),
    // A delay of 0 stores results in batches. Without batches, an error while storing a result is not caught and would end
    // the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  });
  return { runner, workerId };
}

function taskList(context: TaskContext): TaskList {
  const { clocks, log, events, parts, inHand } = context;
  const told =
    <Payload>(task: string, work: (payload: Payload, isLast: boolean) => Promise<void>) =>
    async (payload: unknown, { job }: JobHelpers) => {
      const { key } = job;
      const isLast = job.attempts >= job.max_attempts;
      const startedAt = performance.now();
      inHand.add(job.id);
      events.emit({ type: 'task started', task, key });
      try {
        await work(payload as Payload, isLast);
        events.emit({ type: 'task finished', task, key, ms: performance.now() - startedAt });
      } catch (cause) {
        const error = cause instanceof Error ? cause : new Error(String(cause));
        const what = { task, key, attempt: job.attempts, of: job.max_attempts, ...forLog(error) };
        if (isLast) log.warn(what, 'a task failed, and is not tried again');
        else log.debug(what, 'a task failed');
        events.emit({ type: 'task failed', task, key, error, isLast });
        throw error;
      } finally {
        inHand.delete(job.id);
      }
    };
  return {
    [taskNames.tick]: told(taskNames.tick, async () => {
      await clocks.compare();
      return clocks.apart ? context.fail(clocks.apart) : tick(context);
    }),
    [taskNames.plan]: told(taskNames.plan, (payload: Parameters<typeof plan>[1], isLast) =>
      plan(context, payload, isLast),
    ),
    [taskNames.tend]: told(taskNames.tend, (payload: Parameters<typeof tend>[2]) =>
      tend(context, parts, payload),
    ),
    [taskNames.drain]: told(taskNames.drain, (payload: Parameters<typeof drain>[2]) =>
      drain(context, parts, payload),
    ),
    [taskNames.live]: told(taskNames.live, (payload: Parameters<typeof live>[2]) =>
      live(context, parts, payload),
    ),
    [taskNames.export]: told(taskNames.export, (payload: Parameters<typeof exportJob>[1], isLast) =>
      exportJob(context, payload, isLast),
    ),
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((aborted) => {
    if (signal.aborted) aborted();
    else addAbortListener(signal, () => aborted());
  });
}

/**
 * Creates a pool that repeats statements while the warehouse restarts or cuts connections. Without it, graphile-worker 0.17.3
 * stops all work if it cannot store that a task is done; its batches are meant to retry, but throw at the first failure.
 * Repeating is safe, because each statement is one transaction that does nothing the second time.
 */
function retryingPool(pool: pg.Pool): pg.Pool {
  const query = (...statement: Parameters<pg.Pool['query']>) =>
    retried(() => pool.query(...statement) as unknown as Promise<pg.QueryResult>);
  const client = { query, release: () => {} };
  type Callback = Parameters<pg.Pool['connect']>[0];
  return Object.assign(Object.create(pool) as pg.Pool, {
    query,
    // graphile-worker passes a callback only to listen for new tasks. That needs a real connection, and it reconnects by
    // itself.
    connect: (callback?: Callback) => (callback ? pool.connect(callback) : Promise.resolve(client)),
    // No maximum, so that graphile-worker does not warn if there are more tasks than connections: statements wait for a
    // connection, and with fewer connections each, a server can have more workers.
    options: { ...pool.options, max: Number.POSITIVE_INFINITY },
  });
}
