import type { ColumnType, Generated } from 'kysely';
import type { Series } from '../feeds/feed.ts';

/** `YYYY-MM-DD`, the text of a `date` column; a calendar day has no time zone. */
export type Day = string;

type Timestamp = ColumnType<Date, Date | string, Date | string>;
type GeneratedTimestamp = ColumnType<Date, Date | string | undefined, Date | string>;
type Json = ColumnType<unknown, string | null, string | null>;

/**
 * - `pending`: planned, or left with its cursor
 * - `draining`: claimed under a lease
 * - `drained`: its last page and its coverage are committed
 * - `failed`: failed in this load; a rerun continues from its cursor
 * - `refused`: the service refused it, or a younger window of its series; each load retries a few of these
 */
export type WindowState = 'pending' | 'draining' | 'drained' | 'failed' | 'refused';

export type LoadOutcome = 'done' | 'incomplete' | 'budget' | 'interrupted' | 'failed';

/** `refresh`: a backfill of the days that were loaded longest ago. */
export type JobCommand = 'backfill' | 'sync' | 'refresh';

export interface SchedulesTable {
  job: string;
  command: JobCommand;
  cron: string | null;
  timezone: Generated<string>;
  fired_at: Timestamp;
  due_at: Timestamp | null;
  process_id: string | null;
  resumes_at: Timestamp | null;
  paused_because: 'budget' | 'failures' | null;
  pause_error: string | null;
  pauses: Generated<number>;
  ended_at: Timestamp | null;
}

export interface ProcessesTable {
  process_id: string;
  command: string;
  run_by: string;
  version: string;
  concurrency: number | null;
  /** Of a worker; `null` for every job. */
  jobs: string[] | null;
  started_at: GeneratedTimestamp;
  heartbeat_at: GeneratedTimestamp;
  stopped_at: Timestamp | null;
}

interface Counters {
  pages: Generated<number>;
  records: Generated<number>;
  rows_inserted: Generated<number>;
  rows_changed: Generated<number>;
  rows_retracted: Generated<number>;
  records_rejected: Generated<number>;
  records_outside: Generated<number>;
}

/**
 * The tables that queries name with Kysely's builder, most of them tests; a feed's tables are written through its description.
 */
export interface Database {
  'gmsi.windows': Series &
    Counters & {
      window_id: Generated<number>;
      first_day: Day;
      last_day: Day;
      state: Generated<WindowState>;
      load_id: number | null;
      request_start: Day | null;
      request_end: Day | null;
      page_size: number | null;
      next_token: string | null;
      drain_started_at: Timestamp | null;
      first_unsettled: Day | null;
      is_compared: Generated<boolean>;
      rows_met: number[] | null;
      attempts: Generated<number>;
      last_error: string | null;
      refused_with: number | null;
      planned_at: GeneratedTimestamp;
      finished_at: Timestamp | null;
    };
  'gmsi.loads': Counters & {
    load_id: Generated<number>;
    command: string;
    job: string;
    feed: string;
    started_at: GeneratedTimestamp;
    updated_at: GeneratedTimestamp;
    finished_at: Timestamp | null;
    outcome: LoadOutcome | null;
    requests: Generated<number>;
    windows_planned: number | null;
    windows_drained: Generated<number>;
    windows_failed: Generated<number>;
    error: string | null;
    reason: string | null;
    run_by: string;
    process_id: string | null;
    idempotency_key: string | null;
  };
  'gmsi.coverage': Series & {
    days: string;
    updated_at: GeneratedTimestamp;
  };
  'gmsi.api_usage': {
    key_fingerprint: string;
    month: Day;
    requests: Generated<number>;
    updated_at: GeneratedTimestamp;
  };
  'gmsi.request_rate': {
    key_fingerprint: string;
    in_bucket: number;
    counted_at: Timestamp;
  };
  'gmsi.rejected_records': Series & {
    record_hash: string;
    reason: string;
    is_row: Generated<boolean>;
    record: Json;
    window_id: number | null;
    load_id: number;
    rejected_at: GeneratedTimestamp;
  };
  'gmsi.wire_fields': {
    feed: string;
    field: string;
    kept_in: 'column' | 'extra';
    first_load_id: number;
    last_load_id: number;
  };
  'gmsi.learned_facts': {
    feed: string;
    fact: string;
    value: Json;
    evidence: string;
    learned_at: GeneratedTimestamp;
  };
  'gmsi.origin': {
    only_row: Generated<boolean>;
    served_by: 'service' | 'sandbox';
    addresses: Generated<string[]>;
    since: GeneratedTimestamp;
  };
  'gmsi.jobs': {
    job: string;
    definition: Json;
    registered_at: Timestamp;
    registered_by: string;
    export_due_at: Timestamp | null;
    export_process_id: string | null;
  };
  'gmsi.schedules': SchedulesTable;
  'gmsi.processes': ProcessesTable;
}
