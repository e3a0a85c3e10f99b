import { type Selectable, sql } from 'kysely';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';

export type NamedMoment = Selectable<Database['gmsi.moments']>;

/** Names begin with a letter, so that no time is one. */
export const momentName = /^[A-Za-z][\w.-]{0,62}$/;

export async function readMoments(warehouse: Warehouse): Promise<NamedMoment[]> {
  return warehouse.selectFrom('gmsi.moments').selectAll().orderBy('at').orderBy('name').execute();
}

/**
 * Gives a moment a name; by default the time of the database.
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
  return warehouse
    .insertInto('gmsi.moments')
    .values({
      name,
      at: sql<Date>`date_trunc('milliseconds', coalesce(${at ?? null}::timestamptz, now()))`,
      note: note ?? null,
      taken_by: takenBy,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

/** @returns false if no moment has that name */
export async function forgetMoment(warehouse: Warehouse, name: string): Promise<boolean> {
  const { numDeletedRows } = await warehouse
    .deleteFrom('gmsi.moments')
    .where('name', '=', name)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
