import type { Temporal } from 'temporal-polyfill';
import type { Dimension, FieldAliases, ParameterNames } from '../feeds/feed.ts';
import type { Secret } from '../secret.ts';

/** The longest range that the service takes, in days (docs/service.md, "Historical headlines"). */
export const longestRequestDays = 90;

/** Names or globs out of a lookup, or everything that the lookup lists. */
export type Selection = 'all' | readonly string[];

/** How the service reads `end_date`. It is not documented, so `unknown` asks for windows that are right either way. */
export type EndDateReading = 'unknown' | 'inclusive' | 'exclusive';

/** What is only likely about the service (docs/service.md) and can therefore be set in a job file's `service`. */
export interface ServiceSettings {
  /** Requests a second, sustained; `Infinity` if the job says `unlimited`. */
  readonly rate: number;
  /** Requests that may go out at once after a pause. */
  readonly burst: number;
  /** Windows drained in parallel. */
  readonly concurrency: number;
  /** Records asked for per page, at most 1000 (docs/service.md, "Paging"). */
  readonly pageSize: number;
  readonly endDate: EndDateReading;
  /** Names of query parameters that differ from the feed's own. */
  readonly parameters: Partial<ParameterNames>;
  /** Time limits, in milliseconds. */
  readonly connectTimeout: number;
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
  /** The largest body, both as received and as unpacked, in bytes. */
  readonly maxBodyBytes: number;
  /** The largest record, in bytes of JSON. */
  readonly maxRecordBytes: number;
  /** Tries of one request, the first included. */
  readonly maxAttempts: number;
  /** After this many pages in a row without anything new, a window's cursor counts as endless. */
  readonly maxPagesWithoutNews: number;
}

/** Requests a calendar month (UTC) per API key that this job may bring the key's total to. */
export interface BudgetSettings {
  readonly requestsPerMonth: number;
  /** Requests of these that a backfill leaves for others. */
  readonly reserve: number;
}

export interface Schedule {
  /** Cron expressions in `timezone`. */
  readonly sync?: string;
  readonly backfill?: string;
  readonly timezone: string;
}

/** How often syncs poll the series of a job. */
export interface Cadence {
  /** False if every sync polls all of them. */
  readonly adaptive: boolean;
  /** The longest time between two polls of a quiet series, in days. */
  readonly longestDays: number;
  /** How old the first uncovered day of a series may become, in days; more than the job's lookback. */
  readonly maxUncoveredDays: number;
}

/** Where to report what goes wrong with a job. */
export interface JobAlerts {
  /** Whoever knows the address can post to it. `undefined`: the environment's webhook, if it has one. */
  readonly webhookUrl: Secret | undefined;
  /** How many days old the end of any series' newest covered day may be; `undefined` for any age. */
  readonly maxLagDays: number | undefined;
}

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

/** A job file, read and checked, not yet resolved against the lookups. */
export interface Job {
  /** The file's name without its ending. */
  readonly name: string;
  /** As the user gave it, or `jobs/<name>.yaml`, relative to the working directory. */
  readonly path: string;
  /** The place of a field's value (or key) in the file, for problems that are found after reading. */
  readonly locate: (field: FieldPath, atKey?: boolean) => FilePosition;
  readonly feed: string;
  /** What it selects along each dimension of its feed. */
  readonly selections: Readonly<Partial<Record<Dimension, Selection>>>;
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
  readonly cadence: Cadence;
  readonly budget: BudgetSettings;
  readonly schedule: Schedule | undefined;
  readonly alerts: JobAlerts;
  readonly fields: FieldAliases;
  readonly service: ServiceSettings;
}
