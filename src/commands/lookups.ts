import { openService, openWarehouse, type Session, serviceAccess } from '../compose.ts';
import { likelyQuota } from '../config/job-keys.ts';
import { defaultServiceSettings } from '../config/service-schema.ts';
import { ConfigError } from '../errors.ts';
import { originOf } from '../load/origin.ts';
import { refreshList } from '../load/resolve-load.ts';
import { KeyRefused, LookupUnreadable, RequestRefused } from '../service/errors.ts';
import { searchCountries } from '../service/lookups.ts';
import { print, printJson } from '../terminal/print.ts';
import { count, nextStep, table } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type ListName, readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';

export interface LookupsOptions {
  readonly search?: string;
  /** The query parameter for `search`; its default is a guess (docs/service.md, "Lookups"). */
  readonly parameter: string;
}

/** GMSI feeds need the first two; the others are for asset feeds, which some keys do not include. */
const lists: readonly ListName[] = ['countries', 'topics', 'tickers', 'sources', 'languages'];
const optional: ReadonlySet<ListName> = new Set(['tickers', 'sources', 'languages']);

/** `gmsi lookups`: refreshes and lists the names that job files can use, or searches the service's countries. */
export async function lookupsCommand(
  session: Session,
  { search, parameter }: LookupsOptions,
): Promise<number> {
  serviceAccess(session);
  await using warehouse = await openWarehouse(session);
  await using service = openService(session, warehouse.db, defaultServiceSettings, likelyQuota);
  const result =
    search === undefined
      ? await refreshAll(session, warehouse.db, service)
      : await searchCountries(service.client, { words: search, parameter }, session.stop).catch(refused);
  if (session.json) printJson(result);
  else if ('countries' in result) print(describe(result, service.client.stats().requests));
  else print(result.length === 0 ? 'no country matches\n' : `${codes('country', result)}\n`);
  return 0;
}

async function refreshAll(
  { log, stop }: Session,
  warehouse: Warehouse,
  { client }: ReturnType<typeof openService>,
): Promise<StoredLookups> {
  const origin = originOf(warehouse);
  for (const list of lists) {
    try {
      await refreshList(warehouse, client, origin, list, stop);
    } catch (error) {
      if (!optional.has(list) || !isRefusal(error)) throw error;
      log.warn(`${list} were not refreshed, so jobs can only use those loaded before: ${error.message}`);
    }
  }
  return readLookups(warehouse);
}

/** If the service refuses a search, the likely cause is the parameter's name, which is a guess. */
function refused(cause: unknown): never {
  if (!(cause instanceof RequestRefused)) throw cause;
  throw new ConfigError(cause.message, {
    cause,
    hint: 'If the query parameter has another name, pass it with --parameter.',
  });
}

/** The same key has already read countries and topics, so a refusal concerns this list only. */
function isRefusal(error: unknown): error is Error {
  return error instanceof KeyRefused || error instanceof RequestRefused || error instanceof LookupUnreadable;
}

function describe(stored: StoredLookups, requests: number): string {
  const { countries, topics, tickers, sources, languages } = stored;
  const ofAssets = Object.entries({ ticker: tickers, source: sources, language: languages });
  const listed = [
    codes('country', countries),
    table(
      ['topic', 'category'],
      topics.map(({ name, category }) => [name, category]),
    ),
    ...ofAssets.flatMap(([what, rows]) => (rows.length > 0 ? codes(what, rows) : [])),
  ];
  const counts = [
    count(countries.length, 'country', 'countries'),
    count(topics.length, 'topic'),
    ...ofAssets.map(([what, rows]) => count(rows.length, what)),
  ];
  return `${listed.join('\n\n')}\n\n${counts.join(', ')}, for ${count(requests, 'request')}\n${nextStep('jobs')}`;
}

function codes(head: string, rows: readonly { code: string; name: string | null }[]): string {
  return table(
    [head, 'name'],
    rows.map(({ code, name }) => [code, name]),
  );
}
