import { openService, openWarehouse, type Session, serviceAccess } from '../compose.ts';
import { likelyQuota } from '../config/job-keys.ts';
import { defaultServiceSettings } from '../config/service-schema.ts';
import { refreshList } from '../load/resolve-load.ts';
import { KeyRefused, LookupUnreadable, RequestRefused } from '../service/errors.ts';
import { printResult, snakeCased } from '../terminal/print.ts';
import { count, nextStep, tableOf } from '../terminal/table.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { type ListName, readLookups, type StoredLookups } from '../warehouse/tables/lookups.ts';
import { originOf } from '../warehouse/tables/origin.ts';
import { type Command, examples, gmsiCommand } from './command.ts';

/** GMSI feeds need the first two; the others are for asset feeds, which some keys do not include. */
const lists: readonly ListName[] = ['countries', 'topics', 'tickers', 'sources', 'languages'];
const optional: ReadonlySet<ListName> = new Set(['tickers', 'sources', 'languages']);

const define = (lookups: Command) =>
  lookups
    .argument('[words]', 'only show the stored names that contain these words; no request')
    .addHelpText('after', examples('gmsi lookups', 'gmsi lookups germany'));

/**
 * `gmsi lookups [<words>]`: refreshes and lists the names that job files can use; with words, only those that match in the
 * stored lists, which are refreshed if there are none.
 */
export const lookups = gmsiCommand({ define, schemaUse: 'makes embedded' }, async (session, words) => {
  if (words === undefined) serviceAccess(session);
  await using warehouse = await openWarehouse(session);
  const stored = words === undefined ? undefined : await readLookups(warehouse.patient);
  const isStored = stored && stored.countries.length > 0 && stored.topics.length > 0;
  const { lookups, requests } = isStored
    ? { lookups: stored, requests: 0 }
    : await refreshAll(session, warehouse.patient);
  const found = words === undefined ? lookups : matching(lookups, words);
  printResult(session, snakeCased(found), () => describe(found, words, requests));
});

async function refreshAll(session: Session, warehouse: Warehouse) {
  const { log, clock, stop } = session;
  await using service = await openService(session, warehouse, defaultServiceSettings, likelyQuota);
  const origin = originOf(warehouse);
  for (const list of lists) {
    try {
      await refreshList(warehouse, service.client, origin, list, { clock, signal: stop });
    } catch (error) {
      if (!optional.has(list) || !isRefusal(error)) throw error;
      log.warn(`${list} were not refreshed, so jobs can only use those loaded before: ${error.message}`);
    }
  }
  return { lookups: await readLookups(warehouse), requests: service.client.requests };
}

/** Returns the entries whose code or name contains the words, regardless of case. */
function matching(lookups: StoredLookups, words: string): StoredLookups {
  const wanted = words.toLowerCase();
  const isMatch = (row: object) => Object.values(row).some((text) => text?.toLowerCase().includes(wanted));
  const found = lists.map((list) => [list, lookups[list].filter(isMatch)]);
  return { ...lookups, ...Object.fromEntries(found) };
}

/** The same key has already read countries and topics, so a refusal concerns this list only. */
function isRefusal(error: unknown): error is Error {
  return error instanceof KeyRefused || error instanceof RequestRefused || error instanceof LookupUnreadable;
}

function describe(lookups: StoredLookups, words: string | undefined, requests: number): string {
  const { countries, topics, tickers, sources, languages } = lookups;
  const ofAssets = Object.entries({ ticker: tickers, source: sources, language: languages });
  const listed = [
    tableOf(countries, { country: 'code', name: 'name' }),
    tableOf(topics, { topic: 'name', category: 'category' }),
    ...ofAssets.map(([what, rows]) => tableOf(rows, { [what]: 'code', name: 'name' })),
  ].filter((text) => text !== '');
  const counts = [
    count(countries.length, 'country', 'countries'),
    count(topics.length, 'topic'),
    ...ofAssets.map(([what, rows]) => count(rows.length, what)),
  ];
  const spent = requests > 0 ? `, for ${count(requests, 'request')}` : '';
  if (listed.length === 0) return `No name in the lists contains "${words}"${spent}.\n`;
  if (words !== undefined) return `${listed.join('\n\n')}\n`;
  return `${listed.join('\n\n')}\n\n${counts.join(', ')}${spent}\n${nextStep('status')}`;
}
