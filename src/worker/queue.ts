import type { Series } from '../feeds/feed.ts';
import type { JobCommand } from '../warehouse/database.ts';
import { type QueuedTask, taskNames } from '../warehouse/tables/queue.ts';
import type { OfJob } from './context.ts';

/** Lower numbers go first. Tasks that queue other tasks are short and must not wait behind those. */
const priorities = { upkeep: 0, sync: 10, backfill: 20, refresh: 30 } as const;

/** How often a window or live answer is tried in one run, with waits of 3, 7, 20 and 55 s in between. */
const tries = 5;

/** Series per live task. A killed worker loses at most this many answers. */
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
  task: taskNames.tick,
  payload: {},
  key: taskNames.tick,
  priority: priorities.upkeep,
  maxAttempts: 1,
};

/** Plans a run of a job. */
export function planTask({ job, command }: OfJob, delaySeconds = 0): QueuedTask {
  const payload: PlanPayload = { job, command };
  return {
    task: taskNames.plan,
    payload,
    key: `plan:${command}:${job}`,
    delaySeconds,
    priority: priorities.upkeep,
    maxAttempts: tries,
  };
}

/** Keeps tasks of a run queued, and ends it. */
export function tendTask(run: number, delaySeconds = 0): QueuedTask {
  const payload: RunPayload = { run };
  return {
    task: taskNames.tend,
    payload,
    key: `tend:${run}`,
    delaySeconds,
    priority: priorities.upkeep,
    maxAttempts: tries,
  };
}

/** Returns how the windows of a run are queued. */
export function drainTasks(run: number, command: JobCommand) {
  return { runId: run, priority: priorities[command], maxAttempts: tries, label: runLabel(run) };
}

/** Returns the tasks that read the live answers of a run. @param firstPart number of the first task, for its key */
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
      task: taskNames.live,
      payload,
      key: `live:${run}:${part}`,
      label: runLabel(run),
      priority: priorities[command],
      maxAttempts: tries,
    };
  });
}

/** Exports a job to the places that it names. */
export function exportTask(job: string): QueuedTask {
  const payload: ExportPayload = { job };
  return {
    task: taskNames.export,
    payload,
    key: `export:${job}`,
    priority: priorities.backfill,
    maxAttempts: tries,
  };
}

/** Returns the label by which a run's tasks are counted and withdrawn. */
export function runLabel(run: number): string {
  return `gmsi.run:${run}`;
}
