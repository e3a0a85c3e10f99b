import { type Kysely, sql, type Transaction } from 'kysely';
import type { Job } from '../../config/job.ts';
import type { Database, JobCommand } from '../database.ts';
import { resolveAlert } from './alerts.ts';
import { isAlive, mayTake, type Owner, runsJob } from './processes.ts';

/** A job file as stored for workers that do not have it. */
export interface RegisteredJob {
  readonly job: string;
  readonly definition: Readonly<Record<string, unknown>>;
  /** When each command is due; `undefined` keeps the job's present schedule. */
  readonly schedule:
    | (Readonly<Record<JobCommand, string | null>> & { readonly timezone: string })
    | undefined;
}

/** Returns the schedule of a job file, to be stored; a job without one is never due. */
export function scheduleIn({ schedule: due }: Pick<Job, 'schedule'>): NonNullable<RegisteredJob['schedule']> {
  const { sync = null, backfill = null, refresh = null, timezone = 'UTC' } = due ?? {};
  return { sync, backfill, refresh, timezone };
}

/** Returns true if something of a job is scheduled. */
export async function isScheduled(db: Kysely<Database>, job: string): Promise<boolean> {
  const { rows } = await sql`select from gmsi.schedules where cron is not null and job = ${job}`.execute(db);
  return rows.length > 0;
}

/**
 * Stores a job's definition and schedule, as last read from its file. Times before the job was known are not due.
 * @param at by the database's clock
 */
export async function registerJob(
  db: Kysely<Database>,
  { job, definition, schedule }: RegisteredJob,
  { at, by }: { at: Date; by: string },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`
      insert into gmsi.jobs as known (job, definition, registered_at, registered_by)
      values (${job}, ${JSON.stringify(definition)}::jsonb, ${at}, ${by})
      on conflict (job) do update
      set definition = excluded.definition, registered_at = excluded.registered_at, registered_by = excluded.registered_by
      where known.definition <> excluded.definition
    `.execute(trx);
    const { timezone, ...crons } = schedule ?? scheduleIn({});
    // A new schedule is not due for times before it.
    await sql`
      insert into gmsi.schedules as known (job, command, fired_at, timezone, cron)
      select ${job}, command, ${at}::timestamptz, ${timezone}, cron
      from unnest(${Object.keys(crons)}::text[], ${Object.values(crons)}::text[]) as due (command, cron)
      on conflict (job, command) do update
      set cron = excluded.cron, timezone = excluded.timezone,
          fired_at = case when known.cron is null then excluded.fired_at else known.fired_at end
      where ${schedule !== undefined}::boolean
    `.execute(trx);
  });
}

/**
 * Removes a job whose file a worker no longer has, with its schedule and its alerts, unless another living worker has the file.
 * @returns false if another one has it
 */
export async function forgetJob(db: Kysely<Database>, job: string, by: Owner): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const { rows } = await sql`
      delete from gmsi.jobs j where job = ${job} and not exists (
        select from gmsi.processes p
        where p.process_id <> ${by.processId} and ${isAlive(by.leaseSeconds)} and j.job = any(p.jobs))
      returning 1`.execute(trx);
    if (rows.length === 0) return false;
    // The row stays, because a process may be loading the job, and an operator's pause outlives the file.
    await sql`
      update gmsi.schedules
      set cron = null, due_at = null, resumes_at = null, paused_because = ${operatorsPause}, pause_error = null
      where job = ${job}`.execute(trx);
    await resolveAlert(trx, { job });
    return true;
  });
}

/** A job that the workers know, and the process that has stored this definition. */
export interface StoredJob extends Pick<RegisteredJob, 'job' | 'definition'> {
  readonly registered_by: string;
}

/** Returns the definitions of all jobs that the workers know, or of one, without their secrets. */
export async function storedJobs(db: Kysely<Database>, job?: string): Promise<StoredJob[]> {
  const { rows } = await sql<StoredJob>`
    select job, definition, registered_by from gmsi.jobs where job = coalesce(${job ?? null}, job) order by job`.execute(
    db,
  );
  return rows;
}

/** A row of `gmsi.schedules`. */
export interface StoredSchedule {
  readonly job: string;
  readonly command: JobCommand;
  readonly cron: string | null;
  readonly timezone: string;
  readonly fired_at: Date;
  readonly due_at: Date | null;
  readonly resumes_at: Date | null;
  /** A job that an operator has paused may be due; it is loaded once that pause has ended. */
  readonly paused_because: Pause['because'] | 'operator' | null;
}

/** True unless an operator has paused the job. */
const mayRun = sql<boolean>`s.paused_because is distinct from 'operator'`;

/** A pause that only `resumeJob` ends; null without one. */
const operatorsPause = sql<string | null>`case when paused_because = 'operator' then paused_because end`;

type OfJob = Pick<StoredSchedule, 'job' | 'command'>;

/**
 * Returns the schedules of a worker's jobs that are neither due, being loaded, nor paused by an operator, locked until the transaction ends; without
 * those that another worker has locked.
 */
export async function lockIdleSchedules(
  trx: Transaction<Database>,
  worker: Pick<Owner, 'processId'>,
): Promise<StoredSchedule[]> {
  const { rows } = await sql<StoredSchedule>`
    select s.* from gmsi.schedules s where due_at is null and ${mayRun} and ${runsJob('s.job', worker)}
    order by job, command for update of s skip locked`.execute(trx);
  return rows;
}

/** Corrects times of a schedule that only a wrong clock can have stored. */
export async function correctTimes(
  trx: Transaction<Database>,
  { job, command }: OfJob,
  wrong: Partial<Pick<StoredSchedule, 'fired_at' | 'resumes_at'>>,
): Promise<void> {
  const { fired_at = null, resumes_at = null } = wrong;
  await sql`
    update gmsi.schedules
    set fired_at = coalesce(${fired_at}::timestamptz, fired_at), resumes_at = coalesce(${resumes_at}::timestamptz, resumes_at)
    where job = ${job} and command = ${command}`.execute(trx);
}

/** Makes a job due, and ends its pause, unless that is an operator's. @param at by the database's clock */
export async function markDue(db: Kysely<Database>, { job, command }: OfJob, at: Date): Promise<void> {
  await sql`
    update gmsi.schedules
    set due_at = ${at}, fired_at = ${at}, resumes_at = null, paused_because = ${operatorsPause}, pause_error = null
    where job = ${job} and command = ${command}`.execute(db);
}

/** A job that is due, taken by a worker. */
export interface DueJob extends OfJob {
  /** As text, because it is compared with what is stored: a Date would be cut to the millisecond. */
  readonly due_at: string;
  readonly definition: Readonly<Record<string, unknown>>;
}

/**
 * Takes due jobs that a worker runs, the longest due first: those that no other living process has, and that have not ended
 * within this minute. A time that somebody stores again and again would otherwise load a job without a pause.
 * @returns all due jobs that the worker has: so one is not lost if the reply is, after the server has executed this
 */
export async function takeDueJobs(
  db: Kysely<Database>,
  command: JobCommand,
  { atMost, now, ...owner }: Owner & { readonly atMost: number; readonly now: Date },
): Promise<DueJob[]> {
  const { rows } = await sql<DueJob>`
    with free as (
      select s.job, s.command, j.definition from gmsi.schedules s join gmsi.jobs j using (job)
      where s.due_at is not null and ${mayRun} and s.command = ${command} and s.process_id is distinct from ${owner.processId}
        and ${mayTake('s.process_id', owner)} and ${runsJob('s.job', owner)}
        and date_trunc('minute', s.ended_at) is distinct from date_trunc('minute', ${now}::timestamptz)
      order by s.due_at limit ${atMost} for update of s skip locked
    ), taken as (
      update gmsi.schedules s set process_id = ${owner.processId}
      from free where free.job = s.job and free.command = s.command
      returning s.job, s.command, s.due_at::text, free.definition
    )
    select * from taken
    union all
    select s.job, s.command, s.due_at::text, j.definition from gmsi.schedules s join gmsi.jobs j using (job)
    where s.due_at is not null and ${mayRun} and s.command = ${command} and s.process_id = ${owner.processId}
  `.execute(db);
  return rows;
}

/**
 * Returns the loads of a worker that are still wanted: not those that an operator has stopped or paused, or whose job was
 * removed, and not those that another worker has taken over.
 */
export async function wantedLoads(db: Kysely<Database>, processId: string): Promise<OfJob[]> {
  const { rows } = await sql<OfJob>`
    select s.job, s.command from gmsi.schedules s
    where s.process_id = ${processId} and s.due_at is not null and ${mayRun}`.execute(db);
  return rows;
}

/** Takes a job for a command. @returns false if another living process is loading it */
export async function takeJob(db: Kysely<Database>, { job, command }: OfJob, owner: Owner): Promise<boolean> {
  const { rows } = await sql`
    insert into gmsi.schedules as s (job, command, fired_at, process_id) values (${job}, ${command}, now(), ${owner.processId})
    on conflict (job, command) do update set process_id = excluded.process_id where ${mayTake('s.process_id', owner)}
    returning 1
  `.execute(db);
  return rows.length === 1;
}

/**
 * Why a job is paused. `resumesAt`: at the end of a pause for the budget. One for failures is twice as long as the one before.
 */
export interface Pause {
  readonly because: 'budget' | 'failures';
  readonly error: string;
  readonly resumesAt?: Date;
}

/** The longest pause for failures, in minutes; the first one is of one minute. */
export const longestPause = 60;

/**
 * Ends what a worker has taken. The job stays due if it was made due again meanwhile. A job that was stopped or removed
 * meanwhile does not pause, because it would run again after that; one that an operator has paused stays due if its load
 * did not end.
 * @returns the end of the pause, if there is one; `undefined` also if another worker has taken the job over
 */
export async function endDue(
  db: Kysely<Database>,
  { job, command, due_at }: DueJob,
  processId: string,
  { now, pause }: { readonly now: Date; readonly pause: Pause | undefined },
): Promise<Date | undefined> {
  const minutes = sql`least(2 ^ least(pauses, 10), ${longestPause}::float8)`;
  const isFailure = pause?.because === 'failures';
  const isPause = sql`${pause !== undefined}::boolean`;
  const pauses = sql`(${isPause} and due_at is not null and ${mayRun})`;
  const { rows } = await sql<{ resumes_at: Date | null }>`
    update gmsi.schedules s set process_id = null, ended_at = ${now}::timestamptz,
      due_at = case when ${isPause} and not ${mayRun} then due_at else nullif(due_at, ${due_at}::timestamptz) end,
      resumes_at = case when not ${pauses} then null
                        when ${isFailure}::boolean then ${now}::timestamptz + ${minutes} * interval '1 minute'
                        else ${pause?.resumesAt ?? null}::timestamptz end,
      paused_because = case when ${pauses} then ${pause?.because ?? null} else ${operatorsPause} end,
      pause_error = case when ${pauses} then ${pause?.error ?? null} end,
      pauses = case when ${isFailure}::boolean then pauses + 1 when not ${isPause} then 0 else pauses end
    where job = ${job} and command = ${command} and process_id = ${processId}
    returning resumes_at
  `.execute(db);
  return rows[0]?.resumes_at ?? undefined;
}

/** Leaves a job; if it is due, the next worker takes it. */
export async function leaveJob(
  db: Kysely<Database>,
  { job, command }: OfJob,
  processId: string,
): Promise<void> {
  await sql`
    update gmsi.schedules set process_id = null
    where job = ${job} and command = ${command} and process_id = ${processId}`.execute(db);
}

/** Returns the names of all jobs that workers know, also of those whose files are gone. */
export async function knownJobs(db: Kysely<Database>): Promise<string[]> {
  const { rows } = await sql<{ job: string }>`
    select job from gmsi.jobs union select job from gmsi.schedules order by job`.execute(db);
  return rows.map(({ job }) => job);
}

/** What workers do, or are to do, for a job and a command. */
export interface JobInHand extends Pick<StoredSchedule, 'command' | 'cron' | 'due_at' | 'paused_because'> {
  /** True if a living worker is loading it. */
  readonly is_loading: boolean;
}

/** Returns what workers do, or are to do, for a job. */
export async function jobInHand(
  db: Kysely<Database>,
  job: string,
  leaseSeconds: number,
): Promise<JobInHand[]> {
  const { rows } = await sql<JobInHand>`
    select command, cron, due_at, paused_because,
           -- A person's gmsi sync has the job, too, but goes on.
           due_at is not null and exists (select from gmsi.processes p
             where p.process_id = s.process_id and p.command = 'work' and ${isAlive(leaseSeconds)}) as is_loading
    from gmsi.schedules s where job = ${job} order by command`.execute(db);
  return rows;
}

/**
 * Makes nothing of a job due, and ends its pauses for failures and for the budget; one of an operator goes on. Times of its
 * schedule up to now count as run: otherwise a load that took hours would begin again at once.
 * @param at by the database's clock
 */
export async function stopJob(db: Kysely<Database>, job: string, at: Date): Promise<void> {
  await sql`
    update gmsi.schedules
    set due_at = null, fired_at = greatest(fired_at, ${at}::timestamptz), resumes_at = null, paused_because = ${operatorsPause},
        pause_error = null, pauses = 0
    where job = ${job}`.execute(db);
}

/**
 * Pauses all commands of a job until `resumeJob`, also those that are not scheduled yet. What is due, or paused for another
 * reason, is due at that time.
 * @param at by the database's clock
 */
export async function pauseJob(db: Kysely<Database>, job: string, at: Date): Promise<void> {
  await sql`
    insert into gmsi.schedules as known (job, command, fired_at, paused_because)
    select ${job}, command, ${at}::timestamptz, 'operator'
    from unnest(array['sync', 'backfill', 'refresh']) as every (command)
    on conflict (job, command) do update
    set due_at = case when known.paused_because <> 'operator' then coalesce(known.due_at, ${at}::timestamptz)
                      else known.due_at end,
        paused_because = 'operator', resumes_at = null, pause_error = null`.execute(db);
}

/** Ends an operator's pause of a job. */
export async function resumeJob(db: Kysely<Database>, job: string): Promise<void> {
  await sql`
    update gmsi.schedules set paused_because = null where job = ${job} and paused_because = 'operator'`.execute(
    db,
  );
}

/** Makes the exports of a job due. @param at by the database's clock */
export async function markExportDue(db: Kysely<Database>, job: string, at: Date): Promise<void> {
  await sql`update gmsi.jobs set export_due_at = ${at} where job = ${job}`.execute(db);
}

/** A job whose exports are due. */
export interface DueExport {
  readonly job: string;
  /** As text, because it is compared with what is stored. */
  readonly export_due_at: string;
  /** True within a minute since then. */
  readonly is_new: boolean;
}

/** Returns the jobs whose exports are due. A time in the future is of a clock that was wrong, so it is not new. */
export async function dueExports(db: Kysely<Database>, now: Date): Promise<DueExport[]> {
  const { rows } = await sql<DueExport>`
    select job, export_due_at::text,
           export_due_at <= ${now}::timestamptz and export_due_at > ${now}::timestamptz - interval '1 minute' as is_new
    from gmsi.jobs j where export_due_at is not null order by j.export_due_at`.execute(db);
  return rows;
}

/** Takes the exports of a job, if they are still due. @returns false if another living process is making them */
export async function takeExports(db: Kysely<Database>, job: string, owner: Owner): Promise<boolean> {
  const { rows } = await sql`
    update gmsi.jobs j set export_process_id = ${owner.processId}
    where job = ${job} and export_due_at is not null and ${mayTake('j.export_process_id', owner)} and ${runsJob('j.job', owner)}
    returning 1
  `.execute(db);
  return rows.length === 1;
}

/** Leaves the exports of a job. */
export async function leaveExports(db: Kysely<Database>, job: string, processId: string): Promise<void> {
  await sql`
    update gmsi.jobs set export_process_id = null where job = ${job} and export_process_id = ${processId}`.execute(
    db,
  );
}

/** Stores that a job is exported; not if an export was made due again meanwhile. */
export async function endExportDue(
  db: Kysely<Database>,
  { job, export_due_at }: Pick<DueExport, 'job' | 'export_due_at'>,
): Promise<void> {
  await sql`
    update gmsi.jobs set export_due_at = null where job = ${job} and export_due_at = ${export_due_at}::timestamptz`.execute(
    db,
  );
}
