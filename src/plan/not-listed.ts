import { GmsiError } from '../errors.ts';
import { completenessOf } from '../questions/status.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { WindowScope } from '../warehouse/tables/series.ts';

/** Names of a job have left the service's lists. Their series are not loaded; the others are. */
export class NotListed extends GmsiError {
  override readonly kind = 'job';
  readonly names: readonly string[];

  constructor(names: readonly string[]) {
    const whose = names.length === 1 ? 'its' : 'their';
    super(`The service no longer lists ${names.join(', ')}, so ${whose} missing days are not loaded.`, {
      hint:
        'gmsi lookups reads the lists again. If a name has gone for good, remove it from the job file; instead of all or a ' +
        'glob, list the names.',
    });
    this.names = names;
  }
}

/** Returns the part of a job that can be requested: the series whose names the service lists. */
export function listedPart({ unlisted = [], ...scope }: WindowScope): WindowScope {
  const left = { ...scope };
  for (const { list, name } of unlisted) left[list] = left[list].filter((one) => one !== name);
  return left;
}

/** Returns the error that names what has left the service's lists, as far as days of it are missing; `undefined` for none. */
export async function notListed(db: Warehouse, scope: WindowScope): Promise<NotListed | undefined> {
  const names: string[] = [];
  for (const { list, name } of scope.unlisted ?? []) {
    // Unsettled days count as well.
    const { covered, wanted } = await completenessOf(db, { ...scope, [list]: [name] }, 'infinity');
    if (covered < wanted) names.push(`${kinds[list]} ${name}`);
  }
  return names.length > 0 ? new NotListed(names) : undefined;
}

const kinds = { countries: 'country', topics: 'topic', tickers: 'ticker' } as const;
