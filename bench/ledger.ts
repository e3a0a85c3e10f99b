import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { completenessOf } from '../src/questions/status.ts';
import { print } from '../src/terminal/print.ts';
import { table } from '../src/terminal/table.ts';
import type { Warehouse } from '../src/warehouse/connect.ts';
import { findGaps, findSyncBegin, planAlone, readHabits } from '../src/warehouse/tables/planning.ts';
import type { WindowScope } from '../src/warehouse/tables/series.ts';
import { timed } from './fill.ts';
import { type BenchServer, open } from './server.ts';
import { median, megabytes, thousands, type Verdict } from './statistics.ts';
import { backfilled, derivedDays, lookback, synced } from './windows.ts';

interface Size {
  readonly countries: number;
  readonly topics: number;
  /** Without the readings that `gmsi.compact` would delete; otherwise the server has to write three times as many. */
  readonly isCompact: boolean;
}

/** All countries, with the topics of a large job, and every series that the service has. */
export const sizes = {
  job: { countries: 97, topics: 8, isCompact: false },
  whole: { countries: 111, topics: 70, isCompact: true },
} satisfies Record<string, Size>;

const wholeSeries = sizes.whole.countries * sizes.whole.topics;
/** For every series of the service. */
const goals = { planSeconds: 0.1, bytes: 3.5e9 };
const rounds = 9;

/** The ledger of readings after a backfill of ten years and three years of four syncs a day: its size, and what is asked of it. */
export async function benchLedger(server: BenchServer, size: Size): Promise<Verdict[]> {
  const db = open(await server.aWarehouse(), 1);
  const series = size.countries * size.topics;
  const today = Temporal.Now.plainDateISO('UTC');
  const begin = today.subtract({ years: 3 });
  const history = { from: begin.subtract({ years: 10 }).toString(), to: begin.toString() };
  const run = (text: string) => sql.raw(text).execute(db);
  const tidy = (how = '') => run(`vacuum (${how}analyze) gmsi.readings, gmsi.series_days, gmsi.series`);
  const scope: WindowScope = {
    feed: 'gmsi-headlines',
    countries: names('C', size.countries),
    topics: names('T', size.topics),
    tickers: [''],
    matchType: 'COMBINED',
    variants: [''],
    from: history.from,
    to: today.toString(),
  };
  await run(backfilled(size, history, 90));
  await tidy();
  // The day after the backfill.
  const fresh = await timePlan(db, { ...scope, to: begin.add({ days: 1 }).toString() });
  const filling = await timed(async () => {
    const { rows } = await sql<{ name: string; text: string }>`
      select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as text
      from pg_index where indrelid = 'gmsi.readings'::regclass and not indisprimary`.execute(db);
    await run(`drop index ${rows.map(({ name }) => name).join(', ')}`);
    await run(synced({ from: history.to, to: scope.to }, size.isCompact));
    for (const { text } of rows) await run(text);
    await run(derivedDays);
  });
  await tidy();
  const before = await sizeOf(db);
  const compacting = await timed(() => run("select gmsi.compact('30 days', 0, 1)"));
  // A warehouse in use gives the space to the readings that come.
  await tidy('full, ');
  const after = await sizeOf(db);
  console.log(
    `${thousands(series)} series: ${thousands(before.rows)} readings in ${megabytes(before.bytes)}, filled in ${thousands(filling)} s;`,
    `${thousands(after.rows)} in ${megabytes(after.bytes)} after compaction in ${thousands(compacting)} s`,
  );
  const plan = await timePlan(db, scope);
  const steps = Object.entries(plan.steps).map(([what, seconds]) => [`  ${what}`, milliseconds(seconds)]);
  const asked = await timeQuestions(db, scope);
  await db.destroy();
  print(
    `${table(
      ['what', 'took'],
      [
        ['plan a sync of all series', milliseconds(plan.seconds)],
        ...steps,
        ['the same the day after the backfill', milliseconds(fresh.seconds)],
        ...asked,
      ],
    )}\n`,
  );
  const share = series / wholeSeries;
  return [
    {
      goal: `plan a sync of ${thousands(series)} series: under ${milliseconds(goals.planSeconds)}`,
      measured: `${milliseconds(plan.seconds)}, ${(plan.seconds / fresh.seconds).toFixed(2)} times that after the backfill`,
      met: plan.seconds < goals.planSeconds,
    },
    {
      goal: `the ledger of ${thousands(series)} series: under ${megabytes(goals.bytes * share)}`,
      measured: megabytes(after.bytes),
      met: after.bytes < goals.bytes * share,
    },
  ];
}

function names(letter: string, many: number): string[] {
  return Array.from({ length: many }, (_, n) => `${letter}${n + 1}`);
}

/** Readings, and the bytes of what they and the cache take, with indexes. */
async function sizeOf(db: Warehouse): Promise<{ rows: number; bytes: number }> {
  const { rows } = await sql<{ rows: number; bytes: number }>`
    select (select count(*) from gmsi.readings) as rows,
           pg_total_relation_size('gmsi.readings') + pg_total_relation_size('gmsi.series_days') as bytes`.execute(
    db,
  );
  return rows[0]!;
}

/** What planning a sync of a day asks: the medians of its steps. */
async function timePlan(
  db: Warehouse,
  scope: WindowScope,
): Promise<{ seconds: number; steps: Readonly<Record<string, number>> }> {
  const firstUnsettled = Temporal.PlainDate.from(scope.to).subtract({ days: lookback }).toString();
  const times = { findSyncBegin: [] as number[], findGaps: [] as number[], readHabits: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    await planAlone(db, scope.feed, {}, async (trx) => {
      const steps = {
        findSyncBegin: () => findSyncBegin(trx, scope, firstUnsettled),
        findGaps: () => findGaps(trx, scope, { firstUnsettled }),
        readHabits: () => readHabits(trx, scope, firstUnsettled),
      };
      for (const [name, took] of Object.entries(times)) {
        const seconds = await timed(steps[name as keyof typeof steps]);
        // The first round warms up.
        if (round > 0) took.push(seconds);
      }
    });
  }
  const steps = Object.fromEntries(Object.entries(times).map(([name, took]) => [name, median(took)]));
  // Only an adaptive cadence asks for habits.
  return { seconds: steps.findSyncBegin! + steps.findGaps!, steps };
}

async function timeQuestions(db: Warehouse, scope: WindowScope): Promise<[string, string][]> {
  const firstUnsettled = Temporal.PlainDate.from(scope.to).subtract({ days: lookback }).toString();
  const states = (where: string) =>
    sql
      .raw(`
    select state, count(*), min(day), max(day) from gmsi.coverage_by_day where feed = 'gmsi-headlines' and ${where} group by 1`)
      .execute(db);
  const ofCache = async () => {
    const { rows } = await sql<{ differing: number }>`
      select count(*) as differing
      from gmsi.series_days c cross join lateral gmsi.derive_days(c.series_id) as d
      where c.series_id <= 100
        and row(c.touched, c.loaded, c.whole, c.covered, c.watch_here, c.watch_on, c.watch_from)
            is distinct from row(d.touched, d.loaded, d.whole, d.covered, d.watch_here, d.watch_on, d.watch_from)`.execute(
      db,
    );
    if (rows[0]!.differing > 0) throw new Error('the cache differs from the ledger');
  };
  const questions: readonly [what: string, ask: () => Promise<unknown>, many?: number][] = [
    ['completeness of a job of all series', () => completenessOf(db, scope, firstUnsettled)],
    [`coverage_by_day of a topic, ${scope.countries.length} countries`, () => states("topic = 'T1'")],
    ['coverage_by_day of a series', () => states("topic = 'T1' and country = 'C1'")],
    [
      'coverage_gaps of all series',
      () => sql`select state, count(*), sum(days) from gmsi.coverage_gaps group by 1`.execute(db),
    ],
    [
      'days_at of a series, a year ago',
      () => sql`select * from gmsi.days_at(1, now() - interval '1 year')`.execute(db),
    ],
    ['check ledger-cache, a series', ofCache, 100],
  ];
  const measured: [string, string][] = [];
  for (const [what, ask, many = 1] of questions) {
    const times: number[] = [];
    while (times.length < 5) times.push((await timed(ask)) / many);
    measured.push([what, milliseconds(median(times))]);
  }
  return measured;
}

function milliseconds(seconds: number): string {
  const ms = seconds * 1000;
  return `${ms < 20 ? ms.toFixed(1) : thousands(ms)} ms`;
}
