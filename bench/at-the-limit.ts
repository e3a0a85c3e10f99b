import { costOf, costVerdicts } from './cost.ts';
import { sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

const perSecond = 25;

/**
 * What a page of 1,000 records costs when the service's own limit sets the pace: 25 requests a second, bursts of 50. Over two
 * thousand pages, so that the first ones, for which V8 compiles and PostgreSQL makes partitions, do not decide.
 */
export async function benchAtTheLimit(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: { perSecond, burst: 50 }, cacheBytes: 1e9 });
  const job = {
    countries: ['US', 'GB', 'DE', 'FR', 'IT', 'JP', 'CN', 'IN', 'BR', 'CA', 'AU', 'ES', 'KR', 'MX'],
    topics: ['Inflation-Food'],
    start_date: '2023-07-01',
    end_date: '2025-12-31',
  };
  const { loaded, cost } = await costOf(server, service.url, job, 'pages');
  const { pages, records, seconds } = loaded;
  const ofACore = (aPage: number) => (aPage * perSecond).toFixed(2);
  console.log(
    `${pages} pages of ${Math.round(records / pages)} records in ${seconds.toFixed(1)} s (${(pages / seconds).toFixed(1)} a second);`,
    `at ${perSecond} a second, gmsi takes ${ofACore(cost.gmsi)} of a core, PostgreSQL ${ofACore(cost.postgres)}.`,
  );
  return costVerdicts('a page', cost, { gmsi: 0.013, postgres: 0.017 });
}
