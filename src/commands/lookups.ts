import { openService, openWarehouse, type Session, serviceAccess } from '../compose.ts';
import { likelyQuota } from '../job/schema.ts';
import { defaultServiceSettings } from '../job/service-settings.ts';
import { originOf } from '../pipeline/origin.ts';
import { refreshLookups } from '../pipeline/resolve-job.ts';
import { count, table } from '../terminal/table.ts';

/** `gmsi lookups`: refreshes and lists what job files can name. */
export async function lookupsCommand(session: Session): Promise<number> {
  serviceAccess(session);
  await using warehouse = await openWarehouse(session);
  await using service = openService(session, warehouse.db, defaultServiceSettings, likelyQuota);
  const { countries, topics } = await refreshLookups(
    warehouse.db,
    service.client,
    originOf(warehouse.db),
    session.stop,
  );
  if (session.json) {
    process.stdout.write(`${JSON.stringify({ countries, topics }, null, 2)}\n`);
    return 0;
  }
  process.stdout.write(
    `${table(
      ['country', 'name'],
      countries.map(({ code, name }) => [code, name]),
    )}\n\n${table(
      ['topic', 'category'],
      topics.map(({ name, category }) => [name, category]),
    )}\n\n` +
      `${count(countries.length, 'country', 'countries')} and ${count(topics.length, 'topic')}, refreshed for ${count(service.client.stats().requests, 'request')}\n`,
  );
  return 0;
}
