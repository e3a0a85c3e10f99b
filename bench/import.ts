import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { stringify } from 'csv-stringify/sync';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { literal, openDuckDB } from '../src/duckdb.ts';
import { backfill, type Ended, importFiles, sandbox } from './processes.ts';
import type { BenchServer } from './server.ts';
import { median, megabytes, thousands, type Verdict } from './statistics.ts';

const rounds = 3;
const countries = ['US', 'GB', 'DE', 'JP'];
const topic = 'Inflation-Food';
const days = { start_date: '2025-01-06', end_date: '2025-12-31' };
/** Times of a bare COPY, in seconds and in PostgreSQL's CPU. */
const most = { timesCopy: { csv: 2.1, ndjson: 2.1, parquet: 2.4 }, timesCpu: 1.6, bytes: 250e6 };

const formats = ['csv', 'ndjson', 'parquet'] as const;
type Format = (typeof formats)[number];

/**
 * Files against the bare limit: the same rows from files, with everything that an import promises, and by one COPY into a table
 * with only their columns and primary key; and against the service, page by page without limits. All in turns, each from the
 * start of its process to its end but for COPY, which has none.
 */
export async function benchImport(server: BenchServer): Promise<Verdict[]> {
  await using service = await sandbox({ limits: null, cacheBytes: 1e9, volume: 24 });
  const job = {
    countries,
    topics: [topic],
    ...days,
    step: 'P90D',
    service: { rate: 'unlimited', end_date: 'inclusive' },
  };
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-bench-import-'));
  const bare = join(folder, 'bare');
  const drained: number[] = [];
  const copied: Used[] = [];
  const read: Record<Format, (Ended & { readonly server: number })[]> = { csv: [], ndjson: [], parquet: [] };
  let records = 0;
  try {
    for (const country of countries) await writeYear(service.url, country, folder);
    for (let round = 0; round <= rounds; round++) {
      const loaded = await server.inWarehouse((warehouse) =>
        backfill(job, { service: service.url, warehouse }),
      );
      const imports = {} as Record<Format, Ended & { server: number }>;
      let copy: Used = { seconds: 0, server: 0 };
      for (const format of formats) {
        await server.inWarehouse(async (warehouse) => {
          const before = await server.cpuSeconds();
          const imported = await importFiles([join(folder, format)], warehouse);
          if (imported.records !== loaded.records)
            throw new Error(`${imported.records} records instead of ${loaded.records}`);
          imports[format] = { ...imported, server: (await server.cpuSeconds()) - before };
          if (format !== 'csv') return;
          if (round === 0) await writeRows(warehouse, bare);
          copy = await copyRows(server, warehouse, bare);
        });
      }
      // The first round warms up the service.
      if (round === 0) continue;
      ({ records } = loaded);
      drained.push(loaded.seconds);
      copied.push(copy);
      for (const format of formats) read[format].push(imports[format]);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  const rate = (seconds: readonly number[]) => records / median(seconds);
  console.log(
    `${thousands(records)} rows: bare COPY ${thousands(rate(copied.map(({ seconds }) => seconds)))} rows/s, backfill ${thousands(rate(drained))} (medians of ${rounds} runs each, in turns).`,
  );
  return formats.flatMap((format) => {
    const runs = read[format];
    const seconds = runs.map((run) => run.seconds);
    const peak = Math.max(...runs.map(({ peakBytes }) => peakBytes));
    const timesCopy = median(seconds.map((one, round) => one / copied[round]!.seconds));
    const timesCpu = (of: (run: (typeof runs)[number]) => number) =>
      median(runs.map((run, round) => of(run) / copied[round]!.server));
    const timesBackfill = median(seconds.map((one, round) => drained[round]! / one));
    console.log(
      `import of ${format}: ${thousands(rate(seconds))} rows/s, ${timesBackfill.toFixed(2)} times a backfill; ${((median(runs.map(({ cpuSeconds }) => cpuSeconds)) / records) * 1e6).toFixed(1)} ms of CPU for 1,000 rows`,
    );
    return [
      {
        goal: `import of ${format}, times a bare COPY: at most ${most.timesCopy[format]}`,
        measured: timesCopy.toFixed(2),
        met: timesCopy <= most.timesCopy[format],
      },
      ...Object.entries({
        gmsi: timesCpu(({ cpuSeconds }) => cpuSeconds),
        PostgreSQL: timesCpu(({ server }) => server),
      }).map(([of, times]) => ({
        goal: `CPU of ${of} for it, times that of the COPY: at most ${most.timesCpu}`,
        measured: times.toFixed(2),
        met: times <= most.timesCpu,
      })),
      {
        goal: `peak memory of an import of ${format}: at most ${megabytes(most.bytes)}`,
        measured: megabytes(peak),
        met: peak <= most.bytes,
      },
    ];
  });
}

/** Writes the rows of a warehouse as COPY reads them. */
async function writeRows(warehouse: string, path: string): Promise<void> {
  const client = new pg.Client({ connectionString: warehouse });
  await client.connect();
  const file = await open(path, 'w');
  await pipeline(
    client.query(copyTo('copy (select * from gmsi.headlines) to stdout')),
    file.createWriteStream(),
  );
  await client.end();
}

interface Used {
  readonly seconds: number;
  /** CPU time of PostgreSQL, in seconds. */
  readonly server: number;
}

/** Copies these rows into a table with their columns and primary key, and nothing else. */
async function copyRows(server: BenchServer, warehouse: string, path: string): Promise<Used> {
  const client = new pg.Client({ connectionString: warehouse });
  await client.connect();
  await client.query(`create table bare (like gmsi.headlines including defaults);
    alter table bare add primary key (country, topic, match_type, published_at, headline_id)`);
  const file = await open(path);
  const before = await server.cpuSeconds();
  const startedAt = performance.now();
  await pipeline(
    file.createReadStream({ highWaterMark: 256 * 1024 }),
    client.query(copyFrom('copy bare from stdin')),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const used = (await server.cpuSeconds()) - before;
  await client.end();
  return { seconds, server: used };
}

/** Writes the records of a year as the service sends them, in the order of their times, in each format. */
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
  const json = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  const within = async (format: Format, name: string) => {
    const place = join(folder, format, `country=${country}`, `topic_name=${topic}`, 'match_type=COMBINED');
    await mkdir(place, { recursive: true });
    return join(place, name);
  };
  await writeFile(
    await within('csv', '2025.csv.gz'),
    gzipSync(stringify(records, { header: true, columns })),
  );
  await writeFile(await within('ndjson', '2025.ndjson.gz'), gzipSync(json));
  const plain = join(folder, `${country}.ndjson`);
  await writeFile(plain, json);
  using duckdb = await openDuckDB('', new AbortController().signal);
  await duckdb.run(
    `copy (from read_json(${literal(plain)}, format = 'newline_delimited')) to ${literal(await within('parquet', '2025.parquet'))} (format parquet)`,
  );
}
