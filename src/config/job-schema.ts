import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { catalog } from '../feeds/catalog.ts';
import { checkAgainstFeed } from './check-against-feed.ts';
import { isMap } from './field-types.ts';
import { type JobFile, jobFileKeys, usualFeed } from './job-keys.ts';

/** Runs a check even if keys did not parse, so these can have any type in it. */
const always = { when: ({ value }: { value: unknown }) => isMap(value) };

/** A job file as written. Checks across keys run even if there are other problems, so that a user sees all problems at once. */
export const jobFileSchema = jobFileKeys
  .superRefine(checkPeriod, always)
  .superRefine(checkMaxLag, always)
  .superRefine(checkRollups, always)
  .superRefine((file, context) => {
    const feed = catalog.get(file.feed ?? usualFeed);
    if (feed) checkAgainstFeed(file, feed, context);
  }, always);

/** Returns the JSON Schema of a job file as a user writes it, by which editors complete and check it (jobs/job.schema.json). */
export function jobFileJsonSchema() {
  const keys = z.toJSONSchema(jobFileSchema, {
    io: 'input',
    target: 'draft-7',
    // Editors would show zod's maximum for every whole number.
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return { title: 'gmsi job file', ...keys };
}

function checkPeriod({ start_date, end_date }: JobFile, context: z.RefinementCtx): void {
  if (!(start_date instanceof Temporal.PlainDate && end_date instanceof Temporal.PlainDate)) return;
  if (Temporal.PlainDate.compare(start_date, end_date) <= 0) return;
  context.addIssue({
    code: 'custom',
    path: ['start_date'],
    message: `a day no later than end_date, ${end_date}`,
  });
}

function checkRollups({ feed, exports }: JobFile, context: z.RefinementCtx): void {
  if ((feed ?? usualFeed) === usualFeed || !Array.isArray(exports)) return;
  const n = exports.findIndex((one) => one?.rollup !== undefined);
  if (n < 0) return;
  const message = `no rollup: only headlines of ${usualFeed} are summed up`;
  context.addIssue({ code: 'custom', path: ['exports', n, 'rollup'], message });
}

/** Refuses a `max_lag` that is too short: days that a job leaves uncovered on purpose would raise an alert every day. */
function checkMaxLag({ alerts, lookback, cadence }: JobFile, context: z.RefinementCtx): void {
  // Skips values that other checks refused.
  if (typeof lookback !== 'number' || typeof cadence?.longest !== 'number') return;
  const uncovered = lookback + (cadence.adaptive === true ? cadence.longest : 1);
  const least = uncovered + 1;
  if (!((alerts?.max_lag ?? Number.NaN) < least)) return;
  const why =
    cadence.adaptive === true
      ? `cadence leaves quiet series uncovered for P${uncovered}D`
      : `days within lookback, P${lookback}D, are not covered yet`;
  context.addIssue({ code: 'custom', path: ['alerts', 'max_lag'], message: `at least P${least}D: ${why}` });
}
