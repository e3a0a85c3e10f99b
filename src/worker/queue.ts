import { type LogFunctionFactory, Logger, runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { ConfigError } from '../errors.ts';
import type { Series } from '../feeds/feed.ts';
import type { Log } from '../log.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { withWarehouseRetries } from '../warehouse/retries.ts';
import { ownsQueue, type QueuedTask, queueSchema, taskNames } from '../warehouse/tables/queue.ts';
import type { OfJob } from './context.ts';

/** Lower ones go first. Tasks that queue others are short and must not wait behind them. */
const priorities = { upkeep: 0, sync: 10, backfill: 20 } as const;

/** How often a window or live answer is tried in one run, with waits of 3, 7, 20 and 55 s in between. */
const tries = 5;

/** Series of a live task, which are also the most answers that a killed worker loses. */
const liveSeriesATask = 50;

export interface PlanPayload extends OfJob {}

export interface ExportPayload {
  readonly job: string;
}

export interface RunPayload {
  readonly run: number;
}

export interface DrainPayload extends RunPayload {
  readonly window: number;
}

export interface LivePayload extends RunPayload {
  readonly part: number;
  readonly command: JobCommand;
  readonly series: readonly Series[];
}

/** Checks every schedule. */
export const tickTask: QueuedTask = {
  ...{ task: taskNames.tick, payload: {}, key: taskNames.tick },
  ...{ priority: priorities.upkeep, maxAttempts: 1 },
};

/** Plans a run of a job. */
export function planTask({ job, command }: OfJob, delaySeconds = 0): QueuedTask {
  const payload: PlanPayload = { job, command };
  return {
    ...{ task: taskNames.plan, payload, key: `plan:${command}:${job}`, delaySeconds },
    ...{ priority: priorities.upkeep, maxAttempts: tries },
  };
}

/** Keeps tasks of a run queued, and ends it. */
export function tendTask(run: number, delaySeconds = 0): QueuedTask {
  const payload: RunPayload = { run };
  return {
    ...{ task: taskNames.tend, payload, key: `tend:${run}`, delaySeconds },
    ...{ priority: priorities.upkeep, maxAttempts: tries },
  };
}

/** How the windows of a run are queued. */
export function drainTasks(run: number, command: JobCommand) {
  return { runId: run, priority: priorities[command], maxAttempts: tries, label: runLabel(run) };
}

/** Live answers of a run. @param firstPart number of the first task, for its key */
export function liveTasks(
  run: number,
  command: JobCommand,
  series: readonly Series[],
  firstPart = 0,
): QueuedTask[] {
  const parts = Math.ceil(series.length / liveSeriesATask);
  return Array.from({ length: parts }, (_, index) => {
    const part = firstPart + index;
    const own = series.slice(index * liveSeriesATask, (index + 1) * liveSeriesATask);
    const payload: LivePayload = { run, part, command, series: own };
    return {
      ...{ task: taskNames.live, payload, key: `live:${run}:${part}`, label: runLabel(run) },
      ...{ priority: priorities[command], maxAttempts: tries },
    };
  });
}

/** Exports a job to the places that it names. */
export function exportTask(job: string): QueuedTask {
  const payload: ExportPayload = { job };
  return {
    ...{ task: taskNames.export, payload, key: `export:${job}` },
    ...{ priority: priorities.backfill, maxAttempts: tries },
  };
}

/** The label by which a run's tasks are counted and withdrawn. */
export function runLabel(run: number): string {
  return `gmsi.run:${run}`;
}

/**
 * Installs graphile-worker's schema, or brings it to the version in use; processes that start together wait for each other.
 * Each of its migrations is a transaction, so one that a broken connection cuts short is tried again on another connection.
 * @throws ConfigError if the user may not do that, or if somebody else owns the schema, whose rows only its owner sees; the
 * signal's reason if it is aborted while the warehouse does not answer
 */
export async function openQueue(
  warehouse: Warehouse,
  pool: pg.Pool,
  log: Log,
  stop: AbortSignal,
): Promise<void> {
  await withWarehouseRetries(() => migrateQueue(pool, log), stop);
  const isOurs = await withWarehouseRetries(() => ownsQueue(warehouse), stop);
  if (!isOurs) throw mayNot('it belongs to another user');
}

async function migrateQueue(pool: pg.Pool, log: Log): Promise<void> {
  try {
    await runMigrations({ pgPool: pool, schema: queueSchema, logger: queueLog(log) });
  } catch (error) {
    throw (error as { code?: string }).code === '42501' ? mayNot((error as Error).message, error) : error;
  }
}

function mayNot(why: string, cause?: unknown): ConfigError {
  return new ConfigError(`The warehouse's user may not use the queue, schema ${queueSchema}: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    hint: `It must own the schema, or be granted the role that owns it; to create it, it needs CREATE on the database.`,
  });
}

/** graphile-worker's log as entries of ours. Failed tasks are reported elsewhere, with their meaning. */
export function queueLog(log: Log): Logger {
  const factory: LogFunctionFactory = (scope) => (level, message, meta) => {
    const about = { from: 'graphile-worker', ...(scope.label ? { part: scope.label } : {}) };
    if (level === 'error' && meta?.failure !== true) log.warn(about, message);
    else if (level === 'warning') log.warn(about, message);
    else log.trace(about, message);
  };
  return new Logger(factory);
}
