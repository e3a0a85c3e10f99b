import { KeyRefused, RequestRefused } from '../api/errors.ts';
import { openService, openWarehouse, type Session, serviceAccess } from '../compose.ts';
import { likelyQuota } from '../job/schema.ts';
import { defaultServiceSettings } from '../job/service-settings.ts';
import { originOf } from '../pipeline/origin.ts';
import { refreshList } from '../pipeline/resolve-job.ts';
import { count, table } from '../terminal/table.ts';
import { type ListName, readLookups } from '../warehouse/queries/lookups.ts';

/** The first two every load needs; the others are for feeds of assets, which a key may not include. */
const lists: readonly ListName[] = ['countries', 'topics', 'tickers', 'sources', 'languages'];

/** `gmsi lookups`: refreshes and lists what job files can name. */
export async function lookupsCommand(session: Session): Promise<number> {
  serviceAccess(session);
  await using warehouse = await openWarehouse(session);
  await using service = openService(session, warehouse.db, defaultServiceSettings, likelyQuota);
  const origin = originOf(warehouse.db);
  for (const list of lists) {
    try {
      await refreshList(warehouse.db, service.client, origin, list, session.stop);
    } catch (error) {
      const isOptional = list !== 'countries' && list !== 'topics';
      if (!isOptional || !(error instanceof KeyRefused || error instanceof RequestRefused)) throw error;
      session.log.warn(`${list} were not refreshed: ${error.message}`);
    }
  }
  const stored = await readLookups(warehouse.db);
  if (session.json) {
    process.stdout.write(`${JSON.stringify(stored, null, 2)}\n`);
    return 0;
  }
  const named = (head: string, rows: readonly { code: string; name: string | null }[]) =>
    rows.length === 0
      ? []
      : [
          table(
            [head, 'name'],
            rows.map(({ code, name }) => [code, name]),
          ),
        ];
  const { countries, topics, tickers, sources, languages } = stored;
  process.stdout.write(
    `${[
      ...named('country', countries),
      table(
        ['topic', 'category'],
        topics.map(({ name, category }) => [name, category]),
      ),
      ...named('ticker', tickers),
      ...named('source', sources),
      ...named('language', languages),
      `${count(countries.length, 'country', 'countries')}, ${count(topics.length, 'topic')}, ${count(tickers.length, 'ticker')}, ` +
        `${count(sources.length, 'source')} and ${count(languages.length, 'language')}, for ${count(service.client.stats().requests, 'request')}`,
    ].join('\n\n')}\n`,
  );
  return 0;
}
