import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { FeedTable, Series } from '../../feeds/feed.ts';
import type { Database } from '../tables/database.ts';
import type { ClaimedWindow } from './claims.ts';
import { isInDaysOfWindow } from './retract.ts';

/** A row by its time, `YYYY-MM-DDTHH:MM:SS.ffffffZ`, and its id. */
export interface MetRow {
  readonly time: string;
  readonly id: string;
}

/**
 * The rows that a half-drained window has met so far. A compared window has noted them. Of another, its days held no row
 * when the drain began, so all that they hold now: rows that something else has brought meanwhile are among them, and
 * are then not counted as met. That is never too many.
 */
export async function metSoFar(
  db: Kysely<Database>,
  { table, series }: { readonly table: FeedTable; readonly series: Series },
  { window_id, is_compared }: ClaimedWindow,
  atMost: number,
): Promise<MetRow[]> {
  const [time, id] = table.key.map((column) => sql.ref(`kept.${column}`)) as [
    RawBuilder<unknown>,
    RawBuilder<unknown>,
  ];
  const noted = sql`
    select unnest(s.row_times) as time, unnest(s.row_ids) as id from gmsi.drain_sightings s
    where s.window_id = ${window_id}`;
  const held = sql`
    select ${time} as time, ${id} as id
    from gmsi.windows w join ${sql.table(`gmsi.${table.name}`)} as kept on ${isInDaysOfWindow(table, series)}
    where w.window_id = ${window_id}`;
  const { rows } = await sql<MetRow>`
    select to_char(met.time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as time, met.id
    from (${is_compared ? noted : held}) as met limit ${atMost}
  `.execute(db);
  return rows;
}
