import { type Kysely, sql } from 'kysely';
import type { Database } from '../database.ts';
import { mayTake, type Owner } from './processes.ts';

export type AlertKind =
  | 'failed windows'
  | 'budget'
  | 'late'
  | 'rows gone'
  | 'load failed'
  | 'key refused'
  | 'export failed'
  | 'check failed'
  | 'fields changed'
  | 'job file';

/** A kind of problem of a job. At most one alert is open for it at a time. */
export interface AlertCause {
  readonly job: string;
  readonly kind: AlertKind;
}

/** An alert whose beginning or end must be sent. */
export interface DueAlert extends AlertCause {
  readonly alert_id: number;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly raised_at: Date;
  /** Set if the end must be sent. */
  readonly resolved_at: Date | null;
}

/** Stores that a cause exists: opens an alert, or updates the open one. */
export async function raiseAlert(
  db: Kysely<Database>,
  { job, kind }: AlertCause,
  { message, details }: { message: string; details: object },
): Promise<void> {
  await sql`
    insert into gmsi.alerts (job, kind, message, details) values (${job}, ${kind}, ${message}, ${JSON.stringify(details)}::jsonb)
    on conflict (job, kind) where resolved_at is null
    do update set message = excluded.message, details = excluded.details, seen_at = now()
  `.execute(db);
}

/** Resolves the open alert for a cause, if there is one; without a kind, all open alerts of a job. */
export async function resolveAlert(
  db: Kysely<Database>,
  { job, kind }: Pick<AlertCause, 'job'> & Partial<AlertCause>,
): Promise<void> {
  await sql`
    update gmsi.alerts set resolved_at = now()
    where job = ${job} and kind = coalesce(${kind ?? null}, kind) and resolved_at is null
  `.execute(db);
}

/** The end of an alert is reported only if its beginning was. */
const mustBeSent = sql<boolean>`
  case when resolved_at is null then sent_at is null else sent_at is not null and resolution_sent_at is null end`;

/** Returns those of some jobs that have an alert to send. */
export async function jobsWithDueAlerts(db: Kysely<Database>, jobs: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ job: string }>`
    select distinct job from gmsi.alerts where job = any(${[...jobs]}::text[]) and ${mustBeSent} order by job`.execute(
    db,
  );
  return rows.map(({ job }) => job);
}

/** Claims the alerts of a job that must be sent, and that no other living process is sending. */
export async function claimDueAlerts(db: Kysely<Database>, job: string, sender: Owner): Promise<DueAlert[]> {
  const { rows } = await sql<DueAlert>`
    update gmsi.alerts set process_id = ${sender.processId}
    where alert_id in (
      select alert_id from gmsi.alerts a
      where job = ${job} and ${mustBeSent} and ${mayTake('a.process_id', sender)}
      order by alert_id for update skip locked
    )
    returning alert_id, job, kind, message, details, raised_at, resolved_at
  `.execute(db);
  return rows;
}

/** Stores that a claimed alert, or its end, was sent. */
export async function markSent(
  db: Kysely<Database>,
  { alert_id, resolved_at }: Pick<DueAlert, 'alert_id' | 'resolved_at'>,
): Promise<void> {
  const column = sql.ref(resolved_at === null ? 'sent_at' : 'resolution_sent_at');
  await sql`
    update gmsi.alerts set ${column} = now() where alert_id = ${alert_id}
  `.execute(db);
}
