import { sql } from 'kysely';
import type { Sandbox } from '#sandbox';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { servedBy, type TruthScope } from '../support/truth.ts';
import { sqlIn } from '../support/warehouse-state.ts';

/** Ends the server's process that writes a certain headline, or any, the first so many times. */
export async function breakAt(db: Warehouse, headlineId: string | undefined, times: number): Promise<void> {
  const isMeant = headlineId === undefined ? sql`true` : sql`new.headline_id = ${sql.lit(headlineId)}`;
  await sqlIn(db)`
    create sequence gmsi.broken;
    create function gmsi.break_off() returns trigger language plpgsql as $$
    begin
      -- Counted also by a transaction that is never committed.
      if nextval('gmsi.broken') <= ${sql.lit(times)} then perform pg_terminate_backend(pg_backend_pid()); end if;
      return new;
    end $$;
    create trigger break_off before insert on gmsi.headlines for each row
      when (${isMeant}) execute function gmsi.break_off()`;
}

/** How often what `breakAt` is meant for was written, or was to be. */
export async function timesWritten(db: Warehouse): Promise<number> {
  const rows = await sqlIn(db)<{ times: number }>`
    select case when is_called then last_value else 0 end as times from gmsi.broken`;
  return rows[0]!.times;
}

/** A headline in the middle of the first half of September in one country. */
export function someHeadline(sandbox: Sandbox, scope: TruthScope, country: string): string {
  const held = servedBy(sandbox, { ...scope, countries: [country], to: '2026-09-15' });
  return held[Math.floor(held.length / 2)]![3] as string;
}
