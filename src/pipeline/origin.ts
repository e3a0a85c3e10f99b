import { ConfigError } from '../errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { claimOrigin, type ServedBy } from '../warehouse/queries/origin.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** Keeps made-up headlines and bought ones out of each other's warehouse. */
export interface Origin {
  /** @throws ConfigError where the warehouse was filled by the other one of service and sandbox */
  check(servedBy: ServedBy | undefined): Promise<void>;
}

/** Days that a sandbox has covered would never be bought, so a warehouse belongs to whoever filled it first. */
export function originOf(warehouse: Warehouse): Origin {
  let checked: Promise<void> | undefined;
  return {
    check(servedBy) {
      if (servedBy === undefined) return Promise.resolve();
      checked ??= withWarehouseRetries(() => claimOrigin(warehouse, servedBy)).then((origin) => {
        if (origin !== servedBy) throw mixedUp(origin);
      });
      return checked;
    },
  };
}

function mixedUp(origin: ServedBy): ConfigError {
  return origin === 'sandbox'
    ? new ConfigError(
        'This warehouse holds headlines that a sandbox made up; bought ones must not be mixed in.',
        {
          hint: 'Set DATABASE_URL to an empty database, or GMSI_HOME to an empty folder.',
        },
      )
    : new ConfigError('This warehouse holds bought headlines; a sandbox must not mix made-up ones in.', {
        hint: 'Give the sandbox a warehouse of its own: another DATABASE_URL, or another GMSI_HOME.',
      });
}
