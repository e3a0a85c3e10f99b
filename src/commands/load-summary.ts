import type { Temporal } from 'temporal-polyfill';
import type { Cause } from '../answer/causes.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import { typedOptions } from '../config/typed.ts';
import { explain } from '../exit.ts';
import { ClocksApart } from '../load/clocks.ts';
import type { LoadResult } from '../load/load.ts';
import type { SyncResult } from '../load/sync.ts';
import type { ShortenedPeriod } from '../plan/days.ts';
import { settlingPart } from '../plan/scope.ts';
import { type Style, styled } from '../terminal/style.ts';
import { asTyped, count, counts, daysFrom, duration, facts, number, ofLimit } from '../terminal/table.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { describeCauses, describeNext } from './answer-tables.ts';

/** What a load of one job did, and the rest of the budget. */
export interface LoadSummary extends LoadResult {
  readonly job: Job;
  /** What a sync read from the live feed. */
  readonly live?: SyncResult['live'];
  /** The series that a sync skipped because they have had no news for long. */
  readonly seriesSkipped?: number;
  /** Another sync of the job was under way. */
  readonly isElsewhere?: boolean;
  /** The day of the load, in UTC. */
  readonly today: Temporal.PlainDate;
  readonly budget: {
    /** Requests booked this month with the key, by everybody. */
    readonly used: number;
    readonly limit: number;
  };
}

/** Describes what a load did; the reason of a failure comes first. */
export function describeSummary(summary: LoadSummary): string {
  const { job, scope, today, totals, seconds, loadId, outcome, live, error } = summary;
  const { used, limit } = summary.budget;
  if (summary.isElsewhere)
    return `${job.name}: another sync of this job is already running, so this one did nothing\n`;
  if (loadId === undefined && outcome === 'done') return describeNothingToDo(summary);
  const { records, rows_inserted, rows_changed, rows_retracted, records_rejected, records_outside } = totals;
  const unchanged = records - rows_inserted - rows_changed - records_rejected - records_outside;
  return `${[
    `${styled('bold', `${job.name}:`)} ${styled(headlineStyles[outcome], headline(summary))}`,
    ...(error && outcome !== 'interrupted' ? [explain(error, false).trimEnd()] : []),
    facts([
      ['windows', windowsByState(summary)],
      ['history limit', describeHistoryLimit(summary.historyLimit)],
      [
        'live',
        live && live.series + live.failed > 0
          ? counts([live.series, 'series answered'], [live.records, 'records'], [live.failed, 'failed'])
          : null,
      ],
      [
        'skipped',
        summary.seriesSkipped ? `${number(summary.seriesSkipped)} series without news for long` : null,
      ],
      ['requests', totals.requests || null],
      ['records', records || null],
      [
        'rows',
        records + rows_retracted === 0
          ? null
          : counts(
              [rows_inserted, 'new'],
              [rows_changed, 'changed'],
              [unchanged, 'already loaded'],
              [rows_retracted, 'retracted'],
            ),
      ],
      ['rejected', describeRejected(records_rejected, [summary])],
      [
        'not loaded',
        records_outside > 0
          ? `${count(records_outside, 'record')} of days that were not requested; ${asTyped('check')} shows the windows`
          : null,
      ],
      [
        'time',
        `${duration(seconds)}${records > 0 ? `, ${number(Math.round(records / seconds))} records/s` : ''}`,
      ],
      ['recent days', scope && outcome === 'done' ? describeSettling(settlingPart(scope, job, today)) : null],
      ['budget left', `${number(Math.max(0, limit - used))} of ${number(limit)} requests this month`],
    ]),
  ].join('\n\n')}\n`;
}

/** Returns what a load did, as JSON. */
export function summaryAsJson(summary: LoadSummary) {
  const { job, scope, error, today: _, ...rest } = summary;
  return {
    job: job.name,
    ...rest,
    rejectedValues: Object.fromEntries(rest.rejectedValues),
    // Spread, because `requests` is a getter.
    totals: { ...rest.totals },
    period: scope ? { from: scope.from, to: scope.to } : null,
    historyLimit: rest.historyLimit ?? null,
    error: error instanceof Error ? error.message : null,
  };
}

/** Lists what is to be done after loads, with the next command: if nothing else is, a check, or the load again if it did not end well. */
export function describeAfter(
  causes: readonly Cause[],
  loaded: readonly LoadSummary[],
  command: string,
): string {
  const toDo = causes.filter(({ severity }) => severity !== 'note');
  const ended = loaded.filter(({ isElsewhere }) => !isElsewhere);
  const first = ended.find(({ outcome }) => outcome !== 'done') ?? ended[0];
  if (!first) return '';
  const { path, part } = first.job;
  const otherwise = `${first.outcome === 'done' ? 'check' : command} ${typedJob(path)}${typedOptions(part)}`;
  return `${toDo.length > 0 ? `\nTo do\n${describeCauses(toDo)}\n` : ''}${describeNext(toDo, otherwise)}`;
}

/** Describes rejected records and values: `2 records, 3 values of headline_count (null); see gmsi.rejected_records`. */
export function describeRejected(
  records: number,
  loads: readonly Pick<LoadSummary, 'rejectedValues'>[],
): string | null {
  const values = loads
    .flatMap(({ rejectedValues }) => [...rejectedValues])
    .map(([column, many]) => `${count(many, 'value')} of ${column} (null)`);
  const all = [...(records > 0 ? [count(records, 'record')] : []), ...values];
  return all.length > 0 ? `${all.join(', ')}; see gmsi.rejected_records` : null;
}

const headlineStyles: Readonly<Record<LoadOutcome, Style>> = {
  done: 'green',
  incomplete: 'yellow',
  budget: 'yellow',
  interrupted: 'yellow',
  failed: 'red',
};

function headline(summary: LoadSummary): string {
  const left = count(openWindows(summary), 'window');
  switch (summary.outcome) {
    case 'done':
      if (summary.seriesSkipped) return 'done, every series that was due is up to date';
      // Days before the sync's first one may be missing.
      return summary.live && summary.scope
        ? `done, every day since ${summary.scope.from} is loaded`
        : 'done, every requested day is loaded';
    case 'incomplete':
      if (summary.error instanceof ClocksApart) return 'loaded, but no day counts as covered';
      if (openWindows(summary) > 0) return `not complete, ${left} left`;
      return summary.error || summary.windows.refused === 0
        ? 'not complete'
        : 'complete, except for refused windows';
    case 'budget':
      return `stopped at the request budget, ${left} left`;
    case 'interrupted':
      return `interrupted, ${left} left; run it again to continue`;
    case 'failed':
      return 'failed';
  }
}

function describeNothingToDo(summary: LoadSummary): string {
  const { job, live, totals, budget, scope, historyLimit } = summary;
  const spent =
    totals.requests === 0 ? 'no request was sent' : `${count(totals.requests, 'request')} sent for lookups`;
  const limit = describeHistoryLimit(historyLimit);
  // A sync does not look for missing days of a period that is over.
  const ofPeriod = live ? 'nothing to sync, because its period is over' : 'everything is covered';
  const what = historyLimit && !scope ? 'nothing to request' : ofPeriod;
  const used = `${ofLimit(budget.used, budget.limit)} used this month`;
  return [
    `${styled('bold', `${job.name}:`)} ${what}, ${spent} (${used})`,
    ...(limit ? [`history limit ${limit}`] : []),
    '',
  ].join('\n');
}

function windowsByState({ totals, windows }: LoadSummary): string {
  const { failed, refused, pending, draining } = windows;
  return counts(
    [totals.windows_drained, 'drained'],
    [failed, 'failed'],
    [refused, 'refused'],
    [pending + draining, 'left'],
  );
}

/** Describes days that are loaded, but may still change and are therefore not covered. */
export function describeSettling(days: { from: string; to: string } | null | undefined): string | null {
  return days ? `${daysFrom(days.from, days.to)} may still change; the next load loads them again` : null;
}

function openWindows({ windows }: LoadSummary): number {
  return windows.pending + windows.draining + windows.failed;
}

/** Returns `2025-11-21, from the job file: 3,610 earlier days are not requested`; `undefined` if nothing is shortened. */
export function describeHistoryLimit(limit: ShortenedPeriod | undefined): string | undefined {
  if (!limit) return undefined;
  const { firstDay, by, days } = limit;
  const from = by === 'job' ? 'from the job file' : 'as a probe has learned';
  return `${firstDay}, ${from}: ${count(days, 'earlier day')} ${days === 1 ? 'is' : 'are'} not requested`;
}
