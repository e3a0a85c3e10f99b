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
    ['in all', againstBudget(total, budget.requestsPerMonth, days)],
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

function againstBudget(requests: number, perMonth: number, days: number): string {
  const share = `${number(Math.round((1000 * requests) / perMonth) / 10)}% of ${number(perMonth)} a month`;
  const lasts = Math.floor((days * perMonth) / requests);
  return `${number(requests)}, ${share}${requests > perMonth ? `: enough for ${count(lasts, 'day')}` : ''}`;
}

/** Backfills stop short of the reserve, syncs do not: a reserve below what the syncs take can leave these without. */
function reserveAdvice(
  { requestsPerMonth, reserve }: Job['budget'],
  { spentBySyncs, backfills }: { spentBySyncs: number; backfills: number },
): string | undefined {
  if (backfills === 0 || spentBySyncs <= reserve || spentBySyncs >= requestsPerMonth) return undefined;
  return `${number(reserve)}: backfills may leave syncs too little; ${number(spentBySyncs)} would be enough`;
}
