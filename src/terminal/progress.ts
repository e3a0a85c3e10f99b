import type { Log } from '../log.ts';
import type { StatusLine } from './status-line.ts';
import { count, duration, number } from './table.ts';
import { columnsOf, cutToFit } from './text.ts';

/** Where progress goes: a bar on the terminal, a log line every few seconds, or nowhere. */
export type ProgressView = StatusLine | 'lines' | 'none';

/** The part of a load's progress that is shown. */
interface Progress {
  readonly totals: { readonly records: number; readonly requests: number; readonly windows_failed: number };
  readonly done: number;
  readonly all: number;
}

/** Progress with the share of the load that is done, half-drained windows included. */
type Shown = Progress & { readonly share: number };

/** Shows the progress of a backfill until disposed. */
export function showProgress(job: string, given: () => Progress, log: Log, view: ProgressView): Disposable {
  const read = movingWithPages(given);
  const startedAt = performance.now();
  const steps = showSteps(log, view);
  steps.show((width) =>
    width === undefined ? line(job, read(), startedAt) : bar(job, read(), startedAt, width),
  );
  return steps;
}

/**
 * Adds the windows that are half drained, so that a bar moves with each request: estimated by the requests since the last
 * window ended, and those that a window has needed so far.
 */
function movingWithPages(read: () => Progress): () => Shown {
  let ended = { done: 0, requests: 0 };
  return () => {
    const progress = read();
    const { done, all, totals } = progress;
    if (done !== ended.done) ended = { done, requests: totals.requests };
    const begun = (totals.requests - ended.requests) / (done > 0 ? Math.max(1, ended.requests / done) : 10);
    return { ...progress, share: Math.min(1, (done + begun / (1 + begun)) / all) };
  };
}

function bar(name: string, progress: Shown, startedAt: number, width: number): string {
  const windows = `${number(progress.done)}/${number(progress.all)} windows`;
  const told = cutToFit([name, windows, ...details(progress, startedAt)].join('  '), width);
  const room = width - columnsOf(told) - 2;
  return room < barWidth.least ? told : `${blocks(progress.share, room)}  ${told}`;
}

function line(job: string, progress: Shown, startedAt: number): string {
  const windows = `${number(progress.done)} of ${count(progress.all, 'window')}`;
  return `${job}: ${[windows, ...details(progress, startedAt)].join(', ')}`;
}

/** In columns. A bar shorter than `least` is not worth its space. */
const barWidth = { least: 8, most: 32 };

function blocks(share: number, room: number): string {
  const width = Math.min(room, barWidth.most);
  const full = Math.floor(share * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

/** Returns the details in the order of their importance for a person. */
function details(progress: Shown, startedAt: number): string[] {
  const { totals, share } = progress;
  const seconds = (performance.now() - startedAt) / 1000;
  return [
    totals.windows_failed > 0 ? `${number(totals.windows_failed)} failed` : '',
    share > 0.02 && share < 1 ? `${duration((seconds / share) * (1 - share))} left` : '',
    `${number(totals.records)} records`,
    `${(totals.requests / Math.max(seconds, 1)).toFixed(1)} requests/s`,
  ].filter((text) => text !== '');
}

/**
 * Shows the progress of a command until disposed: on a terminal all the time, elsewhere every few seconds.
 * @returns `show` takes what is shown from now on; it is made when it is shown, for the width of a terminal or for the log
 */
export function showSteps(
  log: Log,
  view: ProgressView,
): Disposable & { show(step: (width?: number) => string): void } {
  let told = (_?: number) => '';
  const draw = () => {
    const text = told(typeof view === 'object' ? view.width : undefined);
    if (typeof view === 'object') view.show(text);
    else if (text !== '') log.info(text);
  };
  const timer = view === 'none' ? undefined : setInterval(draw, view === 'lines' ? 5_000 : 200);
  return {
    show(step) {
      told = step;
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      if (typeof view === 'object') view.clear();
    },
  };
}
