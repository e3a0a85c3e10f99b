import { backfill, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

const perSecond = 25;
const most = { gmsi: 0.012, postgres: 0.017 };

/**
 * What a page of 1,000 records costs the program and PostgreSQL when the service's own limit sets the pace: 25 requests a
 * second, bursts of 50.
 */
export async function benchAtTheLimit(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: { perSecond, burst: 50 }, cacheBytes: 1e9 });
  const job = {
    ...{ countries: ['US', 'GB', 'DE'], topics: ['Inflation-Food'] },
    ...{ start_date: '2023-01-01', end_date: '2025-12-31' },
  };
  const addresses = { service: service.url, warehouse: await server.aWarehouse() };
  const before = await server.cpuSeconds();
  const { cpuSeconds, pages, records, seconds } = await backfill(job, addresses);
  const ofPostgres = ((await server.cpuSeconds()) - before) / pages;
  // Finds everything covered: what the process costs without a page.
  const again = await backfill(job, addresses);
  const ofGmsi = (cpuSeconds - again.cpuSeconds) / pages;
  console.log(
    `${pages} pages of ${Math.round(records / pages)} records in ${seconds.toFixed(1)} s (${(pages / seconds).toFixed(1)} a second);`,
    `at ${perSecond} a second, gmsi takes ${(ofGmsi * perSecond).toFixed(2)} of a core (and ${again.cpuSeconds.toFixed(1)} s for the process itself), PostgreSQL ${(ofPostgres * perSecond).toFixed(2)}.`,
  );
  return [
    verdict('CPU of gmsi', ofGmsi, most.gmsi),
    verdict('CPU of PostgreSQL, with rollups and revisions', ofPostgres, most.postgres),
  ];
}

function verdict(what: string, seconds: number, most: number): Verdict {
  const milliseconds = (of: number, digits: number) => `${(of * 1000).toFixed(digits)} ms`;
  return {
    goal: `${what} a page: at most ${milliseconds(most, 0)}`,
    measured: milliseconds(seconds, 1),
    met: seconds <= most,
  };
}
