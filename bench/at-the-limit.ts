import { costOf } from './cost.ts';
import { sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import type { Verdict } from './statistics.ts';

const perSecond = 25;
/** CPU of a page of 1,000 records, times that of decoding and parsing its bytes. */
const most = { gmsi: 5.2, postgres: 5.5 };

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
  const parse = await secondsToParse(service.url);
  const { pages, records, seconds } = loaded;
  const ofACore = (aPage: number) => (aPage * perSecond).toFixed(2);
  console.log(
    `${pages} pages of ${Math.round(records / pages)} records in ${seconds.toFixed(1)} s (${(pages / seconds).toFixed(1)} a second);`,
    `at ${perSecond} a second, gmsi takes ${ofACore(cost.gmsi)} of a core, PostgreSQL ${ofACore(cost.postgres)}.`,
  );
  const ms = (seconds: number) => `${(seconds * 1000).toFixed(1)} ms`;
  return (['gmsi', 'postgres'] as const).map((who) => ({
    goal: `CPU of ${who} a page, times parsing it: at most ${most[who]}`,
    measured: `${(cost[who] / parse).toFixed(1)} (${ms(cost[who])}; parsing ${ms(parse)})`,
    met: cost[who] <= most[who] * parse,
  }));
}

/** @returns CPU of decoding and parsing the bytes of a page of 1,000 records, in seconds, the garbage that it makes included */
async function secondsToParse(url: string): Promise<number> {
  const query = 'topic=Inflation-Food&start_date=2025-01-01&end_date=2025-03-31&limit=1000';
  const response = await fetch(`${url}/v1/headlines/feed/historical/gmsi/US?${query}`, {
    headers: { 'x-api-key': 'bench-key' },
  });
  const page = Buffer.from(await response.arrayBuffer());
  const parse = (times: number) => {
    for (let time = 0; time < times; time++) JSON.parse(page.toString());
  };
  parse(100);
  const before = process.cpuUsage();
  parse(300);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / 300;
}
