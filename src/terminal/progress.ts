import type { Log } from '../log.ts';
import type { RunProgress } from '../pipeline/open-load.ts';
import type { StatusLine } from './status-line.ts';
import { count, duration, number } from './table.ts';

/** Where progress goes: a bar on the terminal, a log line every few seconds, or nowhere. */
export type ProgressView = StatusLine | 'lines' | 'none';

/** Shows how a backfill goes on until it is disposed. */
export function showProgress(job: string, read: () => RunProgress, log: Log, view: ProgressView): Disposable {
  const startedAt = performance.now();
  if (view === 'none') return { [Symbol.dispose]: () => {} };
  return view === 'lines' ? lines(job, read, startedAt, log) : bar(job, read, startedAt, view);
}

function bar(job: string, read: () => RunProgress, startedAt: number, view: StatusLine): Disposable {
  const draw = () => {
    const progress = read();
    const told = `${number(progress.done)}/${number(progress.all)} windows  ${details(progress, startedAt)}`;
    const room = view.width - job.length - told.length - 4;
    view.show(
      `${job}  ${room < barWidth.least ? '' : `${blocks(progress.done / progress.all, room)}  `}${told}`,
    );
  };
  draw();
  const timer = setInterval(draw, 200);
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer);
      view.clear();
    },
  };
}

/** In columns. A bar shorter than the least says less than the space that it takes. */
const barWidth = { least: 8, most: 32 };

function blocks(share: number, room: number): string {
  const width = Math.min(room, barWidth.most);
  const full = Math.floor(share * width);
  return '█'.repeat(full) + '░'.repeat(width - full);
}

function lines(job: string, read: () => RunProgress, startedAt: number, log: Log): Disposable {
  const timer = setInterval(() => {
    const progress = read();
    log.info(
      `${job}: ${number(progress.done)} of ${count(progress.all, 'window')}, ${details(progress, startedAt)}`,
    );
  }, 5_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function details(progress: RunProgress, startedAt: number): string {
  const { totals, done, all } = progress;
  const seconds = (performance.now() - startedAt) / 1000;
  const parts = [
    `${number(totals.records)} records`,
    `${(totals.requests / Math.max(seconds, 1)).toFixed(1)} requests/s`,
    ...(totals.windows_failed > 0 ? [`${number(totals.windows_failed)} failed`] : []),
  ];
  const share = done / all;
  if (share > 0.02 && share < 1) parts.push(`${duration((seconds / share) * (1 - share))} left`);
  return parts.join('  ');
}
