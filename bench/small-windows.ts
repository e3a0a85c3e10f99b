import { costOf, costVerdicts } from './cost.ts';
import { sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

/** What a nightly sync is: all pairs of countries and topics, a few days of each, with a handful of headlines. */
export async function benchSmallWindows(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: null, volume: 0.1 });
  const job = {
    countries: 'all',
    topics: 'all',
    start_date: '2025-12-28',
    end_date: '2025-12-31',
    service: { rate: 'unlimited' },
  };
  const { loaded, cost } = await costOf(server, service.url, job, 'windows');
  const { windows, records, seconds } = loaded;
  console.log(
    `${windows} windows of ${(records / windows).toFixed(1)} records in ${seconds.toFixed(1)} s (${(windows / seconds).toFixed(0)} a second).`,
  );
  return costVerdicts('a window of four days', cost, { gmsi: 0.0026, postgres: 0.0027 });
}
