import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { catalog } from '../feeds/catalog.ts';
import { checkAgainstFeed } from './check-against-feed.ts';
import { isMap } from './field-types.ts';
import type { FieldPath } from './job.ts';
import { type JobFile, jobFileKeys, usualFeed } from './job-keys.ts';

/** A job file as written. Checks across keys run even if there are other problems, so that a user sees all problems at once. */
export const jobFileSchema = jobFileKeys.superRefine(checkAcrossKeys, {
  when: ({ value }: { value: unknown }) => isMap(value),
});

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

/** Any key may still have any type: another check has refused it then. */
function checkAcrossKeys(file: JobFile, context: z.RefinementCtx): void {
  const { start_date, end_date, exports, alerts, lookback, cadence } = file;
  const feed = file.feed ?? usualFeed;
  const refuse = (path: FieldPath, message: string) =>
    context.addIssue({ code: 'custom', path: [...path], message });
  if (
    start_date instanceof Temporal.PlainDate &&
    end_date instanceof Temporal.PlainDate &&
    Temporal.PlainDate.compare(start_date, end_date) > 0
  )
    refuse(['start_date'], `a day no later than end_date, ${end_date}`);

  if (typeof lookback === 'number' && typeof cadence?.longest === 'number') {
    // Days that a job leaves uncovered on purpose would raise an alert every day.
    const uncovered = lookback + (cadence.adaptive === true ? cadence.longest : 1);
    const why =
      cadence.adaptive === true
        ? `cadence leaves quiet series uncovered for P${uncovered}D`
        : `days within lookback, P${lookback}D, are not covered yet`;
    if ((alerts?.max_lag ?? Number.NaN) <= uncovered)
      refuse(['alerts', 'max_lag'], `at least P${uncovered + 1}D: ${why}`);
  }

  const rollup = Array.isArray(exports) ? exports.findIndex((one) => one?.rollup !== undefined) : -1;
  if (feed !== usualFeed && rollup >= 0)
    refuse(['exports', rollup, 'rollup'], `no rollup: only headlines of ${usualFeed} are summed up`);

  const known = catalog.get(feed);
  if (known) checkAgainstFeed(file, known, context);
}
