import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Database, JobCommand, SchedulesTable } from '../database.ts';

/** A job file as stored for workers that do not have it. */
export interface RegisteredJob {
  readonly job: string;
  readonly definition: Readonly<Record<string, unknown>>;
  /** When each command is due; `undefined` keeps the job's present schedule. */
  readonly schedule:
    | (Readonly<Record<JobCommand, string | null>> & { readonly timezone: string })
    | undefined;
}

/**
 * Stores a job's definition and schedule, as last read from its file. Times before the job was known are not due.
 * @param at by the clock of the schedules
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
    for (const command of ['backfill', 'sync', 'refresh'] as const) {
      await trx
        .insertInto('gmsi.schedules')
        .values({
          job,
          command,
          fired_at: at,
          ...(schedule && { cron: schedule[command], timezone: schedule.timezone }),
        })
        .onConflict((conflict) => {
          const known = conflict.columns(['job', 'command']);
          if (!schedule) return known.doNothing();
          return known.doUpdateSet((eb) => ({
            cron: eb.ref('excluded.cron'),
            timezone: eb.ref('excluded.timezone'),
            // A new schedule is not due for times before it.
            fired_at: sql<Date>`case when schedules.cron is null then excluded.fired_at else schedules.fired_at end`,
          }));
        })
        .execute();
    }
  });
}

/** Removes the schedule of a job whose file no longer has one. */
export async function unscheduleJob(db: Kysely<Database>, job: string): Promise<void> {
  await db.updateTable('gmsi.schedules').set({ cron: null }).where('job', '=', job).execute();
}

/** Returns the stored definition of a job; `undefined` if it was removed meanwhile. */
export async function readDefinition(
  db: Kysely<Database>,
  job: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const row = await db.selectFrom('gmsi.jobs').select('definition').where('job', '=', job).executeTakeFirst();
  return row?.definition as Readonly<Record<string, unknown>> | undefined;
}

export type StoredSchedule = Selectable<SchedulesTable>;

/** Returns every schedule, locked against other workers until the transaction ends. */
export async function lockSchedules(db: Kysely<Database>): Promise<StoredSchedule[]> {
  return db.selectFrom('gmsi.schedules').selectAll().orderBy('job').orderBy('command').forUpdate().execute();
}

/** Stores that a job has begun; it is no longer paused. */
export async function noteFired(
  db: Kysely<Database>,
  { job, command }: Pick<StoredSchedule, 'job' | 'command'>,
  at: Date,
): Promise<void> {
  await db
    .updateTable('gmsi.schedules')
    .set({ fired_at: at, resumes_at: null, paused_because: null, pause_error: null })
    .where('job', '=', job)
    .where('command', '=', command)
    .execute();
}

/**
 * Pauses a job. How long depends on how many times in a row it was paused for failures before.
 *
 * @returns the end of the pause
 */
export async function pauseSchedule(
  trx: Transaction<Database>,
  { job, command }: Pick<StoredSchedule, 'job' | 'command'>,
  pause: { because: 'budget' | 'failures'; error: string; resumesAt: (pausesBefore: number) => Date },
): Promise<Date> {
  const schedule = await trx
    .selectFrom('gmsi.schedules')
    .select('pauses')
    .where('job', '=', job)
    .where('command', '=', command)
    .forUpdate()
    .executeTakeFirst();
  // No row if the job was removed from the schedule during its run, which must still end.
  const pauses = schedule?.pauses ?? 0;
  const resumesAt = pause.resumesAt(pauses);
  await trx
    .updateTable('gmsi.schedules')
    .set({
      resumes_at: resumesAt,
      paused_because: pause.because,
      pause_error: pause.error,
      ...(pause.because === 'failures' ? { pauses: pauses + 1 } : {}),
    })
    .where('job', '=', job)
    .where('command', '=', command)
    .execute();
  return resumesAt;
}

/** Ends a job's pause after a complete run, so that its next pause is a short one again. */
export async function forgetPauses(
  db: Kysely<Database>,
  { job, command }: Pick<StoredSchedule, 'job' | 'command'>,
): Promise<void> {
  await db
    .updateTable('gmsi.schedules')
    .set({ pauses: 0, resumes_at: null, paused_because: null, pause_error: null })
    .where('job', '=', job)
    .where('command', '=', command)
    .execute();
}
