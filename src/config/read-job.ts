import { Temporal } from 'temporal-polyfill';
import { Secret } from '../secret.ts';
import { isMap } from './check-against-feed.ts';
import { findJobFile, type JobFileText } from './find-job-file.ts';
import type { Job } from './job.ts';
import { type JobFile, jobFileSchema, type KnownFeeds } from './job-schema.ts';
import { jobFileJsonSchema } from './json-schema.ts';
import { type ParsedYaml, parseYaml } from './parse-yaml.ts';
import { describeProblems, JobFileError } from './problems.ts';
import { variantsOf } from './resolve-series.ts';
import { serviceSettings } from './service-schema.ts';

/** What reading a job file depends on. */
export interface JobFacts {
  /** The current day in UTC. */
  readonly today: Temporal.PlainDate;
  readonly known: KnownFeeds;
}

/** Checks a job file's text and turns it into a job. @throws JobFileError with everything that is wrong */
export function parseJob({ path, name, text }: JobFileText, { today, known }: JobFacts): Job {
  const yaml = parseYaml(path, text);
  const { locate } = yaml;
  refuseRetired(path, yaml, known);
  const file = checkJobFile(path, yaml, known);
  const feed = known.feeds.get(file.feed)!;
  refuseFutureStart(path, file, today, locate);
  refuseLimitAfterEnd(path, file, today, locate);
  return {
    name,
    path,
    locate,
    feed: file.feed,
    selections: selectionsOf(file),
    matchType: file.match_type ?? feed.matchTypes[0] ?? '',
    variants: variantsOf(feed, file),
    body: file.body,
    startDate: file.start_date,
    endDate: file.end_date,
    historyLimit: file.history_limit && { reach: file.history_limit, by: 'job' },
    stepDays: file.step,
    order: file.order,
    lookbackDays: file.lookback,
    cadence: cadenceOf(file.cadence),
    budget: { requestsPerMonth: file.budget.requests_per_month, reserve: file.budget.reserve },
    schedule: file.schedule,
    alerts: alertsOf(file.alerts),
    fields: file.fields,
    service: serviceSettings(file.service),
  };
}

function cadenceOf({ adaptive, longest, max_uncovered }: JobFile['cadence']): Job['cadence'] {
  return { adaptive, longestDays: longest, maxUncoveredDays: max_uncovered };
}

function alertsOf({ webhook_url, max_lag }: JobFile['alerts']): Job['alerts'] {
  return { webhookUrl: webhook_url === undefined ? undefined : new Secret(webhook_url), maxLagDays: max_lag };
}

function selectionsOf({ countries, topics, tickers }: JobFile): Job['selections'] {
  return {
    ...(countries !== undefined && { country: countries }),
    ...(topics !== undefined && { topic: topics }),
    ...(tickers !== undefined && { ticker: tickers }),
  };
}

function checkJobFile(path: string, { value, locate }: ParsedYaml, known: KnownFeeds): JobFile {
  const checked = jobFileSchema(known).safeParse(value);
  if (checked.success) return checked.data;
  const problems = describeProblems(checked.error.issues, value, jobFileJsonSchema(known));
  throw new JobFileError(
    path,
    problems.map(({ field, atKey, message }) => ({ position: locate(field, atKey), field, message })),
  );
}

/** Reported alone: the rest of such a file may not be valid for any other feed. */
function refuseRetired(path: string, { value, locate }: ParsedYaml, { retired }: KnownFeeds): void {
  const name = isMap(value) ? value.feed : undefined;
  const instead = typeof name === 'string' ? retired.get(name) : undefined;
  if (instead === undefined) return;
  const field = ['feed'];
  const message = `found "${name}", which is no more. ${instead}`;
  throw new JobFileError(path, [{ position: locate(field), field, message }]);
}

/** A year mistyped as 2106 would otherwise look like a job with nothing left to do. */
function refuseFutureStart(
  path: string,
  { start_date }: JobFile,
  today: Temporal.PlainDate,
  locate: ParsedYaml['locate'],
): void {
  if (Temporal.PlainDate.compare(start_date, today) <= 0) return;
  const field = ['start_date'];
  const message = `found "${start_date}", expected a day no later than today, ${today}`;
  throw new JobFileError(path, [{ position: locate(field), field, message }]);
}

/** Such a job would ask for nothing and report success. */
function refuseLimitAfterEnd(
  path: string,
  { history_limit, end_date }: JobFile,
  today: Temporal.PlainDate,
  locate: ParsedYaml['locate'],
): void {
  if (history_limit === undefined) return;
  const isReach = history_limit instanceof Temporal.Duration;
  const firstDay = isReach ? today.subtract(history_limit) : history_limit;
  const isToday = end_date === 'today' || Temporal.PlainDate.compare(end_date, today) > 0;
  const last = isToday ? today : end_date;
  if (Temporal.PlainDate.compare(firstDay, last) <= 0) return;
  const field = ['history_limit'];
  const found = isReach ? `"${history_limit}", which is ${firstDay},` : `"${firstDay}",`;
  const message = `found ${found} expected a day no later than ${isToday ? 'today' : 'end_date'}, ${last}`;
  throw new JobFileError(path, [{ position: locate(field), field, message }]);
}

/** What reading a job depends on besides its file. */
export interface JobContext extends JobFacts {
  /** The working directory: where a relative path starts, and where `jobs/` is looked for. */
  readonly cwd: string;
}

/**
 * Reads and checks the job file that a user names by path, or by its name in `jobs/`. Sends no request.
 * @throws ConfigError if there is no such file; JobFileError with everything that is wrong in it
 */
export async function readJob(nameOrPath: string, { cwd, ...facts }: JobContext): Promise<Job> {
  return parseJob(await findJobFile(nameOrPath, cwd), facts);
}

/** A job file as plain values that can be stored. */
export type JobDefinition = Readonly<Record<string, unknown>>;

/** A checked job file without its secrets. */
export function definitionOf({ path, text }: JobFileText): JobDefinition {
  const file = parseYaml(path, text).value as JobDefinition;
  if (!isMap(file.alerts)) return file;
  const { webhook_url: _, ...alerts } = file.alerts;
  return { ...file, alerts };
}

/**
 * Reads a job from its stored definition.
 * @throws JobFileError if it was stored by a version of the program that knows other keys
 */
export function jobFromDefinition(name: string, definition: JobDefinition, facts: JobFacts): Job {
  return parseJob({ path: `gmsi.jobs: ${name}`, name, text: JSON.stringify(definition) }, facts);
}
