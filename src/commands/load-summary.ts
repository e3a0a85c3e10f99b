import type { Temporal } from 'temporal-polyfill';
import { cureOf, cureOfEmptied, isTemporary, sayCure } from '../answer/cures.ts';
import { typedJob } from '../config/find-job-file.ts';
import type { Job } from '../config/job.ts';
import type { JobPart } from '../config/part-of-job.ts';
import { typedOptions } from '../config/typed.ts';
import { JobMismatch } from '../errors.ts';
import { explain } from '../exit.ts';
import { ClocksApart } from '../load/clocks.ts';
import type { LoadResult } from '../load/load.ts';
import type { SyncResult } from '../load/sync.ts';
import { lacksDays } from '../plan/completeness.ts';
import type { ShortenedPeriod } from '../plan/days.ts';
import { settlingPart } from '../plan/scope.ts';
import type { Failures } from '../questions/coverage.ts';
import type { EmptiedDays } from '../questions/emptied.ts';
import type { Completeness } from '../questions/status.ts';
import { type Style, styled } from '../terminal/style.ts';
import {
  asTyped,
  count,
  counts,
  daysFrom,
  duration,
  facts,
  nextStep,
  number,
  ofLimit,
  sayingAsTyped,
} from '../terminal/table.ts';
import type { LoadOutcome } from '../warehouse/database.ts';
import { askedAgain } from '../warehouse/tables/refusals.ts';
import { seriesIn } from '../warehouse/tables/series.ts';

/** What a load of one job did, and the rest of the budget. */
export interface LoadSummary extends LoadResult {
  readonly job: Job;
  /** What a sync read from the live feed. */
  readonly live?: SyncResult['live'];
  /** The series that a sync skipped because they have had no news for long. */
  readonly seriesSkipped?: number;
  /** Another sync of the job was under way. */
  readonly isElsewhere?: boolean;
  /** What of the job's period, or of the part that was named, is loaded; `undefined` if its series are not known. */
  readonly completeness: Completeness | undefined;
  /** Days of it whose rows are gone. */
  readonly emptied: EmptiedDays | undefined;
  /** Its windows that failed or were refused, by cause. */
  readonly failures: readonly Failures[] | undefined;
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
      ['missing', missingDays(summary)],
      ['rows gone', summary.emptied && describeEmptied(summary.emptied, job.path)],
      ['recent days', scope && outcome === 'done' ? describeSettling(settlingPart(scope, job, today)) : null],
      ['budget left', `${number(Math.max(0, limit - used))} of ${number(limit)} requests this month`],
    ]),
    ...advice(summary),
  ].join('\n\n')}\n`;
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

/** Describes days whose rows are gone, and names the command that loads them again. */
export function describeEmptied(range: EmptiedDays, path: string): string {
  const again = sayingAsTyped(cureOfEmptied(range, typedJob(path)).command);
  return `${daysFrom(range.from, range.to)} had rows, and has none left. To load them again: ${again}`;
}

export function summaryAsJson(summary: LoadSummary): object {
  const { job, scope, error, completeness, emptied, failures: _failures, today: _, ...rest } = summary;
  return {
    job: job.name,
    ...rest,
    rejectedValues: Object.fromEntries(rest.rejectedValues),
    // Spread, because `requests` is a getter.
    totals: { ...rest.totals },
    period: scope ? { from: scope.from, to: scope.to } : null,
    historyLimit: rest.historyLimit ?? null,
    series: scope ? seriesIn(scope) : 0,
    isComplete: completeness?.is_complete ?? null,
    complete: completeness?.complete ?? null,
    covered: completeness?.covered ?? null,
    wanted: completeness?.wanted ?? null,
    emptied: emptied ?? null,
    error: error instanceof Error ? error.message : null,
  };
}

/**
 * Suggests the next step after loads: for the first job that is not complete, or else a check.
 * @param options of the loads. Days that are loaded again are not planned once more: the next load continues with them
 */
export function nextAfter(
  summaries: readonly LoadSummary[],
  options: JobPart & { readonly acceptRetractions?: boolean },
): string {
  const { from, to, country, topic, ticker, acceptRetractions } = options;
  const part = { from, to, country, topic, ticker };
  const typed = { part: typedOptions(part), load: typedOptions({ ...part, acceptRetractions }) };
  const steps = summaries.map((summary) => ({ summary, step: stepAfter(summary, typed) }));
  const open = steps.find(
    ({ summary, step }) =>
      step && (summary.outcome !== 'done' || summary.completeness?.is_complete === false),
  );
  if (open) return nextStep(open.step!);
  if (summaries.length > 1) return nextStep(`check${typed.part}`);
  return steps[0]?.step ? nextStep(steps[0].step) : '';
}

/** Returns the command that a person would run next; `undefined` if another load would fail in the same way. */
function stepAfter(
  { job, outcome, live, error, loadId, isElsewhere, completeness, failures }: LoadSummary,
  options: { readonly part: string; readonly load: string },
): string | undefined {
  if (outcome === 'failed' || isElsewhere) return undefined;
  const name = typedJob(job.path);
  if (error instanceof JobMismatch) return error.step(name);
  if (outcome === 'budget') return `plan ${name}${options.part}`;
  // The same load would fail in the same way.
  if (
    outcome === 'incomplete' &&
    failures?.some(({ state, cause }) => state === 'failed' && !isTemporary(cause))
  )
    return `status ${name}`;
  if (outcome !== 'done') return `${live ? 'sync' : 'backfill'} ${name}${options.load}`;
  // A sync does not load days before its first one, nor windows that failed before.
  if (completeness?.is_complete === false) return `backfill ${name}${options.part}`;
  if (loadId === undefined) return live ? `plan ${name}${options.part}` : `status ${name}`;
  return `check ${name}${options.part}`;
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

/** Says of windows that failed or were refused what to do, by cause. */
function advice({ job, outcome, failures = [] }: LoadSummary): string[] {
  if (failures.length === 0 || (outcome !== 'incomplete' && outcome !== 'done')) return [];
  const name = typedJob(job.path);
  const cures = failures.map(
    ({ state, cause, windows }) =>
      `${count(windows, 'window')} ${state} (${cause}). What to do: ${sayingAsTyped(sayCure(cureOf(cause, name)))}`,
  );
  const isRefused = failures.some(({ state }) => state === 'refused');
  return [
    [
      ...cures,
      `Why: ${asTyped(`status ${name}`)}`,
      ...(isRefused ? [`Each load requests at most ${askedAgain} of the refused ones again.`] : []),
    ].join('\n'),
  ];
}

function describeNothingToDo(summary: LoadSummary): string {
  const { job, live, totals, budget, scope, historyLimit, emptied } = summary;
  const spent =
    totals.requests === 0 ? 'no request was sent' : `${count(totals.requests, 'request')} sent for lookups`;
  const limit = describeHistoryLimit(historyLimit);
  // A sync does not look for missing days of a period that is over.
  const ofPeriod = live
    ? 'nothing to sync, because its period is over'
    : `everything is covered${emptied ? ', but rows are gone' : ''}`;
  const what = historyLimit && !scope ? 'nothing to request' : ofPeriod;
  const used = `${ofLimit(budget.used, budget.limit)} used this month`;
  return [
    `${styled('bold', `${job.name}:`)} ${what}, ${spent} (${used})`,
    ...(limit ? [`history limit ${limit}`] : []),
    ...(emptied ? [`rows gone: ${describeEmptied(emptied, job.path)}`] : []),
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

/** Describes settled days of the job's period that are not loaded. */
function missingDays({ job, completeness, outcome }: LoadSummary): string | null {
  if (!completeness || !lacksDays(completeness)) return null;
  const { from, to, complete, series, covered, wanted } = completeness;
  const days = `${number(wanted - covered)} of ${number(wanted)} days of the job from ${from} to ${to}`;
  const said = `${days}; ${number(complete)} of ${number(series)} series are complete`;
  return outcome === 'done' ? `${said}. To load them: ${asTyped(`backfill ${typedJob(job.path)}`)}` : said;
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
