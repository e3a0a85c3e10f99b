import type { Job } from '../job/job.ts';
import type { ScheduleForecast } from '../pipeline/forecast-schedule.ts';
import { count, duration, facts, number, table } from '../terminal/table.ts';
import type { CadenceReport } from '../warehouse/queries/cadence.ts';

/** What a job's schedule costs against its budget, and what would cost less. */
export function describeSchedule({ budget, cadence }: Job, schedule: ScheduleForecast): string {
  const { days, syncs, backfills, syncRequests, backfillRequests, adaptiveSyncRequests, choices } = schedule;
  const isSpaced = cadence.adaptive && adaptiveSyncRequests !== null;
  const spentBySyncs = isSpaced ? adaptiveSyncRequests : syncRequests;
  const total = spentBySyncs + backfillRequests;
  const spaced = isSpaced
    ? `, ${number(syncRequests - adaptiveSyncRequests)} of them saved by the cadence`
    : '';
  const lines = facts([
    ['schedule', `${count(syncs, 'sync', 'syncs')} and ${count(backfills, 'backfill')} in ${days} days`],
    ['syncs cost', syncs > 0 ? `${number(syncRequests)} requests at the least${spaced}` : undefined],
    ['backfills', backfills > 0 ? `${number(backfillRequests)} for the days not settled yet` : undefined],
    [
      'in all',
      `${number(total)}, ${shareOf(total, budget.requestsPerMonth)} of ${number(budget.requestsPerMonth)} a month`,
    ],
    ['reserve', reserveAdvice(budget, { spentBySyncs, backfills })],
  ]);
  if (choices.length === 0) return lines;
  const rows = choices.map(({ change, requests, saves }) => [change, requests, saves]);
  return `${lines}\n\n${table(['what would save', 'requests', 'saves'], rows)}`;
}

/** What an adaptive cadence has saved and cost so far, in one line; `undefined` where nothing was ever left out. */
export function describeCadence(report: CadenceReport): string | undefined {
  const { since, paused, leftOut, requestsSaved, lateRows, lateBySeconds } = report;
  if (since === null) return undefined;
  const late =
    lateRows === 0
      ? 'nothing seen late'
      : `at most ${count(lateRows, 'row')} seen late, by at most ${duration(lateBySeconds!)}`;
  return (
    `${count(requestsSaved, 'request')} saved since ${since.toISOString().slice(0, 10)} by leaving out series ` +
    `${count(leftOut, 'time')}, ${number(paused)} of them now; ${late}`
  );
}

function shareOf(part: number, whole: number): string {
  return `${number(Math.round((1000 * part) / whole) / 10)}%`;
}

/** Backfills stop short of the reserve, syncs do not: a reserve below what the syncs take can leave these without. */
function reserveAdvice(
  { reserve }: Job['budget'],
  { spentBySyncs, backfills }: { spentBySyncs: number; backfills: number },
): string | undefined {
  if (spentBySyncs === 0) return undefined;
  return spentBySyncs > reserve && backfills > 0
    ? `${number(reserve)}: backfills can take what the syncs need; ${number(spentBySyncs)} would keep it`
    : number(reserve);
}
