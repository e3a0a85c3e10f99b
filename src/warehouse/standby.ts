import { sql } from 'kysely';
import type { Warehouse } from './connect.ts';
import { WarehouseUnavailable } from './errors.ts';

/** A server that only replays what the primary has written. */
export interface Standby {
  /** When the last replayed transaction was committed. The standby has all that was committed before. */
  readonly replayedTo: Date;
  /** By the standby's clock. If nothing is written, this grows although nothing is missing. */
  readonly behindSeconds: number;
}

/** The time up to which a server has everything: on a standby, that of the last replayed commit, or null before the first one. */
export const completeTo = sql<Date | null>`
  case when pg_is_in_recovery() then pg_last_xact_replay_timestamp() else clock_timestamp() end`;

/**
 * Returns how current a standby is; `undefined` for a server that takes writes.
 * @throws WarehouseUnavailable if the standby has not replayed a transaction since its start
 */
export async function readStandby(warehouse: Warehouse): Promise<Standby | undefined> {
  const { rows } = await sql<{ isStandby: boolean; replayedTo: Date | null; behindSeconds: number }>`
    select pg_is_in_recovery() as "isStandby", ${completeTo} as "replayedTo",
           greatest(0, extract(epoch from clock_timestamp() - ${completeTo}))::float8 as "behindSeconds"
  `.execute(warehouse);
  const { isStandby, replayedTo, behindSeconds } = rows[0]!;
  if (!isStandby) return undefined;
  if (replayedTo === null) throw notReplaying();
  return { replayedTo, behindSeconds };
}

export function notReplaying(): WarehouseUnavailable {
  return new WarehouseUnavailable(
    'The standby has not replayed a transaction since its start, so it is not known how current it is.',
    {
      hint: 'Wait for the next write to the primary; check on the standby that pg_stat_wal_receiver has a row.',
    },
  );
}
