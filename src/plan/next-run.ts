import { Cron } from 'croner';
import type { StoredSchedule } from '../warehouse/tables/schedules.ts';

/**
 * Returns the first time of a schedule since it last began; `undefined` without one.
 * @throws if this machine does not know the cron expression or the time zone
 */
export function nextRun({
  cron,
  timezone,
  fired_at,
}: Pick<StoredSchedule, 'cron' | 'timezone' | 'fired_at'>): Date | undefined {
  if (cron === null) return undefined;
  return new Cron(cron, { mode: '5-part', timezone }).nextRun(fired_at) ?? undefined;
}
