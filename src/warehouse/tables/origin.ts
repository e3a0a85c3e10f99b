import type { Kysely } from 'kysely';
import { ConfigError } from '../../errors.ts';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';

export type ServedBy = 'service' | 'sandbox';

/** Stores who fills this warehouse, unless that is stored already. @returns who fills it */
async function claimOrigin(db: Kysely<Database>, servedBy: ServedBy): Promise<ServedBy> {
  await db
    .insertInto('gmsi.origin')
    .values({ served_by: servedBy })
    .onConflict((c) => c.doNothing())
    .execute();
  const row = await db.selectFrom('gmsi.origin').select('served_by').executeTakeFirst();
  return row?.served_by ?? servedBy;
}

/** Keeps headlines from the sandbox and from the service in separate warehouses. */
export interface Origin {
  /** @throws ConfigError if the other of service and sandbox filled the warehouse */
  check(servedBy: ServedBy | undefined): Promise<void>;
}

/** A warehouse belongs to whoever filled it first: days that a sandbox covered would never be loaded from the service. */
export function originOf(warehouse: Warehouse): Origin {
  let checked: Promise<void> | undefined;
  return {
    check(servedBy) {
      if (servedBy === undefined) return Promise.resolve();
      checked ??= claimOrigin(warehouse, servedBy).then((origin) => {
        if (origin !== servedBy) throw mixedUp(origin);
      });
      return checked;
    },
  };
}

function mixedUp(origin: ServedBy): ConfigError {
  return origin === 'sandbox'
    ? new ConfigError(
        'This warehouse contains made-up headlines from a sandbox; gmsi does not mix real ones in.',
        { hint: 'Set DATABASE_URL to an empty database, or GMSI_HOME to an empty folder.' },
      )
    : new ConfigError(
        'This warehouse contains real headlines; gmsi does not mix in made-up ones from a sandbox.',
        { hint: 'Use another DATABASE_URL or GMSI_HOME for the sandbox.' },
      );
}
