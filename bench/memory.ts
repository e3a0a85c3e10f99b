import { backfill, plan, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import { megabytes, thousands, type Verdict } from './statistics.ts';

const most = { loading: 256e6, planning: 150e6 };
/** What "flat" leaves to chance: peaks of equal jobs differ by about half of it. */
const tolerance = 1.15;

/** The largest resident memory of the process, for jobs that hold more and more, and for one with very many windows. */
export async function benchMemory(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: null });
  const pair = { topics: ['Inflation-Food'], service: { rate: 'unlimited' } };
  const peaks: number[] = [];
  for (const [countries, start_date] of [
    [['US'], '2025-01-01'],
    [['US', 'GB', 'DE', 'JP'], '2022-01-01'],
    [['US', 'GB', 'DE', 'FR', 'IT', 'JP', 'CN', 'IN', 'BR', 'CA', 'AU', 'ES', 'KR', 'MX'], '2016-01-01'],
  ] as const) {
    const job = { ...pair, countries, start_date, end_date: '2025-12-31' };
    const loaded = await server.inWarehouse((warehouse) =>
      backfill(job, { service: service.url, warehouse }),
    );
    peaks.push(loaded.peakBytes);
    console.log(`${thousands(loaded.records)} records: at most ${megabytes(loaded.peakBytes)}`);
  }
  // Every pair over ten years: only planned, and planned and ended by its budget after a few pages.
  const all = {
    countries: 'all',
    topics: 'all',
    start_date: '2016-01-01',
    end_date: '2025-12-31',
    budget: { requests_per_month: 50, reserve: 0 },
    service: { rate: 'unlimited' },
  };
  const empty = { service: service.url, warehouse: await server.aWarehouse() };
  const begun = await backfill(all, empty, 75);
  const planned = await plan(all, empty);
  console.log(
    `all pairs over ten years: planned in ${planned.seconds.toFixed(1)} s with at most ${megabytes(planned.peakBytes)}, begun with at most ${megabytes(begun.peakBytes)}`,
  );
  const peak = Math.max(...peaks, begun.peakBytes);
  const growth = peaks.at(-1)! / peaks.at(-2)!;
  return [
    {
      goal: `peak memory: under ${megabytes(most.loading)}`,
      measured: megabytes(peak),
      met: peak < most.loading,
    },
    {
      goal: `peak memory of gmsi plan of all pairs: under ${megabytes(most.planning)}`,
      measured: megabytes(planned.peakBytes),
      met: planned.peakBytes < most.planning,
    },
    {
      goal: `peak memory of ten million records, of one million: at most ${tolerance}`,
      measured: growth.toFixed(2),
      met: growth <= tolerance,
    },
  ];
}
