import { backfill, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

const perSecond = 25;

/** What a load takes of a core when the service's own limit sets the pace: 25 requests a second, bursts of 50. */
export async function benchAtTheLimit(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: { perSecond, burst: 50 } });
  const job = {
    ...{ countries: ['US', 'GB'], topics: ['Inflation-Food', 'Market Stress'] },
    ...{ start_date: '2024-01-01', end_date: '2025-12-31' },
  };
  const addresses = { service: service.url, warehouse: await server.aWarehouse() };
  const { cpuSeconds, pages, records, seconds } = await backfill(job, addresses);
  // Finds everything covered: what the process costs without a page.
  const again = await backfill(job, addresses);
  const aPage = (cpuSeconds - again.cpuSeconds) / pages;
  // At the pace that the limit allows, whatever else slowed this run down.
  const ofACore = aPage * perSecond;
  console.log(
    `${pages} pages of ${Math.round(records / pages)} records in ${seconds.toFixed(1)} s (${(pages / seconds).toFixed(1)} a second),`,
    `${(aPage * 1000).toFixed(1)} ms of CPU a page, and ${again.cpuSeconds.toFixed(1)} s for the process itself.`,
  );
  return [
    {
      goal: `at ${perSecond} pages a second: less than 0.33 of a core`,
      measured: ofACore.toFixed(2),
      met: ofACore < 1 / 3,
    },
  ];
}
