import type { Temporal } from 'temporal-polyfill';
import type { Dimension, FieldAliases } from '../feeds/feed.ts';
import type { Secret } from '../secret.ts';
import type { CamelCased } from './camel-cased.ts';
import type { JobFile } from './job-keys.ts';
import type { serviceSettings } from './service-schema.ts';

/** The longest range that the service takes, in days (docs/service.md, "Historical headlines"). */
export const longestRequestDays = 90;

/** How the service reads `end_date`. It is not documented, so `unknown` asks for windows that are right either way. */
export type EndDateReading = ServiceSettings['endDate'];

/**
 * What is only likely about the service (docs/service.md) and can therefore be set in a job file's `service`, which says what
 * each means. Time limits are in milliseconds; `rate` is `Infinity` if the job says `unlimited`.
 */
export type ServiceSettings = ReturnType<typeof serviceSettings>;

/** Requests a calendar month (UTC) per API key that this job may bring the key's total to. */
export type BudgetSettings = CamelCased<JobFile['budget']>;

/** The earliest day that is asked for, or how long before today it is; and who says so. */
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

/** The place of the value at `field` (with `atKey`: of its key), or of the innermost value around it that exists. */
export type Locate = (field: FieldPath, atKey?: boolean) => FilePosition;

/** A job file as plain values that can be stored, without its secrets. */
export type JobDefinition = Readonly<Record<string, unknown>>;

/** A job file, read and checked, not yet resolved against the lookups. */
export interface Job {
  /** The file's name without its ending. */
  readonly name: string;
  /** As the user gave it, or `jobs/<name>.yaml`, relative to the working directory. */
  readonly path: string;
  /** For problems that are found after reading. */
  readonly locate: Locate;
  readonly definition: JobDefinition;
  readonly feed: string;
  /** What it selects along each dimension of its feed: names or globs out of a lookup, or everything that it lists. */
  readonly selections: Readonly<Record<Dimension, 'all' | readonly string[] | undefined>>;
  /** Empty if the feed has no match type. */
  readonly matchType: string;
  /** Each combination of further parameters that it asks for; one empty text if there are none. */
  readonly variants: readonly string[];
  /** Sent with every request of a `POST` feed. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly startDate: Temporal.PlainDate;
  /** The last day wanted, itself included. */
  readonly endDate: Temporal.PlainDate | 'today';
  /** Days before it are not asked for, though `startDate` wants them. */
  readonly historyLimit: HistoryLimit | undefined;
  /** The longest window, in days. */
  readonly stepDays: number;
  readonly order: 'newest-first' | 'oldest-first';
  readonly lookbackDays: number;
  /** How often syncs poll quiet series; without `adaptive` they poll all of them. */
  readonly cadence: {
    readonly adaptive: boolean;
    readonly longestDays: number;
    /** How old the first uncovered day of a series may become; more than the job's lookback. */
    readonly maxUncoveredDays: number;
  };
  readonly budget: BudgetSettings;
  readonly schedule: JobFile['schedule'];
  /** What workers export after each run. */
  readonly exports: JobFile['exports'];
  readonly alerts: {
    /** Whoever knows the address can post to it. `undefined`: the environment's webhook, if it has one. */
    readonly webhookUrl: Secret | undefined;
    /** How many days old the end of any series' newest covered day may be; `undefined` for any age. */
    readonly maxLagDays: number | undefined;
  };
  readonly fields: FieldAliases;
  readonly service: ServiceSettings;
}
