import { SingleBar } from 'cli-progress';
import type { Log } from '../log.ts';
import type { BackfillProgress } from '../pipeline/backfill.ts';
import { count, duration, number } from './table.ts';

/** Shows how a backfill goes on until it is disposed: a bar on a terminal, elsewhere a log line every few seconds. */
export function showProgress(
  job: string,
  read: () => BackfillProgress,
  log: Log,
  terminal: boolean,
): Disposable {
  const startedAt = performance.now();
  return terminal ? bar(job, read, startedAt) : lines(job, read, startedAt, log);
}

function bar(job: string, read: () => BackfillProgress, startedAt: number): Disposable {
  const view = new SingleBar({
    format: `${job}  {bar}  {value}/{total} windows  {details}`,
    barsize: 24,
    barCompleteChar: '█',
    barIncompleteChar: '░',
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
    stream: process.stderr,
  });
  const update = () => view.update(done(read()), { details: details(read(), startedAt) });
  view.start(read().windows, 0, { details: '' });
  const timer = setInterval(update, 200);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      update();
      view.stop();
    },
  };
}

function lines(job: string, read: () => BackfillProgress, startedAt: number, log: Log): Disposable {
  const timer = setInterval(() => {
    const progress = read();
    log.info(
      `${job}: ${number(done(progress))} of ${count(progress.windows, 'window')}, ${details(progress, startedAt)}`,
    );
  }, 5_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function done({ totals, windows }: BackfillProgress): number {
  // Another run may drain some of them, and a window that restarts is still one.
  return Math.min(windows, totals.windows_drained + totals.windows_failed);
}

function details(progress: BackfillProgress, startedAt: number): string {
  const { totals, windows } = progress;
  const seconds = (performance.now() - startedAt) / 1000;
  const parts = [
    `${number(totals.records)} records`,
    `${(totals.requests / Math.max(seconds, 1)).toFixed(1)} requests/s`,
    ...(totals.windows_failed > 0 ? [`${number(totals.windows_failed)} failed`] : []),
  ];
  const share = done(progress) / windows;
  if (share > 0.02 && share < 1) parts.push(`${duration((seconds / share) * (1 - share))} left`);
  return parts.join('  ');
}
