import type { Temporal } from 'temporal-polyfill';
import type { Dimension, FieldAliases } from '../feeds/feed.ts';
import type { Secret } from '../secret.ts';
import type { CamelCased } from './camel-cased.ts';
import type { JobFile } from './job-keys.ts';
import type { serviceSettings } from './service-schema.ts';

/** The longest range that the service accepts, in days (docs/service.md, "Historical headlines"). */
export const longestRequestDays = 90;

/** How the service reads `end_date`. That is not documented; with `unknown`, windows are right either way. */
export type EndDateReading = ServiceSettings['endDate'];

/**
 * Our best guesses about the service (docs/service.md), which a job file's `service` can change; service-schema.ts describes
 * each. Time limits are in milliseconds; `rate` is `Infinity` for `unlimited`.
 */
export type ServiceSettings = ReturnType<typeof serviceSettings>;

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
  /** For each dimension of its feed: names or globs from a lookup, or the whole lookup. */
  readonly selections: Readonly<Record<Dimension, 'all' | readonly string[] | undefined>>;
  /** For each dimension that a command limits, names or globs that select from the job's own; empty for the whole job. */
  readonly only: Readonly<Partial<Record<Dimension, readonly string[] | undefined>>>;
  /** Empty if the feed has no match type. */
  readonly matchType: string;
  /** Each requested combination of further parameters; one empty text if there are none. */
  readonly variants: readonly string[];
  /** Sent with every request of a `POST` feed. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly startDate: Temporal.PlainDate;
  /** The last day wanted, inclusive. */
  readonly endDate: Temporal.PlainDate | 'today';
  /** Days before it are not requested, even if `startDate` is earlier. */
  readonly historyLimit: HistoryLimit | undefined;
  /** The longest window, in days. */
  readonly stepDays: number;
  readonly order: 'newest-first' | 'oldest-first';
  readonly lookbackDays: number;
  /** How often syncs poll quiet series; without `adaptive`, every sync polls all series. */
  readonly cadence: {
    readonly adaptive: boolean;
    readonly longestDays: number;
  };
  readonly budget: BudgetSettings;
  readonly schedule: JobFile['schedule'];
  /** What workers export after each run. */
  readonly exports: JobFile['exports'];
  readonly alerts: {
    /** A secret, because anybody who knows the address can post to it. If `undefined`, the environment's webhook is used. */
    readonly webhookUrl: Secret | undefined;
    /** Maximum age in days of any series' newest covered day; `undefined` for no limit. */
    readonly maxLagDays: number | undefined;
  };
  readonly fields: FieldAliases;
  readonly unknownFields: JobFile['unknown_fields'];
  readonly service: ServiceSettings;
}
