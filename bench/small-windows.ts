import { backfill, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

const most = { gmsi: 0.0026, postgres: 0.0027 };

/** What a nightly sync is: all pairs of countries and topics, a few days of each, with a handful of headlines. */
export async function benchSmallWindows(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: null, volume: 1 });
  const job = {
    ...{ countries: 'all', topics: 'all', start_date: '2025-12-28', end_date: '2025-12-31' },
    service: { rate: 'unlimited' },
  };
  const addresses = { service: service.url, warehouse: await server.aWarehouse() };
  const before = await server.cpuSeconds();
  const { cpuSeconds, windows, records, seconds } = await backfill(job, addresses);
  const ofPostgres = ((await server.cpuSeconds()) - before) / windows;
  const again = await backfill(job, addresses);
  const ofGmsi = (cpuSeconds - again.cpuSeconds) / windows;
  console.log(
    `${windows} windows of ${(records / windows).toFixed(1)} records in ${seconds.toFixed(1)} s (${(windows / seconds).toFixed(0)} a second).`,
  );
  const verdict = (what: string, took: number, most: number): Verdict => ({
    goal: `CPU of ${what} a window of four days: at most ${(most * 1000).toFixed(1)} ms`,
    measured: `${(took * 1000).toFixed(1)} ms`,
    met: took <= most,
  });
  return [verdict('gmsi', ofGmsi, most.gmsi), verdict('PostgreSQL', ofPostgres, most.postgres)];
}
