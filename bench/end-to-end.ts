import { type Addresses, afternoonsScript, backfill, sandbox } from './processes.ts';
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

/**
 * From the service to the warehouse, against the script: both from the start of their process to its end, in turns,
 * on the same pages. The service runs in a process of its own, without limits, and has every page ready.
 */
export async function benchEndToEnd(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: null, cacheBytes: 1e9 });
  const job = {
    ...{
      countries,
      topics,
      start_date: quarters.at(-1)!.startDate,
      end_date: quarters[0]!.endDate,
      step: 'P90D',
    },
    service: { rate: 'unlimited', end_date: 'inclusive' },
  };
  const windows = quarters.flatMap((quarter) =>
    countries.flatMap((country) => topics.map((topic) => ({ country, topic, ...quarter }))),
  );
  const turn = <Loaded>(load: (addresses: Addresses) => Promise<Loaded>) =>
    server.inWarehouse((warehouse) => load({ service: service.url, warehouse }));
  await turn((addresses) => backfill(job, addresses));
  const gmsi: number[] = [];
  const script: number[] = [];
  const cpu: number[] = [];
  let records = 0;
  for (let round = 0; round < rounds; round++) {
    const loaded = await turn((addresses) => backfill(job, addresses));
    const scripted = await turn((addresses) => afternoonsScript(windows, addresses));
    if (scripted.records !== loaded.records) throw new Error('gmsi and the script loaded different records');
    records = loaded.records;
    gmsi.push(loaded.records / loaded.seconds);
    script.push(scripted.records / scripted.seconds);
    cpu.push((loaded.cpuSeconds / loaded.pages) * 1000);
  }
  const times = median(gmsi.map((rate, round) => rate / script[round]!));
  console.log(
    `gmsi ${thousands(median(gmsi))} rows/s, the script ${thousands(median(script))}`,
    `(medians of ${rounds} runs of ${thousands(records)} records each, start of the process to its end; gmsi spends ${median(cpu).toFixed(1)} ms of CPU a page).`,
  );
  return [
    {
      goal: 'end to end, times the script: at least 2.5',
      measured: times.toFixed(2),
      met: times >= 2.5,
    },
  ];
}

function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * 86_400_000).toISOString().slice(0, 10);
}
