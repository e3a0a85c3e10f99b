import { type Kysely, sql } from 'kysely';
import type { Database, JobCommand } from '../tables/database.ts';
import type { WindowScope } from './window-scope.ts';

/** What all loads have done so far, as of their heartbeats. */
export async function workSoFar(db: Kysely<Database>): Promise<{ requests: number; records: number }> {
  const { rows } = await sql<{ requests: number; records: number }>`
    select coalesce(sum(requests), 0)::bigint as requests, coalesce(sum(records), 0)::bigint as records from gmsi.loads
  `.execute(db);
  return rows[0]!;
}

/** A job as the workers have it: its run that is under way, or the one before, and what has paused it. */
export interface QueuedJob {
  readonly job: string;
  readonly command: JobCommand;
  readonly run_id: number;
  readonly scope: WindowScope;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly outcome: string | null;
  readonly resumes_at: Date | null;
  readonly paused_because: 'budget' | 'failures' | null;
}

/** The last run of each job and command. */
export async function lastRuns(db: Kysely<Database>): Promise<QueuedJob[]> {
  const { rows } = await sql<QueuedJob>`
    select distinct on (r.job, r.command) r.job, r.command, r.run_id, r.scope, r.started_at, r.finished_at, r.outcome,
           s.resumes_at, s.paused_because
    from gmsi.runs r left join gmsi.schedules s on s.job = r.job and s.command = r.command
    order by r.job, r.command, r.run_id desc
  `.execute(db);
  return rows;
}
