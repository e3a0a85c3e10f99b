import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { rebuildRollups } from '../src/commands/repair.ts';
import { parseJob } from '../src/config/read-job.ts';
import type { Row } from '../src/feeds/feed.ts';
import { gmsiHeadlines } from '../src/feeds/gmsi-headlines.ts';
import { dayRange } from '../src/plan/days.ts';
import { planWindows } from '../src/plan/plan-windows.ts';
import { scopeOf } from '../src/plan/scope.ts';
import { print } from '../src/terminal/print.ts';
import { table } from '../src/terminal/table.ts';
import { sortedRows } from '../src/warehouse/arrays.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import { readLookups } from '../src/warehouse/tables/lookups.ts';
import { ensurePartitions, upsertRows } from '../src/warehouse/tables/rows.ts';
import { claimWindow } from '../src/warehouse/tables/windows.ts';
import { writeTransaction } from '../src/warehouse/write-transaction.ts';
import { describeFilled, fill, timed } from './fill.ts';
import { series, someWindows } from './pages.ts';
import { run } from './processes.ts';
import { type BenchServer, open } from './server.ts';
import { median, megabytes, thousands, type Verdict } from './statistics.ts';

const few = 100_000;

/** What grows with the headlines, and what does not: sizes, and the time of what the program does all day. */
export async function benchScale(server: BenchServer, headlines: number): Promise<Verdict[]> {
  for (const many of [few, headlines]) {
    const url = await server.aWarehouse();
    describeFilled(await fill(url, many));
    await measureScale(url);
  }
  return [];
}

export async function measureScale(url: string): Promise<void> {
  const db = open(url, 2);
  print(`${table(['table', 'rows', 'table', 'indexes', 'bytes a row'], await sizes(db))}\n`);
  const measured: [what: string, took: string][] = [
    ...(await timePages(db)),
    ...(await timePlanning(db)),
    ...(await timeStatus(url)),
    ...(await timeReading(db)),
  ];
  print(
    `${table(['what', 'took'], measured)}\nload averages ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}\n`,
  );
  await db.destroy();
}

/** Of the tables that grow: their partitions counted together. */
async function sizes(db: Warehouse): Promise<string[][]> {
  const { rows } = await sql<{ name: string; rows: number; heap: number; indexes: number }>`
    select coalesce(parent.relname, c.relname) as name, sum(greatest(c.reltuples, 0))::bigint as rows,
           sum(pg_table_size(c.oid))::bigint as heap, sum(pg_indexes_size(c.oid))::bigint as indexes
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class parent on parent.oid = i.inhparent
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind = 'r'
    group by 1 having sum(pg_total_relation_size(c.oid)) > 1e6 order by 3 desc`.execute(db);
  return rows.map(({ name, rows, heap, indexes }) => [
    name,
    thousands(rows),
    megabytes(heap),
    megabytes(indexes),
    `${thousands(heap / rows)} + ${thousands(indexes / rows)}`,
  ]);
}

/** The rows of pages of 1,000, as a commit writes them: new, and once more, when nothing has changed. */
async function timePages(db: Warehouse): Promise<[string, string][]> {
  const [pages] = await someWindows(1, 9);
  for (const rows of pages!)
    await ensurePartitions(db, gmsiHeadlines.table, sortedRows(gmsiHeadlines.table, rows).times, new Set());
  const times = { new: await timeUpserts(db, pages!), unchanged: await timeUpserts(db, pages!) };
  return Object.entries(times).map(([which, time]) => [`page of 1,000 ${which} rows`, time]);
}

async function timeUpserts(db: Warehouse, pages: readonly (readonly Row[])[]): Promise<string> {
  const provenance = {
    series,
    loadId: 1,
    windowId: 1,
    askedAt: new Date().toISOString(),
    hereOn: 'infinity',
  };
  const times: number[] = [];
  for (const rows of pages) {
    const upsert = () =>
      writeTransaction(db, (trx) =>
        upsertRows(trx, gmsiHeadlines.table, sortedRows(gmsiHeadlines.table, rows), provenance),
      );
    times.push(await timed(upsert));
  }
  // The first one warms up.
  return milliseconds(median(times.slice(1)));
}

const job = {
  feed: gmsiHeadlines.name,
  countries: 'all',
  topics: 'all',
  start_date: '2006-01-01',
  end_date: '2015-12-31',
};

/** Ten more years of all pairs, before those that are loaded. */
async function timePlanning(db: Warehouse): Promise<[string, string][]> {
  const file = { path: 'bench.yaml', name: 'bench', text: JSON.stringify(job) };
  const parsed = parseJob(file, Temporal.Now.plainDateISO('UTC'));
  const scope = scopeOf(parsed, dayRange(job.start_date, job.end_date), await readLookups(db));
  const options = { fullRefresh: false, retryRefused: false };
  let planned = 0;
  const plan = async () => {
    planned += await planWindows(db, parsed, scope, options, Temporal.Now.plainDateISO('UTC').toString());
  };
  const first = await timed(plan);
  const again = await timed(plan);
  const { rows } = await sql<{ load_id: number }>`
    insert into gmsi.loads (command, job, feed, run_by) values ('backfill', 'bench', ${job.feed}, 'bench') returning load_id`.execute(
    db,
  );
  const run = { loadId: rows[0]!.load_id, leaseSeconds: 60, order: 'newest-first' } as const;
  const claims: number[] = [];
  for (let claim = 0; claim < 50; claim++) claims.push(await timed(() => claimWindow(db, scope, run)));
  return [
    [`plan ${thousands(planned)} windows`, milliseconds(first)],
    ['plan the same once more: nothing to add', milliseconds(again)],
    [
      'claim a window of these',
      `${milliseconds(median(claims))}, at most ${milliseconds(Math.max(...claims))}`,
    ],
  ];
}

/** As a process of its own, its start included. */
async function timeStatus(url: string): Promise<[string, string][]> {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-bench-status-'));
  const file = join(folder, 'bench.yaml');
  await writeFile(file, JSON.stringify(job));
  const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
  const times: [string, string][] = [];
  for (const names of [[], [file]]) {
    const { code, seconds } = await run([cli, 'status', ...names], { DATABASE_URL: url, LOG_LEVEL: 'error' });
    if (code !== 0) throw new Error(`gmsi status ended with ${code}`);
    times.push([
      names.length === 0 ? 'gmsi status' : 'gmsi status of the planned job',
      milliseconds(seconds),
    ]);
  }
  await rm(folder, { recursive: true });
  return times;
}

/** A busy series over its ten years, and what passes over all there is. */
async function timeReading(db: Warehouse): Promise<[string, string][]> {
  const ofSeries = sql`country = ${series.country} and topic = ${series.topic} and match_type = ${series.match_type}`;
  const asked = {
    'headlines_as_of a moment, a quarter of a series': sql`select count(*), avg(directional_score)
      from gmsi.headlines_as_of('2025-06-30') where ${ofSeries} and published_at >= '2024-04-01' and published_at < '2024-07-01'`,
    'headlines_as_of a moment, ten years of a series': sql`select count(*), avg(directional_score)
      from gmsi.headlines_as_of('2025-06-30') where ${ofSeries}`,
    'mean of each country, all headlines': sql`select country, count(*), avg(directional_score) from gmsi.headlines group by 1`,
    'mean of each country, from sentiment_daily': sql`select country, sum(sentiment_sum) / sum(headline_count)
      from gmsi.sentiment_daily where sentiment_type = 'directional' group by 1`,
    'vacuum of the headlines, with little to do': sql`vacuum gmsi.headlines`,
  };
  const times: [string, string][] = [];
  for (const [what, query] of Object.entries(asked)) {
    const rounds: number[] = [];
    while (rounds.length < 3) rounds.push(await timed(() => query.execute(db)));
    times.push([what, milliseconds(median(rounds))]);
  }
  const { signal } = new AbortController();
  const ofAYear = { from: '2025-01-01', to: '2025-12-31' };
  let rebuilt = 0;
  const seconds = await timed(async () => {
    rebuilt = (await rebuildRollups(db, ofAYear, signal, () => {})).series;
  });
  return [
    ...times,
    [`gmsi check --repair rollups of a year, ${thousands(rebuilt)} series`, milliseconds(seconds)],
  ];
}

function milliseconds(seconds: number): string {
  return `${thousands(seconds * 1000)} ms`;
}
