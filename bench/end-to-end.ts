import { afternoonsScript, backfill, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import { median, thousands, type Verdict } from './statistics.ts';

const rounds = 3;
const countries = ['US', 'GB', 'DE', 'JP'];
const topics = ['Inflation-Food'];
// The quarters of a year, 90 days each as the service counts them, so that both ask for the very same pages.
const quarters = [
  { startDate: '2025-10-03', endDate: '2025-12-31' },
  { startDate: '2025-07-05', endDate: '2025-10-02' },
  { startDate: '2025-04-06', endDate: '2025-07-04' },
  { startDate: '2025-01-06', endDate: '2025-04-05' },
  { startDate: '2024-10-08', endDate: '2025-01-05' },
  { startDate: '2024-07-10', endDate: '2024-10-07' },
];

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
  const turn = async () => ({ service: service.url, warehouse: await server.aWarehouse() });
  await backfill(job, await turn());
  const gmsi: number[] = [];
  const script: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const loaded = await backfill(job, await turn());
    const scripted = await afternoonsScript(windows, await turn());
    if (scripted.records !== loaded.records) throw new Error('gmsi and the script loaded different records');
    gmsi.push(loaded.records / loaded.seconds);
    script.push(scripted.records / scripted.seconds);
    cpu.push((loaded.cpuSeconds / loaded.pages) * 1000);
  }
  const times = median(gmsi.map((rate, round) => rate / script[round]!));
  console.log(
    `gmsi ${thousands(median(gmsi))} rows/s, the script ${thousands(median(script))}`,
    `(medians of ${rounds} runs each, start of the process to its end; gmsi spends ${median(cpu).toFixed(1)} ms of CPU a page).`,
  );
  return [
    {
      goal: 'end to end, times the script: at least 2.5',
      measured: times.toFixed(2),
      met: times >= 2.5,
    },
  ];
}
