import { type RawBuilder, sql } from 'kysely';
import { beforeAll, expect, test } from 'vitest';
import { coverageOfSeries } from '../../src/questions/coverage.ts';
import { sqlText } from '../../src/questions/reading.ts';
import { docPages, fencesOf } from '../docs/pages.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { sqlIn, windowsIn } from '../support/warehouse-state.ts';

/** Two years of 60 series, with the statistics that a warehouse in use has: plans for a few rows say nothing. */
const warehouse = await aWarehouseForAll({ isNew: true });

beforeAll(async () => {
  await warehouse.db.transaction().execute(async (trx) => {
    // Without its triggers: this is about reading.
    await sqlIn(trx)`set local session_replication_role = replica`;
    for (const statement of made) await statement.execute(trx);
    for (const one of await sqlIn(trx)<object>`select country, topic from ${series}`)
      await windowsIn(trx, quarters(one, '2024-01-01', 9));
    // Ten years of 400 further series, as jobs with all topics leave them.
    for (let n = 0; n < 400; n++) {
      const one = { country: `C${n % 20}`, topic: `T${Math.floor(n / 20)}` };
      const [failed, ...drained] = quarters(one, '2016-01-01', 40);
      await windowsIn(trx, [{ ...failed, state: 'failed' }, ...drained]);
    }
  });
  await sqlIn(warehouse.db)`analyze`;
}, 120_000);

const series = sql`
  unnest(array['US', 'GB', 'DE', 'FR', 'JP', 'NO', 'BR', 'IN', 'CN', 'ZA']) as country,
  unnest(array['Inflation-Food', 'Market Stress', 'Elections', 'Tension', 'Public Debt', 'Wars']) as topic`;

function quarters(one: object, from: string, count: number): object[] {
  const day = (n: number) => new Date(Date.parse(from) + n * 86_400_000).toISOString().slice(0, 10);
  return Array.from({ length: count }, (_, n) => ({
    ...one,
    first_day: day(90 * n),
    last_day: day(90 * n + 89),
  }));
}

/** A headline a day; some had another version before; rollups of every day, and of the hours of the last year. */
const made: readonly RawBuilder<unknown>[] = [
  sql`select gmsi.ensure_month_partition(feed_table, month::date)
      from unnest(array['headlines', 'gmsi_index']) as feed_table,
           generate_series(timestamp '2024-01-01', timestamp '2025-12-01', interval '1 month') as month`,
  sql`insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, topic_probability,
                                  directional_score, semantic_score, is_backfilled, load_id)
      select gen_random_uuid(), country, topic, 'COMBINED', timestamptz '2024-01-01 00:00+00' + n * interval '1 day',
             0.9, sin(n), cos(n), true, 1
      from ${series}, generate_series(0, 730) as n`,
  sql`insert into gmsi.headline_revisions (headline_id, country, topic, match_type, published_at, directional_score,
                                           first_seen_at, known_from, known_to, asked_at, is_backfilled, load_id, reason)
      select headline_id, country, topic, match_type, published_at, directional_score,
             changed_at - interval '1 day', changed_at - interval '1 day', changed_at, changed_at - interval '1 day', true, 1, 'rescored'
      from gmsi.headlines where headline_id::text ~ '^[0-9]a'`,
  sql`insert into gmsi.hourly_sums (country, topic, match_type, sentiment_type, hour, all_count, headline_count, sentiment_sum,
                                    sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum)
      select country, topic, 'COMBINED', 'directional', timestamptz '2024-01-01 00:00+00' + n * interval '8 hours',
             1, 1, sin(n), abs(sin(n)), 0, 0.9, 0.9 * sin(n)
      from ${series}, generate_series(1095, 2192) as n`,
  sql`insert into gmsi.daily_sums (country, topic, match_type, sentiment_type, day, all_count, headline_count, sentiment_sum,
                                   sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum)
      select country, topic, 'COMBINED', model, date '2024-01-01' + n, 3, 3, sin(n), abs(sin(n)), 0, 2.7, sin(n)
      from ${series}, generate_series(0, 730) as n, unnest(array['directional', 'semantic_sentiment']) as model`,
  sql`insert into gmsi.gmsi_index (country, topic, match_type, variant, entry_id, published_at,
                                   headline_count, sentiment_sum, is_backfilled, load_id)
      select country, 'Wars', 'COMBINED', 'sentiment_type=directional', gen_random_uuid(),
             timestamptz '2024-01-01 00:00+00' + n * interval '1 hour', 2, sin(n), true, 1
      from unnest(array['US', 'GB', 'DE', 'FR']) as country, generate_series(0, 17543) as n`,
];

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Function Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Actual Loops': number;
  readonly Plans?: readonly Plan[];
}

/** One place where a query has read a table: by which index with which conditions, or all of it. */
interface Read {
  readonly from: string;
  readonly by: string;
  readonly where: string;
}

/** Where a query reads when it is run; partitions that are pruned while it runs are not in it. */
async function readsOf(query: string): Promise<Read[]> {
  const explained = sql.raw<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (analyze, format json) ${query}`);
  const { rows } = await explained.execute(warehouse.db);
  return readsIn(rows[0]!['QUERY PLAN'][0].Plan);
}

/** An index that is read for a bitmap is below its table's node. */
function readsIn(plan: Plan, table?: string): Read[] {
  if (plan['Actual Loops'] === 0) return [];
  const from = plan['Relation Name'] ?? plan['Function Name'] ?? table;
  const below = (plan.Plans ?? []).flatMap((part) => readsIn(part, plan['Relation Name']));
  if (from === undefined || plan['Node Type'] === 'Bitmap Heap Scan') return below;
  const by = plan['Index Name'] ?? plan['Node Type'];
  return [{ from, by, where: plan['Index Cond'] ?? '' }, ...below];
}

const november = `country = 'US' and topic = 'Market Stress' and match_type = 'COMBINED'
  and published_at >= '2025-11-01 00:00+00' and published_at < '2025-12-01 00:00+00'`;
const byTheKey = (table: string) => ({
  from: table,
  by: `${table}_pkey`,
  where: expect.stringMatching(/country = .*topic = .*published_at >= /),
});

test('a question about a series and a month reads that month, by the key', async () => {
  expect(await readsOf(`select avg(directional_score) from gmsi.headlines where ${november}`)).toEqual([
    byTheKey('headlines_2025_11'),
  ]);
});

test.for([
  ['headlines_point_in_time', 'gmsi.headlines_point_in_time'],
  ['headlines_as_of with a moment', `gmsi.headlines_as_of('2026-01-01 00:00+00')`],
  [
    'headlines_as_of with a column',
    `(values (timestamptz '2026-01-01 00:00+00')) as m (moment) cross join lateral gmsi.headlines_as_of(m.moment)`,
  ],
])('the filters of a question reach the indexes below %s', async ([, relation]) => {
  const reads = await readsOf(`select count(*), avg(directional_score) from ${relation} where ${november}`);
  const tables = reads.filter(({ from }) => from !== '*VALUES*');
  expect(tables).toEqual([byTheKey('headlines_2025_11'), byTheKey('headline_revisions')]);
});

test('gmsi.signals of ten years of days is never compiled: its plan looks cheap', async () => {
  const rows = await sqlIn(warehouse.db)<{ settings: string[] }>`
    select proconfig as settings from pg_proc where oid = 'gmsi.signals'::regproc`;
  expect(rows[0]!.settings).toContain('jit=off');
  const planned = await sql
    .raw<{ 'QUERY PLAN': [{ Plan: { 'Total Cost': number } }] }>(`
    explain (format json) select s.*
    from generate_series(timestamptz '2016-01-01 21:00+00', '2025-12-31 21:00+00', interval '1 day') as at
    cross join lateral gmsi.signals(array[at], 'US', 'Market Stress') as s`)
    .execute(warehouse.db);
  // The default of jit_above_cost.
  expect(planned.rows[0]!['QUERY PLAN'][0].Plan['Total Cost']).toBeLessThan(100_000);
});

/** The tables that a query reads, also within functions. */
async function tablesReadBy(query: string): Promise<{ table: string; whole: number; rows: number }[]> {
  return warehouse.db.transaction().execute(async (trx) => {
    const counters = sql`
      select relname as table, seq_scan::int as whole, (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as rows
      from pg_stat_xact_user_tables where schemaname = 'gmsi'`;
    const before = await sql<{
      table: string;
    }>`create temp table before on commit drop as ${counters}`.execute(trx);
    expect(before.rows).toEqual([]);
    await sql.raw(query).execute(trx);
    const rows = await sqlIn(trx)<{ table: string; whole: number; rows: number }>`
      select after.table, after.whole - coalesce(before.whole, 0) as whole, after.rows - coalesce(before.rows, 0) as rows
      from (${counters}) as after left join before using ("table")`;
    return rows.filter(({ whole, rows }) => whole > 0 || rows > 0);
  });
}

test.for([
  ['signals', `gmsi.signals(array[timestamptz '2025-03-05 21:00+00'], 'US', 'Market Stress')`, ['2025_03']],
  [
    'signals',
    `gmsi.signals(array[timestamptz '2025-10-01 09:00+00'], null, 'Market Stress')`,
    ['2025_09', '2025_10'],
  ],
  [
    'sentiment_daily_as_known',
    `gmsi.sentiment_daily_as_known('2025-06-02', '2025-06-20', 'US', 'Market Stress', delay => '1 hour')`,
    ['2025_06'],
  ],
] as const)('gmsi.%s reads the months that it asks for, by an index: %s', async ([, call, months]) => {
  const read = await tablesReadBy(`select * from ${call}`);
  expect(
    read.filter(({ table, whole }) => whole > 0 && /^headline|_sums$|^readings$|^queue$/.test(table)),
  ).toEqual([]);
  const headlines = read.filter(({ table }) => /^headlines_/.test(table));
  expect(headlines.map(({ table }) => table.slice('headlines_'.length)).toSorted()).toEqual(months);
});

test.for([
  [`topic = 'Inflation-Food' and match_type = 'COMBINED'`, /^daily_sums_by_topic topic = /],
  [`topic = 'Inflation-Food' and country in ('US', 'NO')`, /^daily_sums_pkey country = ANY/],
  [`day between '2025-12-01' and '2025-12-07'`, /^daily_sums_by_day day >= .* day <= /],
] as const)('the conditions of a question reach the sums below sentiment_by_day: %s', async ([where, by]) => {
  const reads = await readsOf(`select * from gmsi.sentiment_by_day where ${where}`);
  const sums = reads.filter(({ from }) => from === 'daily_sums');
  expect(sums.map((read) => `${read.by} ${read.where.replaceAll('(', '')}`)).toEqual([
    expect.stringMatching(by),
  ]);
});

test('hours of an index are read by the key, of their month alone, if bounded as docs/analysis.md says', async () => {
  const readsIf = async (bounds: string) => {
    const reads = await readsOf(`
      select d.at, i.* from (values (timestamptz '2025-03-05 21:00+00'), ('2025-10-09 09:00+00')) as d (at)
      cross join lateral (
        select sum(headline_count), sum(sentiment_sum) from gmsi.gmsi_index
        where country = 'US' and topic = 'Wars' and match_type = 'COMBINED' and sentiment_type = 'directional'
          and hour_ends_at > d.at - interval '24 hours' and hour_ends_at <= d.at ${bounds}) as i`);
    return reads.filter(({ from }) => from !== '*VALUES*');
  };
  const bounded = await readsIf(`and published_at > d.at - interval '25 hours' and published_at <= d.at`);
  expect(bounded.map(({ by }) => by)).toEqual(['gmsi_index_2025_03_pkey', 'gmsi_index_2025_10_pkey']);
  for (const { where } of bounded) expect(where).toMatch(/country = .*published_at > /);
  expect(new Set((await readsIf('')).map(({ from }) => from)).size).toBe(24);
});

const byTheirNames = 'series_feed_country_topic_ticker_match_type_variant_key';

test('the rollups of a series are read by their key, those of some days by the day', async () => {
  const food = `country = 'US' and topic = 'Wars' and match_type = 'COMBINED' and sentiment_type = 'directional'`;
  const daily = (where: string) =>
    readsOf(`select sum(headline_count) from gmsi.sentiment_daily where ${where}`);
  expect(await daily(`${food} and day >= '2025-10-01'`)).toMatchObject([{ by: 'daily_sums_pkey' }]);
  const withState = await daily(`${food} and day >= '2025-10-01' and state in ('covered', 'settling')`);
  expect(withState.map(({ by }) => by).toSorted()).toEqual([
    'daily_sums_pkey',
    'series_days_pkey',
    byTheirNames,
  ]);
  expect(await daily(`day > '2025-12-25'`)).toMatchObject([{ by: 'daily_sums_by_day' }]);
  const hours = `select sum(headline_count) from gmsi.sentiment_hourly where ${food} and hour >= '2025-10-01'`;
  expect(await readsOf(hours)).toMatchObject([
    { by: 'hourly_sums_pkey', where: expect.stringContaining('hour >=') },
  ]);
});

test.for(['coverage_by_day', 'coverage_gaps'])(
  '%s of a series reads the days and windows of that series alone',
  async (view) => {
    const reads = await readsOf(
      `select * from gmsi.${view}
     where feed = 'gmsi-headlines' and country = 'C7' and topic = 'T9' and match_type = 'COMBINED'`,
    );
    const tables = reads
      .filter(({ from }) => ['series', 'series_days', 'queue', 'readings'].includes(from))
      // The first and the last day of all series, which are read once.
      .filter(({ from, by }) => view !== 'coverage_by_day' || by !== 'Seq Scan' || from === 'series');
    expect(new Set(tables.map(({ by }) => by))).toEqual(
      new Set([byTheirNames, 'series_days_pkey', 'queue_series']),
    );
    for (const { by, where } of tables)
      expect(where).toMatch(by === byTheirNames ? /country = .*topic = / : /series_id = /);
  },
);

test('the coverage of all series reads no history', async () => {
  const asked = { feed: 'gmsi-headlines', match_type: 'COMBINED', from: '2016-01-01', to: '2025-12-31' };
  const reads = await readsOf(sqlText(warehouse.db, coverageOfSeries(asked)));
  const tables = new Set(reads.map(({ from }) => from));
  expect(
    [...tables].filter((from) => ['queue', 'series_days', 'readings'].includes(from)).toSorted(),
  ).toEqual(['queue', 'series_days']);
});

const questions = docPages()
  .filter(({ path }) => path === 'docs/analysis.md')
  .flatMap(fencesOf)
  .filter(({ language, marks }) => language === 'sql' && marks.includes('analysis'));

test.for(questions)(
  '$place reads no month of headlines and no series that it does not ask for',
  async ({ text }) => {
    const reads = await readsOf(text);
    expect(reads).not.toHaveLength(0);
    // gmsi.signals looks for late headlines in the year before, in an index that has few.
    const scans = reads.filter(({ by }) => !/_greatest_idx$/.test(by));
    const months = scans.map(({ from }) => from).filter((from) => /^headlines_\d/.test(from));
    expect(months.filter((month) => month !== 'headlines_2025_12')).toEqual([]);
    const whole = reads
      .filter(({ by }) => ['Seq Scan', 'Function Scan'].includes(by))
      .map(({ from }) => from);
    expect(whole.filter((from) => /^(headline|hourly_sums|daily_sums|readings)/.test(from))).toEqual([]);
  },
);
