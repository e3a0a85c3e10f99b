import { sql } from 'kysely';
import pg from 'pg';
import { gmsiHeadlines } from '../src/feeds/gmsi-headlines.ts';
import { commitPage } from '../src/load/commit-page.ts';
import { Secret } from '../src/secret.ts';
import { openPermits, type Permits } from '../src/service/permits.ts';
import { sortedRows } from '../src/warehouse/arrays.ts';
import type { PatientWarehouse, Warehouse } from '../src/warehouse/connect.ts';
import { copyWindow } from './copy.ts';
import { pageSize, series, someWindows, type WindowOfPages } from './pages.ts';
import { type BenchServer, open } from './server.ts';
import { median, megabytes, thousands, type Verdict } from './statistics.ts';
import { drainingWindows } from './windows.ts';

const windows = 2;
const pagesEach = 8;
const rounds = 20;

/**
 * The loader alone, from rows to committed pages, against COPY. Each has a warehouse of its own and they take turns,
 * window by window, so that whatever else the machine does strikes them all alike.
 */
export async function benchLoader(server: BenchServer): Promise<Verdict[]> {
  const pages = await someWindows(windows, pagesEach);
  const copy = await aTurn(server, 1);
  const one = await aTurn(server, 1);
  const two = await aTurn(server, 2);
  const client = new pg.Client({ connectionString: copy.url });
  await client.connect();
  const milliseconds = { copy: [] as number[], one: [] as number[], two: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    // Another country a round: the same pages, as rows of their own.
    const country = `C${round}`;
    for (let first = 0; first < windows; first += 2) {
      const at = round * windows + first;
      const turns = {
        copy: async () => {
          await copyWindow(client, copy.ids[at]!, country, pages[first]!);
          await copyWindow(client, copy.ids[at + 1]!, country, pages[first + 1]!);
        },
        one: async () => {
          await loadWindow(one, one.ids[at]!, country, pages[first]!);
          await loadWindow(one, one.ids[at + 1]!, country, pages[first + 1]!);
        },
        two: () =>
          Promise.all([
            loadWindow(two, two.ids[at]!, country, pages[first]!),
            loadWindow(two, two.ids[at + 1]!, country, pages[first + 1]!),
          ]),
      };
      for (const [name, turn] of inAnyOrder(Object.entries(turns))) {
        const startedAt = performance.now();
        await turn();
        // The first round warms up caches, prepared statements and the compiler.
        if (round > 0) milliseconds[name as keyof typeof turns].push(performance.now() - startedAt);
      }
    }
  }
  await client.end();
  const unchanged = await redrain(one, pages);
  for (const { db } of [copy, one, two]) await db.destroy();

  const rate = (times: readonly number[]) => (2 * pagesEach * pageSize * 1000) / median(times);
  const ratio = (times: readonly number[]) =>
    median(times.map((time, turn) => milliseconds.copy[turn]! / time));
  const { one: onOne, two: onTwo } = milliseconds;
  console.log(
    `COPY ${thousands(rate(milliseconds.copy))} rows/s, loader ${thousands(rate(onOne))} on one connection, ${thousands(rate(onTwo))} on two`,
    `(medians of ${onOne.length} turns of ${2 * pagesEach} pages of ${pageSize}).`,
  );
  return [
    verdict('loader on one connection, of COPY', ratio(onOne), 0.95),
    verdict('loader on two connections, of COPY on one', ratio(onTwo), 1.5),
    unchanged,
  ];
}

function verdict(goal: string, measured: number, least: number): Verdict {
  return { goal: `${goal}: at least ${least}`, measured: measured.toFixed(2), met: measured >= least };
}

interface Turn {
  readonly url: string;
  readonly db: PatientWarehouse;
  readonly ids: readonly number[];
  readonly permits: Permits;
}

async function aTurn(server: BenchServer, connections: number): Promise<Turn> {
  const url = await server.aWarehouse();
  const db = open(url, connections).patient({});
  const countries = Array.from({ length: rounds + 1 }, (_, round) => `C${round}`);
  const ids = await drainingWindows(db, countries, windows);
  // As many partitions as ten years have.
  await sql`
    select gmsi.ensure_month_partition('headlines', month::date)
    from generate_series(date '2016-01-01', '2025-12-01', '1 month') as month`.execute(db);
  const any = { budget: Number.MAX_SAFE_INTEGER, rate: Number.POSITIVE_INFINITY, burst: 1 };
  return { url, db, ids, permits: openPermits(db, new Secret('bench'), { ...any, clock: () => new Date() }) };
}

const today = new Date().toISOString().slice(0, 10);
const known = new Set<string>();
const rules = {
  window: { first_day: '2016-01-01', last_day: '2016-03-30' },
  isCompared: false,
  sharesEdges: false,
  askedAt: new Date().toISOString(),
  askedOn: today,
};

/** A window as the pipeline commits it: each page booked, the coverage with the last one. */
async function loadWindow(
  { db, permits }: Turn,
  windowId: number,
  country: string,
  pages: WindowOfPages,
): Promise<void> {
  const { signal } = new AbortController();
  for (const [page, rows] of pages.entries()) {
    await permits.take(signal);
    const token = page === 0 ? null : `token ${page}`;
    const nextToken = page === pages.length - 1 ? null : `token ${page + 1}`;
    await commitPage(
      {
        warehouse: db,
        feed: gmsiHeadlines,
        partitions: known,
        acceptRetractions: false,
      },
      rules,
      {
        series: { ...series, country },
        rows: sortedRows(gmsiHeadlines.table, rows),
        rejected: [],
        rejectedCount: 0,
        outside: [],
        records: rows.length,
        at: { windowId, loadId: 1, pages: page, nextToken: token },
        nextToken,
        rowsMet: null,
        isDrained: nextToken === null,
        asked: { askedOn: today, settledBefore: today },
        now: new Date(),
      },
    );
  }
}

/** Drains the windows of one country again: no row may be written. */
async function redrain(turn: Turn, pages: readonly WindowOfPages[]): Promise<Verdict> {
  const { db } = turn;
  const ids = await drainingWindows(db, ['C1'], windows);
  const before = await written(db);
  for (const [window, of] of pages.entries()) await loadWindow(turn, ids[window]!, 'C1', of);
  const after = await written(db);
  const rows = after.rows - before.rows;
  const bytes = after.bytes - before.bytes;
  return {
    goal: `${thousands(pages.length * pagesEach * pageSize)} unchanged rows drained again: none written`,
    measured: `${thousands(rows)} rows written, tables grew by ${megabytes(bytes)}`,
    met: rows === 0 && bytes === 0,
  };
}

/** Rows that were ever written to the headlines and their revisions, and the size of both with their indexes. */
async function written(db: Warehouse): Promise<{ rows: number; bytes: number }> {
  // A backend reports what it has done when it is idle, at most once a second, unless it is told to.
  await sql`select pg_stat_force_next_flush()`.execute(db);
  const { rows } = await sql<{ rows: number; bytes: number }>`
    select sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint as rows, sum(pg_total_relation_size(relid))::bigint as bytes
    from pg_stat_user_tables where schemaname = 'gmsi' and relname like 'headline%'`.execute(db);
  return rows[0]!;
}

function inAnyOrder<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
