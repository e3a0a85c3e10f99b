/** `YYYY-MM-DD`, the text of a `date` column; a calendar day has no time zone. */
export type Day = string;

/**
 * - `pending`: planned, or left with its cursor
 * - `draining`: claimed under a lease
 * - `failed`: failed in this load; a rerun continues from its cursor
 * - `refused`: the service refused it, or a younger window of its series; each load retries a few of these
 */
export type WindowState = 'pending' | 'draining' | 'failed' | 'refused';

export type LoadOutcome = 'done' | 'incomplete' | 'budget' | 'interrupted' | 'failed';

/** `refresh`: a backfill of the days that were loaded longest ago. */
export type JobCommand = 'backfill' | 'sync' | 'refresh';

/** Each statement says itself what it returns; tests name tables with Kysely's builder. */
// biome-ignore lint/suspicious/noExplicitAny: migrations/ describes the tables, and a name that they do not have fails
export type Database = any;
