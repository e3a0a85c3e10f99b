import { Cron } from 'croner';
import type { Schedule } from '../warehouse/queries/schedules.ts';

/**
 * When a schedule was due first since it was last begun; `undefined` where that is still to come. Once it is begun now, all
 * that was missed before now counts as caught up.
 *
 * Where clocks go forward over the time of a daily schedule, it is due at the end of the gap; where they go back over it, at
 * the first of the two times. Hourly ones are due every hour that passes.
 * @throws where this machine does not know the cron expression or the time zone
 */
export function dueSince(
  { cron, timezone, fired_at }: Pick<Schedule, 'cron' | 'timezone' | 'fired_at'>,
  now: Date,
): Date | undefined {
  if (cron === null) return undefined;
  const due = new Cron(cron, { mode: '5-part', timezone }).nextRun(fired_at);
  return due !== null && due <= now ? due : undefined;
}
