import { Temporal } from 'temporal-polyfill';
import { ConfigError } from '../errors.ts';
import type { Dimension } from '../feeds/feed.ts';
import type { Job, JobPart } from './job.ts';

/**
 * Limits a job to a part of its days and series.
 * @param today the current day in UTC
 * @throws ConfigError if the days are not within the job's period, or its feed has no such dimension
 */
export function partOf(
  job: Job,
  { from, to, country, topic, ticker }: JobPart,
  today: Temporal.PlainDate,
): Job {
  const part = { from, to, country, topic, ticker };
  for (const dimension of ['country', 'topic', 'ticker'] as Dimension[]) {
    if (part[dimension] === undefined || job.selections[dimension] !== undefined) continue;
    throw new ConfigError(`--${dimension}: the feed of ${job.name}, ${job.feed}, has no ${dimension}.`);
  }
  const startDate = from === undefined ? job.startDate : Temporal.PlainDate.from(from);
  const endDate = to === undefined ? job.endDate : Temporal.PlainDate.from(to);
  if (Temporal.PlainDate.compare(startDate, today) > 0)
    throw new ConfigError(`--from ${startDate} is after today, ${today}.`);
  const isAfter = (day: Temporal.PlainDate, other: Job['endDate']) =>
    other !== 'today' && Temporal.PlainDate.compare(day, other) > 0;
  if (isAfter(startDate, endDate))
    throw new ConfigError(`The first day, ${startDate}, is after the last day, ${endDate}.`);
  const outside = [startDate, endDate].find(
    (day) => day !== 'today' && (isAfter(job.startDate, day) || isAfter(day, job.endDate)),
  );
  if (outside !== undefined)
    throw new ConfigError(
      `The period of ${job.name}, ${job.startDate} to ${job.endDate}, does not include ${outside}.`,
      { hint: `To load other days, change start_date or end_date in ${job.path}.` },
    );
  return { ...job, startDate, endDate, part };
}
