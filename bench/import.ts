import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { stringify } from 'csv-stringify/sync';
import { backfill, importFiles, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import { median, thousands, type Verdict } from './statistics.ts';

const rounds = 3;
const countries = ['US', 'GB', 'DE', 'JP'];
const topic = 'Inflation-Food';
const days = { start_date: '2025-01-06', end_date: '2025-12-31' };

/**
 * Files against the service: the same records from packed CSV files and page by page, each from the start of its process to
 * its end, in turns. The service has every page ready, and no limits.
 */
export async function benchImport(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: null, cacheBytes: 1e9 });
  const job = {
    countries,
    topics: [topic],
    ...days,
    step: 'P90D',
    service: { rate: 'unlimited', end_date: 'inclusive' },
  };
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-bench-import-'));
  for (const country of countries) await writeYear(service.url, country, folder);
  const drained: number[] = [];
  const read: number[] = [];
  const cpu: number[] = [];
  try {
    for (let round = 0; round <= rounds; round++) {
      const loaded = await server.inWarehouse((warehouse) =>
        backfill(job, { service: service.url, warehouse }),
      );
      const imported = await server.inWarehouse((warehouse) => importFiles([folder], warehouse));
      if (imported.records !== loaded.records)
        throw new Error(`${imported.records} records instead of ${loaded.records}`);
      // The first round warms up the service.
      if (round === 0) continue;
      drained.push(loaded.records / loaded.seconds);
      read.push(imported.records / imported.seconds);
      cpu.push((imported.cpuSeconds / imported.records) * 1e6);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const times = median(read.map((rate, round) => rate / drained[round]!));
  console.log(
    `import ${thousands(median(read))} records/s from packed CSV, backfill ${thousands(median(drained))}`,
    `(medians of ${rounds} runs each, start of the process to its end; an import spends ${median(cpu).toFixed(1)} ms of CPU on 1,000 records).`,
  );
  return [{ goal: 'import, times a backfill: at least 1', measured: times.toFixed(2), met: times >= 1 }];
}

/** The records of a year as the service sends them, in the order of their times. */
async function writeYear(url: string, country: string, folder: string): Promise<void> {
  const records: Record<string, unknown>[] = [];
  for (const [start_date, end_date] of [
    ['2025-01-06', '2025-04-05'],
    ['2025-04-06', '2025-07-04'],
    ['2025-07-05', '2025-10-02'],
    ['2025-10-03', '2025-12-31'],
  ] as const) {
    for (let token: string | null = ''; token !== null; ) {
      const query = new URLSearchParams({
        topic,
        start_date,
        end_date,
        limit: '1000',
        ...(token && { next_token: token }),
      });
      const response = await fetch(`${url}/v1/headlines/feed/historical/gmsi/${country}?${query}`, {
        headers: { 'x-api-key': 'bench-key' },
      });
      const page = (await response.json()) as { data: Record<string, unknown>[]; next_token: string | null };
      records.push(...page.data);
      token = page.next_token;
    }
  }
  records.sort((a, b) => (String(a.publication_time) < String(b.publication_time) ? -1 : 1));
  const columns = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const within = join(folder, `country=${country}`, `topic_name=${topic}`, 'match_type=COMBINED');
  await mkdir(within, { recursive: true });
  await writeFile(join(within, '2025.csv.gz'), gzipSync(stringify(records, { header: true, columns })));
}
