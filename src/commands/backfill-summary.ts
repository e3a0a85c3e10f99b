import { explain } from '../exit.ts';
import type { Job } from '../job/job.ts';
import type { BackfillResult } from '../pipeline/backfill.ts';
import { count, duration, facts, number } from '../terminal/table.ts';
import { seriesIn } from '../warehouse/queries/window-scope.ts';

/** What a run of one job did, and what it left of the budget. */
export interface BackfillSummary extends BackfillResult {
  readonly job: Job;
  readonly budget: {
    /** Requests booked this month with the key, by everybody. */
    readonly used: number;
    readonly limit: number;
  };
}

/** A summary for a person. */
export function describeSummary(summary: BackfillSummary): string {
  const { job, totals, seconds, loadId, outcome } = summary;
  if (loadId === undefined && outcome === 'done') return describeNothingToDo(summary);
  const { records, rows_inserted, rows_changed, records_rejected } = totals;
  const unchanged = records - rows_inserted - rows_changed - records_rejected;
  return `${[
    `${job.name}: ${headline(summary)}`,
    facts([
      ['windows', windowsByState(summary)],
      ['requests', totals.requests],
      ['records', records],
      [
        'rows',
        list([
          [rows_inserted, 'new'],
          [rows_changed, 'changed'],
          [unchanged, 'in already'],
        ]),
      ],
      [
        'rejected',
        records_rejected > 0 ? `${count(records_rejected, 'record')}; gmsi.rejected_records says why` : null,
      ],
      ['time', `${duration(seconds)}, ${number(Math.round(records / seconds))} records/s`],
      ['budget left', budgetLeft(summary)],
    ]),
    ...advice(summary),
  ].join('\n\n')}\n`;
}

/** The same for a machine. */
export function summaryAsJson({ job, scope, error, ...rest }: BackfillSummary): object {
  return {
    job: job.name,
    ...rest,
    // Spread, because `requests` is counted elsewhere and read through a getter.
    totals: { ...rest.totals },
    period: scope ? { from: scope.from, to: scope.to } : null,
    series: scope ? seriesIn(scope) : 0,
    error: error instanceof Error ? error.message : null,
  };
}

function headline(summary: BackfillSummary): string {
  const left = count(openWindows(summary), 'window');
  switch (summary.outcome) {
    case 'done':
      return 'done, every day asked for is loaded';
    case 'incomplete':
      return openWindows(summary) > 0
        ? `not complete, ${left} left`
        : 'complete but for what the service refuses';
    case 'budget':
      return `stopped at the request budget, ${left} left`;
    case 'interrupted':
      return `interrupted, ${left} left; run it again and it goes on from there`;
    case 'failed':
      return 'ended by an error that a retry does not mend';
  }
}

function advice({ job, windows, outcome, error }: BackfillSummary): string[] {
  const lines: string[] = [];
  if (error && outcome !== 'interrupted') lines.push(explain(error, false).trimEnd());
  if (outcome === 'incomplete' && windows.failed > 0) {
    lines.push(
      `Run it again: failed windows go on at their checkpoints. gmsi status ${job.name} says why they failed.`,
    );
  }
  if (windows.refused > 0) {
    lines.push(
      `The service does not answer as far back as ${count(windows.refused, 'window')} of this job.\n` +
        'Mend start_date, or ask again with --retry-refused.',
    );
  }
  return lines;
}

function describeNothingToDo({ job, totals, budget }: BackfillSummary): string {
  const spent =
    totals.requests === 0
      ? 'no request was spent'
      : `${count(totals.requests, 'request')} went to the lookups`;
  const used = `${number(budget.used)} of ${number(budget.limit)} requests used this month`;
  return `${job.name}: everything is covered, ${spent} (${used})\n`;
}

function windowsByState({ totals, windows }: BackfillSummary): string {
  const { failed, refused, pending, draining } = windows;
  return list([
    [totals.windows_drained, 'drained'],
    [failed, 'failed'],
    [refused, 'refused'],
    [pending + draining, 'to go'],
  ]);
}

function budgetLeft({ budget: { used, limit } }: BackfillSummary): string {
  return `${number(Math.max(0, limit - used))} of ${number(limit)} requests this month`;
}

function openWindows({ windows }: BackfillSummary): number {
  return windows.pending + windows.draining + windows.failed;
}

/** `312 drained, 3 failed`; what there is none of is left out, the first excepted. */
function list(parts: readonly (readonly [many: number, what: string])[]): string {
  return parts
    .filter(([many], index) => many > 0 || index === 0)
    .map(([many, what]) => `${number(many)} ${what}`)
    .join(', ');
}
