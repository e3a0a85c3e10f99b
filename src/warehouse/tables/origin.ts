import { type Kysely, sql } from 'kysely';
import { ConfigError } from '../../errors.ts';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';

export type ServedBy = 'service' | 'sandbox';

/** Stores who fills this warehouse, unless that is stored already, and from which addresses. @returns who fills it */
async function claimOrigin(
  db: Kysely<Database>,
  servedBy: ServedBy,
  addresses: readonly string[],
): Promise<ServedBy> {
  await sql`
    insert into gmsi.origin as origin (served_by, addresses) values (${servedBy}, ${addresses}::text[])
    on conflict (only_row) do update
    set addresses = origin.addresses || array(select unnest(excluded.addresses) except select unnest(origin.addresses))
    where origin.served_by = excluded.served_by and not origin.addresses @> excluded.addresses
  `.execute(db);
  const { rows } = await sql<{ served_by: ServedBy }>`select served_by from gmsi.origin`.execute(db);
  return rows[0]?.served_by ?? servedBy;
}

/** Returns true if an answer of this address was ever loaded, by whatever process. */
export async function hasAnswered(db: Kysely<Database>, address: string): Promise<boolean> {
  const { rows } = await sql`select from gmsi.origin where addresses @> ${[address]}::text[]`.execute(db);
  return rows.length > 0;
}

/** Keeps headlines from the sandbox and from the service in separate warehouses. */
export interface Origin {
  /**
   * @param addresses those that have answered
   * @throws ConfigError if the other of service and sandbox filled the warehouse
   */
  check(servedBy: ServedBy | undefined, addresses?: ReadonlySet<string>): Promise<void>;
}

/** A warehouse belongs to whoever filled it first: days that a sandbox covered would never be loaded from the service. */
export function originOf(warehouse: Warehouse): Origin {
  let checked: Promise<void> | undefined;
  let stored = 0;
  return {
    check(servedBy, addresses = new Set()) {
      if (servedBy === undefined) return Promise.resolve();
      if (checked && stored === addresses.size) return checked;
      stored = addresses.size;
      checked = claimOrigin(warehouse, servedBy, [...addresses]).then((origin) => {
        if (origin !== servedBy) throw mixedUp(origin);
      });
      return checked;
    },
  };
}

function mixedUp(origin: ServedBy): ConfigError {
  const [real, made] = ['real headlines', 'made-up headlines from a sandbox'];
  const [held, others] = origin === 'sandbox' ? [made, real] : [real, made];
  return new ConfigError(`This warehouse contains ${held}; gmsi does not mix in ${others}.`, {
    hint: `${origin === 'sandbox' ? 'Remove the demo (gmsi demo --remove), or set' : 'Set'} DATABASE_URL to another database, or GMSI_HOME to another folder.`,
  });
}
