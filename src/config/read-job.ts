import { Temporal } from 'temporal-polyfill';
import { catalog, retired } from '../feeds/catalog.ts';
import { camelCased } from './camel-cased.ts';
import { isMap } from './field-types.ts';
import { findJobFile, type JobFileText } from './find-job-file.ts';
import type { Job, JobDefinition } from './job.ts';
import type { JobFile } from './job-keys.ts';
import { jobFileJsonSchema, jobFileSchema } from './job-schema.ts';
import { parseYaml } from './parse-yaml.ts';
import { describeProblems, JobFileError } from './problems.ts';
import { variantsOf } from './resolve-series.ts';

/**
 * Checks a job file's text and turns it into a job.
 * @param today the current day in UTC
 * @throws JobFileError with all problems
 */
export function parseJob({ path, name, text }: JobFileText, today: Temporal.PlainDate): Job {
  const { value, locate } = parseYaml(path, text);
  const refuse: Refuse = (key, message) => {
    throw new JobFileError(path, [{ position: locate([key]), field: [key], message }]);
  };
  // Reported alone, because the rest of such a file may not be valid for any other feed.
  const named = isMap(value) ? value.feed : undefined;
  const instead = typeof named === 'string' ? retired.get(named) : undefined;
  if (instead !== undefined) refuse('feed', `found "${named}", which is retired. ${instead}`);
  const { data: file, error } = jobFileSchema.safeParse(value);
  if (error) throw new JobFileError(path, describeProblems(error.issues, value, jobFileJsonSchema(), locate));
  // Otherwise a year mistyped as 2106 would look like a job with nothing left to do.
  if (Temporal.PlainDate.compare(file.start_date, today) > 0)
    refuse('start_date', `found "${file.start_date}", expected a day no later than today, ${today}`);
  refuseLimitAfterEnd(file, today, refuse);
  const feed = catalog.get(file.feed)!;
  const { countries, topics, tickers, match_type, history_limit, step, lookback, ...rest } = file;
  // In these maps the keys are names of the service and of columns.
  const { parameters: _, body, fields, ...same } = rest;
  return {
    ...camelCased(same),
    fields,
    body,
    name,
    path,
    locate,
    definition: storable(value as JobDefinition),
    selections: { country: countries, topic: topics, ticker: tickers },
    part: {},
    matchType: match_type ?? feed.matchTypes[0] ?? '',
    variants: variantsOf(feed, file),
    historyLimit: history_limit && { reach: history_limit, by: 'job' },
    stepDays: step,
    lookbackDays: lookback,
  };
}

type Refuse = (key: string, message: string) => never;

/** Refuses a history limit after the last day: without this, such a job would request nothing and report success. */
function refuseLimitAfterEnd(
  { history_limit, end_date }: JobFile,
  today: Temporal.PlainDate,
  refuse: Refuse,
): void {
  if (history_limit === undefined) return;
  const isReach = history_limit instanceof Temporal.Duration;
  const firstDay = isReach ? today.subtract(history_limit) : history_limit;
  const isToday = end_date === 'today' || Temporal.PlainDate.compare(end_date, today) > 0;
  const last = isToday ? today : end_date;
  if (Temporal.PlainDate.compare(firstDay, last) <= 0) return;
  const found = isReach ? `"${history_limit}", which is ${firstDay},` : `"${firstDay}",`;
  const expected = `expected a day no later than ${isToday ? 'today' : 'end_date'}, ${last}`;
  refuse('history_limit', `found ${found} ${expected}`);
}

/**
 * Reads and checks the job file that a user names by path, or by its name in `jobs/`. Sends no request.
 * @param cwd the folder for relative paths and for `jobs/`
 * @throws ConfigError if there is no such file; JobFileError with all problems
 */
export async function readJob(
  nameOrPath: string,
  today: Temporal.PlainDate,
  cwd = process.cwd(),
): Promise<Job> {
  return parseJob(await findJobFile(nameOrPath, cwd), today);
}

/**
 * Removes what only a job file may say. Used when a job is stored and when it is read: a stored job may have been written by
 * anybody who can write to the database, and workers would post to its webhook. (They follow `exports` only of their own
 * files.)
 */
function storable(file: JobDefinition): JobDefinition {
  if (!isMap(file) || !isMap(file.alerts)) return file;
  const { webhook_url: _, ...alerts } = file.alerts;
  return { ...file, alerts };
}

/**
 * Reads a job from its stored definition, as if it had no webhook.
 * @throws JobFileError if it was stored by a version of the program that knows other keys
 */
export function jobFromDefinition(name: string, definition: JobDefinition, today: Temporal.PlainDate): Job {
  const text = JSON.stringify(storable(definition));
  return parseJob({ path: `gmsi.jobs: ${name}`, name, text }, today);
}
