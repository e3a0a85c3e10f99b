import { type Kysely, sql } from 'kysely';
import type { WindowState } from '../../window/window-state.ts';
import type { Database } from '../tables/database.ts';
import { nextToAskAgain } from './refusals.ts';
import { inScope, isOpen, type WindowScope } from './window-scope.ts';

export type WindowsByState = Record<WindowState, number>;

/** How many windows of a job are in which state. */
export async function countByState(db: Kysely<Database>, scope: WindowScope): Promise<WindowsByState> {
  const { rows } = await sql<{ state: WindowState; windows: number }>`
    select w.state, count(*) as windows from gmsi.windows w where ${inScope(scope)} group by w.state
  `.execute(db);
  const none = { pending: 0, draining: 0, drained: 0, failed: 0, refused: 0 };
  return { ...none, ...Object.fromEntries(rows.map(({ state, windows }) => [state, windows])) };
}

/** Windows that a run drains, by their length in days: the open ones, and of the refused ones a few, or all. */
export async function countByLength(
  db: Kysely<Database>,
  scope: WindowScope,
  refused: 'a few' | 'all',
): Promise<{ days: number; windows: number }[]> {
  const { rows } = await sql<{ days: number; windows: number }>`
    select w.last_day - w.first_day + 1 as days, count(*) as windows from gmsi.windows w
    where ${inScope(scope)} and (${isOpen} or (w.state = 'refused'
      and (${refused} = 'all' or w.window_id in (select window_id from ${nextToAskAgain(scope)} as next))))
    group by 1
  `.execute(db);
  return rows;
}
