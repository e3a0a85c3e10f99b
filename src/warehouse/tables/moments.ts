import { type Selectable, sql } from 'kysely';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';
import { exactTime } from '../exact-time.ts';
import { databaseTime } from '../health.ts';

export interface NamedMoment extends Omit<Selectable<Database['gmsi.moments']>, 'at'> {
  /** As text (UTC), to the microsecond. */
  readonly at: string;
}

/** Names begin with a letter, so that no time is one. */
export const momentName = /^[A-Za-z][\w.-]{0,62}$/;

const columns = ['name', exactTime('at').as('at'), 'note', 'taken_at', 'taken_by'] as const;

/** Returns the named moments, the earliest first. @param since only those from this moment on */
export async function readMoments(warehouse: Warehouse, since = '-infinity'): Promise<NamedMoment[]> {
  return warehouse
    .selectFrom('gmsi.moments')
    .select(columns)
    .where('at', '>=', sql<Date>`${since}::timestamptz`)
    .orderBy('gmsi.moments.at')
    .orderBy('name')
    .execute();
}

/**
 * Gives a moment a name; by default the time of the database. A repetition after a lost reply finds the moment that it has named.
 * @returns `undefined` if the name is taken
 */
export async function nameMoment(
  warehouse: Warehouse,
  {
    name,
    at,
    note,
    takenBy,
  }: { name: string; at: string | undefined; note: string | undefined; takenBy: string },
): Promise<NamedMoment | undefined> {
  const moment = at ?? (await databaseTime(warehouse)).toISOString();
  return warehouse
    .insertInto('gmsi.moments')
    .values({
      name,
      at: sql<Date>`${moment}::timestamptz`,
      note: note ?? null,
      taken_by: takenBy,
    })
    .onConflict((named) =>
      named
        .column('name')
        .doUpdateSet((eb) => ({ name: eb.ref('excluded.name') }))
        .whereRef('gmsi.moments.at', '=', 'excluded.at')
        .whereRef('gmsi.moments.taken_by', '=', 'excluded.taken_by'),
    )
    .returning(columns)
    .executeTakeFirst();
}

/** Frees a name. */
export async function forgetMoment(warehouse: Warehouse, name: string): Promise<void> {
  await warehouse.deleteFrom('gmsi.moments').where('name', '=', name).execute();
}
