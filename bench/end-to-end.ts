import { type Addresses, afternoonsScript, backfill, dltPipeline, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import { median, thousands, type Verdict } from './statistics.ts';

const rounds = 3;
const countries = ['US', 'GB', 'DE', 'JP'];
const topics = ['Inflation-Food'];
/** So many that the start of a process does not decide. */
const quarters = Array.from({ length: 12 }, (_, ago) => ({
  // 90 days as the service counts them, so that both ask for the very same pages.
  startDate: daysBefore('2025-12-31', 90 * ago + 89),
  endDate: daysBefore('2025-12-31', 90 * ago),
}));

/** Something else that loads the same windows, and how many times as fast gmsi is to be. */
interface Other {
  readonly name: string;
  readonly load: (windows: object, addresses: Addresses) => Promise<{ seconds: number; records: number }>;
  readonly atLeast: number;
}

export function benchEndToEnd(server: BenchServer): Promise<Verdict[]> {
  return compare(server, { name: 'the script', load: afternoonsScript, atLeast: 1.5 });
}

/** Wants a `python3` that has dlt. */
export function benchDlt(server: BenchServer): Promise<Verdict[]> {
  return compare(server, { name: 'dlt', load: dltPipeline, atLeast: 8 });
}

/**
 * From the service to the warehouse, against something else: both from the start of their process to its end, in turns,
 * on the same pages. The service runs in a process of its own, without limits, and has every page ready.
 */
async function compare(server: BenchServer, other: Other): Promise<Verdict[]> {
  await using service = await sandbox({ limits: null, cacheBytes: 1e9 });
  const job = {
    countries,
    topics,
    start_date: quarters.at(-1)!.startDate,
    end_date: quarters[0]!.endDate,
    step: 'P90D',
    service: { rate: 'unlimited', end_date: 'inclusive' },
  };
  const windows = quarters.flatMap((quarter) =>
    countries.flatMap((country) => topics.map((topic) => ({ country, topic, ...quarter }))),
  );
  const turn = <Loaded>(load: (addresses: Addresses) => Promise<Loaded>) =>
    server.inWarehouse((warehouse) => load({ service: service.url, warehouse }));
  await turn((addresses) => backfill(job, addresses));
  const gmsi: number[] = [];
  const others: number[] = [];
  const cpu: number[] = [];
  let records = 0;
  for (let round = 0; round < rounds; round++) {
    const loaded = await turn((addresses) => backfill(job, addresses));
    const loadedByOther = await turn((addresses) => other.load(windows, addresses));
    if (loadedByOther.records !== loaded.records)
      throw new Error(`gmsi and ${other.name} loaded different records`);
    records = loaded.records;
    gmsi.push(loaded.records / loaded.seconds);
    others.push(loadedByOther.records / loadedByOther.seconds);
    cpu.push((loaded.cpuSeconds / loaded.pages) * 1000);
  }
  const times = median(gmsi.map((rate, round) => rate / others[round]!));
  console.log(
    `gmsi ${thousands(median(gmsi))} rows/s, ${other.name} ${thousands(median(others))}`,
    `(medians of ${rounds} runs of ${thousands(records)} records each, start of the process to its end; gmsi spends ${median(cpu).toFixed(1)} ms of CPU a page).`,
  );
  return [
    {
      goal: `end to end, times ${other.name}: at least ${other.atLeast}`,
      measured: times.toFixed(2),
      met: times >= other.atLeast,
    },
  ];
}

function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * 86_400_000).toISOString().slice(0, 10);
}
