import { ConfigError } from '../errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { claimOrigin, type ServedBy } from '../warehouse/tables/origin.ts';

/** Keeps headlines of the sandbox and of the service in separate warehouses. */
export interface Origin {
  /** @throws ConfigError if the warehouse was filled by the other one of service and sandbox */
  check(servedBy: ServedBy | undefined): Promise<void>;
}

/**
 * Days that a sandbox has covered would never be loaded from the service, so a warehouse belongs to whoever filled it first.
 */
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
        'This warehouse holds headlines that a sandbox made up; headlines of the service must not be mixed in.',
        {
          hint: 'Set DATABASE_URL to an empty database, or GMSI_HOME to an empty folder.',
        },
      )
    : new ConfigError(
        'This warehouse holds headlines of the service; a sandbox must not mix made-up ones in.',
        {
          hint: 'Give the sandbox a warehouse of its own: another DATABASE_URL, or another GMSI_HOME.',
        },
      );
}
