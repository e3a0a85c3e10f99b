import type { Temporal } from 'temporal-polyfill';
import type { z } from 'zod';
import type { Dimension } from '../feeds/feed.ts';
import type { CamelCased } from './camel-cased.ts';
import type { JobFile } from './job-keys.ts';
import type { serviceSection } from './service-schema.ts';

/** The longest range that the service accepts, in days (docs/service.md, "Historical headlines"). */
export const longestRequestDays = 90;

/** How the service reads `end_date`. That is not documented; with `unknown`, windows are right either way. */
export type EndDateReading = ServiceSettings['endDate'];

/** Time limits are in milliseconds; `rate` is `Infinity` for `unlimited`. */
export type ServiceSettings = CamelCased<z.output<typeof serviceSection>>;

/** The key's requests in a calendar month (UTC) at which this job stops. */
export type BudgetSettings = CamelCased<JobFile['budget']>;

/** The earliest day to request, or how long before today it is; and who set it. */
export interface HistoryLimit {
  readonly reach: Temporal.PlainDate | Temporal.Duration;
  readonly by: 'job' | 'probe';
}

/** Keys and list indices that lead to a place in a job file, such as `['countries', 2]`. */
export type FieldPath = readonly (string | number)[];

/** A place in a job file, both counted from 1. */
export interface FilePosition {
  readonly line: number;
  readonly column: number;
}

/** Finds the place of the value at `field` (with `atKey`: of its key), or of the innermost existing value around it. */
export type Locate = (field: FieldPath, atKey?: boolean) => FilePosition;

/** A job file as plain values that can be stored, without its secrets. */
export type JobDefinition = Readonly<Record<string, unknown>>;

/** The days (UTC) and series to which the options of a command limit a job; without options, nothing is limited. */
export interface JobPart extends Partial<Readonly<Record<Dimension, readonly string[] | undefined>>> {
  /** `YYYY-MM-DD` */
  readonly from?: string | undefined;
  /** `YYYY-MM-DD`, inclusive. */
  readonly to?: string | undefined;
}

/**
 * A job file, read and checked, not yet resolved against the lookups. job-keys.ts describes the keys of the file. Durations are
 * in days, those of `service` in milliseconds.
 */
export type Job = CamelCased<Omit<JobFile, KeysReadFurther>> & {
  /** The file's name without its ending. */
  readonly name: string;
  /** As the user gave it, or `jobs/<name>.yaml`, relative to the working directory. */
  readonly path: string;
  /** For problems that are found after reading. */
  readonly locate: Locate;
  readonly definition: JobDefinition;
  /** For each dimension of its feed: names or globs from a lookup, or the whole lookup. */
  readonly selections: Readonly<Record<Dimension, 'all' | readonly string[] | undefined>>;
  /** To what a command limits it; empty for the whole job. */
  readonly part: JobPart;
  /** Empty if the feed has no match type. */
  readonly matchType: string;
  /** Each requested combination of further parameters; one empty text if there are none. */
  readonly variants: readonly string[];
  /** Sent with every request of a `POST` feed. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Days before it are not requested, even if `startDate` is earlier. */
  readonly historyLimit: HistoryLimit | undefined;
  readonly stepDays: number;
  readonly lookbackDays: number;
};

/** The keys of a job file that a job has in another form. */
type KeysReadFurther =
  | ('countries' | 'topics' | 'tickers' | 'match_type')
  | ('parameters' | 'body' | 'history_limit' | 'step' | 'lookback');
