import { sql } from 'kysely';
import type { Warehouse } from '../connect.ts';
import { exactTime } from '../exact-time.ts';
import { databaseTime } from '../health.ts';

export interface NamedMoment {
  readonly name: string;
  /** As text (UTC), to the microsecond. */
  readonly at: string;
  readonly note: string | null;
  readonly taken_at: Date;
  readonly taken_by: string;
}

/** Names begin with a letter, so that no time is one. */
export const momentName = /^[A-Za-z][\w.-]{0,62}$/;

const columns = sql`name, ${exactTime('m.at')} as at, note, taken_at, taken_by`;

/** Returns the named moments, the earliest first. @param since only those from this moment on */
export async function readMoments(warehouse: Warehouse, since = '-infinity'): Promise<NamedMoment[]> {
  const { rows } = await sql<NamedMoment>`
    select ${columns} from gmsi.moments m where m.at >= ${since}::timestamptz order by m.at, name`.execute(
    warehouse,
  );
  return rows;
}

/**
 * Gives a moment a name; by default the time of the database. A repetition after a lost reply finds the moment that it has named.
 * @returns `undefined` if the name is taken
 */
export async function nameMoment(
  warehouse: Warehouse,
  named: { name: string; at: string | undefined; note: string | undefined; takenBy: string },
): Promise<NamedMoment | undefined> {
  const { name, at, note = null, takenBy } = named;
  const moment = at ?? (await databaseTime(warehouse)).toISOString();
  const { rows } = await sql<NamedMoment>`
    insert into gmsi.moments as m (name, at, note, taken_by) values (${name}, ${moment}::timestamptz, ${note}, ${takenBy})
    on conflict (name) do update set name = excluded.name where m.at = excluded.at and m.taken_by = excluded.taken_by
    returning ${columns}`.execute(warehouse);
  return rows[0];
}

/** Frees a name. */
export async function forgetMoment(warehouse: Warehouse, name: string): Promise<void> {
  await sql`delete from gmsi.moments where name = ${name}`.execute(warehouse);
}
