import type { Temporal } from 'temporal-polyfill';
import type { Job } from '../config/job.ts';
import { type Completeness, completenessOf } from '../questions/status.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';
import { firstUnsettledDay, plannedDays } from './days.ts';

/**
 * Returns what of a job's period is loaded, from `start_date` or the history limit to `end_date`. This is the only definition of
 * complete.
 * @param job with what a probe has learned about its feed
 * @returns `undefined` if the history limit leaves no day
 */
export async function completenessOfJob(
  db: Warehouse,
  job: Job,
  scope: WindowScope,
  today: Temporal.PlainDate,
): Promise<Completeness | undefined> {
  const { days } = plannedDays(job, today);
  if (!days) return undefined;
  const planned = { ...scope, from: days.from.toString(), to: days.to.toString() };
  return completenessOf(db, planned, firstUnsettledDay(today, job.lookbackDays).toString());
}
