import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobFor, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import {
  aWindowIn,
  changeWindowsIn,
  coverIn,
  forgetWindowsIn,
  sqlIn,
  uncoverIn,
} from '../support/warehouse-state.ts';
import { aRow, idOf, upsert } from './a-row.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-11-20' };
const job = aJobFor(scope, { end_date: 'today', lookback: 'P3D', step: 'P30D', order: 'oldest-first' });

it('every headline leads to its load and its window, or came by the live feed', async ({ db }) => {
  await using sandbox = await aSandbox({ historicalDelayMinutes: 600, volume: 0.3 });
  await runBackfill({ job, db, sandbox });
  await runSync({ job, db, sandbox });
  const rows = await sqlIn(db)<{ command: string; brought: string; headlines: number }>`
    select l.command, case when h.window_id is null then 'live' else 'window' end as brought, count(*) as headlines
    from gmsi.headlines h
    join gmsi.loads l using (load_id)
    left join gmsi.windows w on w.window_id = h.window_id and w.country = h.country and w.topic = h.topic
      and (h.published_at at time zone 'UTC')::date between w.first_day and w.last_day + 1
    where h.window_id is null or w.window_id is not null
    group by 1, 2 order by 1, 2`;
  expect(rows.map(({ command, brought }) => [command, brought])).toEqual([
    ['backfill', 'window'],
    ['sync', 'live'],
  ]);
  const all = await sqlIn(db)<{ count: number }>`select count(*) from gmsi.headlines`;
  expect(rows.reduce((sum, { headlines }) => sum + headlines, 0)).toBe(all[0]!.count);
});

it('shows for every day what is loaded of it, and why not more', async ({ db }) => {
  await loadWithoutTheMiddle(db);
  expect(await gaps(db)).toEqual([
    ['2026-10-01', '2026-10-30', 30, 'failed', 'the middle cannot be had'],
    ['2026-11-17', '2026-11-20', 4, 'settling', null],
  ]);
  expect(await states(db)).toEqual([
    ['2026-09-01', '2026-09-30', 'covered'],
    // Its headlines came along with those of the day before.
    ['2026-10-01', '2026-10-01', 'partial'],
    ['2026-10-02', '2026-10-30', 'not loaded'],
    ['2026-10-31', '2026-11-16', 'covered'],
    ['2026-11-17', '2026-11-20', 'settling'],
  ]);
});

it('a series of which nothing is covered yet has all of its days in the gaps', async ({ db }) => {
  await aWindowIn(db, '2026-01-01', '2026-01-31', { topic: 'Wars', state: 'pending' });
  expect(await gaps(db)).toEqual([['2026-01-01', '2026-01-31', 31, 'pending', null]]);
  expect(await states(db)).toEqual([['2026-01-01', '2026-01-31', 'not loaded']]);
});

it('a wholly covered series has no gap, also if no window asked for it', async ({ db }) => {
  await coverIn(db, '{[2026-01-01, 2026-01-31]}', { topic: 'Wars' });
  expect(await gaps(db)).toEqual([]);
  expect(await states(db)).toEqual([['2026-01-01', '2026-01-31', 'covered']]);
  await uncoverIn(db, '{[2026-01-11, 2026-01-20]}');
  expect(await gaps(db)).toEqual([['2026-01-11', '2026-01-20', 10, 'not loaded', null]]);
});

it('a day that is being drained is partly loaded', async ({ db }) => {
  await aWindowIn(db, '2026-01-01', '2026-01-02', { topic: 'Wars', state: 'pending' });
  const stateAfter = async (change: object) => {
    await changeWindowsIn(db, change);
    return (await states(db)).map(([, , state]) => state);
  };
  expect(await stateAfter({ state: 'draining' })).toEqual(['partial']);
  expect(await stateAfter({ state: 'failed' })).toEqual(['not loaded']);
  expect(await stateAfter({ pages: 1 })).toEqual(['partial']);
  expect(await stateAfter({ state: 'pending' })).toEqual(['partial']);
  await forgetWindowsIn(db);
  await aWindowIn(db, '2026-01-01', '2026-01-02', { topic: 'Wars', first_unsettled: '2026-01-01' });
  expect(await states(db)).toEqual([['2026-01-01', '2026-01-02', 'settling']]);
});

it('a day that is partly loaded stays so when its window begins again at its first page', async ({ db }) => {
  await using sandbox = await aSandbox({ volume: 1 });
  const small = aJobFor({ ...scope, to: '2026-09-01' }, { service: { end_date: 'inclusive', page_size: 5 } });
  await runBackfill({ job: small, db, sandbox, ...stoppedAt(2) });
  await sqlIn(db)`delete from gmsi.headlines`;
  expect(await states(db)).toEqual([['2026-09-01', '2026-09-01', 'partial']]);
  sandbox.script([{ kind: 'refuse', times: 1e6, detail: 'Expired next_token' }]);
  const result = await runBackfill({ job: small, db, sandbox });
  expect(result.outcome).toBe('incomplete');
  expect(await sqlIn(db)`select state, pages from gmsi.queue`).toEqual([{ state: 'refused', pages: 0 }]);
  expect(await states(db)).toEqual([['2026-09-01', '2026-09-01', 'partial']]);
  // Its pages are counted as what was read of these days.
  expect(await sqlIn(db)`select pages, records, is_whole from gmsi.readings`).toEqual([
    { pages: 2, records: 10, is_whole: false },
  ]);
});

it('the rollups say of a day that nobody asked for that it is not whole', async ({ db }) => {
  await using sandbox = await aSandbox({ volume: 1 });
  await runBackfill({ job: aJobFor({ ...scope, to: '2026-09-03' }), db, sandbox });
  const rows = await sqlIn(db)`
    select day, string_agg(distinct daily.state, ', ') as daily, string_agg(distinct hourly.state, ', ') as hourly
    from gmsi.sentiment_daily as daily
    join gmsi.sentiment_hourly as hourly on (hourly.hour at time zone 'UTC')::date = daily.day
    group by 1 order by 1`;
  expect(rows).toEqual([
    { day: '2026-09-01', daily: 'covered', hourly: 'covered' },
    { day: '2026-09-02', daily: 'covered', hourly: 'covered' },
    { day: '2026-09-03', daily: 'covered', hourly: 'covered' },
    { day: '2026-09-04', daily: 'partial', hourly: 'partial' },
  ]);
});

async function loadWithoutTheMiddle(db: Warehouse, volume = 1): Promise<void> {
  await using sandbox = await aSandbox({ volume });
  await runBackfill({
    job,
    db,
    sandbox,
    aroundPage: (ask, { query }) => {
      if (query.start_date === '2026-10-01') throw new Error('the middle cannot be had');
      return ask();
    },
  });
}

async function gaps(db: Warehouse) {
  const rows = await sqlIn(db)<Record<string, unknown>>`
    select from_day, to_day, days, state, last_error from gmsi.coverage_gaps order by from_day`;
  return rows.map(Object.values);
}

/** Consecutive days of one state, of the only series. */
async function states(db: Warehouse) {
  const rows = await sqlIn(db)<Record<string, unknown>>`
    select min(day) as from_day, max(day) as to_day, state
    from (select day, state, day - row_number() over (partition by state order by day)::int as run from gmsi.coverage_by_day) as days
    group by state, run order by 1`;
  return rows.map(Object.values);
}

it('has a row for every day in sentiment_by_day: 0 without news, or null', async ({ db }) => {
  await loadWithoutTheMiddle(db, 0.05);
  const rows = await sqlIn(db)<{ kind: string; state: string; days: number; wrong: number }>`
    select state, case when all_count is null then 'unknown' when all_count = 0 then 'no news' else 'news' end as kind,
           count(*) as days,
           count(*) filter (where country_name is null
             or array[all_count, directional_count, semantic_count] is distinct from case when state = 'not loaded' then array[null, null, null]::int[]
                  else array[coalesce(headlines, 0), coalesce(directionals, 0), coalesce(semantics, 0)]::int[] end
             or num_nulls(directional_sum, directional_probability_sum, directional_weighted_sum, semantic_sum,
                          semantic_probability_sum, semantic_weighted_sum) <> case when state <> 'not loaded' then 0 else 6 end
             or round(directional::numeric, 12) is distinct from round(nullif(directional_sum, 0)::numeric, 12)
             or round(semantic::numeric, 12) is distinct from round(nullif(semantic_sum, 0)::numeric, 12)
             or round((directional / directionals)::numeric, 12) is distinct from round(directional_mean::numeric, 12)
             or round((semantic / nullif(semantics, 0))::numeric, 12) is distinct from round(semantic_mean::numeric, 12)
             or abs(directional_weighted_mean - directional_weighted_sum / nullif(directional_probability_sum, 0)) > 1e-12
           ) as wrong
    from gmsi.sentiment_by_day
    left join (
      select (published_at at time zone 'UTC')::date as day, count(*) as headlines,
             count(directional_score) as directionals, count(semantic_score) as semantics,
             sum(directional_score order by published_at, headline_id) as directional,
             sum(semantic_score order by published_at, headline_id) as semantic
      from gmsi.headlines group by 1
    ) as truth using (day)
    where country = 'US' and topic = 'Inflation-Food' and match_type = 'COMBINED'
    group by 1, 2 order by 1, 2`;
  expect(rows.map(({ state, kind, wrong }) => [state, kind, wrong])).toEqual([
    ['covered', 'news', 0],
    ['covered', 'no news', 0],
    ['not loaded', 'unknown', 0],
    ['settling', 'news', 0],
    ['settling', 'no news', 0],
  ]);
  // From the first day that was asked for to the last, none left out.
  expect(rows.reduce((sum, { days }) => sum + days, 0)).toBe(81);
});

it('sentiment_by_day counts each headline once, whichever model scored it', async ({ db }) => {
  await coverIn(db, '{[2026-09-01, 2026-09-03]}');
  const scored = [
    ['2026-09-01', 0.9, null],
    ['2026-09-01', null, 0.1],
    ['2026-09-01', null, null],
    ['2026-09-02', -0.1, null],
    ['2026-09-02', -0.3, null],
    ['2026-09-02', -0.5, null],
    ['2026-09-03', null, null],
  ] as const;
  await upsert(
    db,
    scored.map(([day, directional_score, semantic_score], n) =>
      aRow({ headline_id: idOf(n), published_at: `${day}T10:00:00Z`, directional_score, semantic_score }),
    ),
  );
  const rows = await sqlIn(db)`
    select sum(all_count)::int as headlines, sum(directional_count)::int as directional, sum(semantic_count)::int as semantic,
           round((sum(directional_sum) / sum(directional_count))::numeric, 9)::float8 as mean,
           array_agg(all_count order by day) as by_day
    from gmsi.sentiment_by_day`;
  expect(rows).toEqual([{ headlines: 7, directional: 4, semantic: 1, mean: 0, by_day: [3, 3, 1] }]);
});

const oil = 'Oil prices climb as exporters cut output';
it('headlines that say the same have the same story key', async ({ db }) => {
  const keyOf = async (text: string | null, collation = 'default') => {
    const rows = await sqlIn(db)<{ key: string | null }>`
      select gmsi.story_key(${text}::text collate ${sql.id(collation)}) as key`;
    return rows[0]!.key;
  };
  const key = await keyOf(oil);
  expect(key).toMatch(/^[0-9a-f]{8}-/);
  for (const same of [
    oil.toUpperCase(),
    `  ${oil.replaceAll(' ', '  ')}!\n`,
    oil.replaceAll(' ', '\u00a0'),
    `“${oil}…”`,
    'Ｏｉｌ　ｐｒｉｃｅｓ　climb as exporters cut output',
    `${oil} - Reuters`,
    `${oil} | The Wall Street Journal`,
    `${oil} - Voice of America`,
    `${oil} - ft.com`,
    `${oil} - 日本経済新聞`,
    `${oil} – FT.com `,
    `${oil} — Yahoo! Finance UK`,
  ])
    expect([same, await keyOf(same)]).toEqual([same, key]);
  for (const other of [
    'Oil prices climb as exporters cut outputs',
    `${oil} in 2025`,
    `${oil} - and demand falls further behind`,
    `Wars - ${oil}`,
    `${oil} - rates cut`,
    `${oil} - FTSE at 8,000`,
  ])
    expect([other, (await keyOf(other)) === key]).toEqual([other, false]);
  // Scripts without case or spaces, also where the locale of the database knows only ASCII.
  expect(await keyOf('物価が上昇、日銀は金利を据え置き')).not.toBe(
    await keyOf('物価が下落、日銀は金利を据え置き'),
  );
  expect(await keyOf('物価が上昇、日銀は金利を据え置き。')).toBe(
    await keyOf('物価が上昇 日銀は金利を据え置き'),
  );
  expect(await keyOf('Gold - Reuters')).not.toBe(await keyOf('Gold'));
  for (const empty of [null, '', ' \n', '… — !']) expect([empty, await keyOf(empty)]).toEqual([empty, null]);
  for (const odd of ['\\x41 \\000', 'a'.repeat(100_000), '🛢️ up', '\u0007bell'])
    expect(await keyOf(odd)).toMatch(/^[0-9a-f]{8}-/);
});

it('stories that differ in a number, or in its sign or unit, are not one', async ({ db }) => {
  const keysOf = async (texts: readonly string[]) => {
    const rows = await sqlIn(db)<{ key: string }>`
      select gmsi.story_key(text) as key from unnest(${[...texts]}::text[]) with ordinality as t (text, n) order by n`;
    return rows.map(({ key }) => key);
  };
  const different = [
    ['GDP 0.3%', 'GDP -0.3%', 'GDP +0.3%', 'GDP 3%', 'GDP 0 3%', 'GDP 0.3', 'GDP 0.3-3%'],
    ['Fed decision looms over markets - rates cut', 'Fed decision looms over markets - rates hike'],
    ['Payrolls +250k', 'Payrolls -250k', 'Payrolls: 250k'],
    ['Inflation <2%', 'Inflation >2%', 'Inflation 2%'],
    ['Aid of $5bn approved', 'Aid of £5bn approved', 'Aid of €5bn approved', 'Aid of -$5bn approved'],
    ['Bread at 5$', 'Bread at 5£', 'Bread at 5'],
    ['Index ends at 1.234', 'Index ends at 12.34', 'Index ends at 123.4'],
    ['US jobs report for the month of October | +250k', 'US jobs report for the month of October | -250k'],
    ['日経平均-3%', '日経平均+3%'],
  ];
  for (const texts of different)
    expect(new Set(await keysOf(texts)).size, texts.join(' / ')).toBe(texts.length);
  const same = [
    // Hyphen, minus, en dash, and their wide and small forms.
    ['GDP -0.3%', 'GDP: −0.3%', 'GDP –0.3%', 'gdp －0.3％', 'GDP ﹣0.3%', '“GDP (-0.3%)”'],
    ['Covid-19 cases rise in 2025-26', 'Covid 19 cases rise in 2025–26', 'COVID‑19 cases rise in 2025/26'],
    ['Stocks up, bonds down - again', 'Stocks up; bonds down – again'],
    ['Fed holds... 5 things to know', 'Fed holds: 5 things to know', 'Fed holds… 5 things to know'],
    ['Rates at 5.', 'Rates at 5'],
    ['Rates at 5%', 'Rates at 5 %', 'Rates at 5\u00a0%'],
    ['U.S. and U.K. in talks', 'US and UK in talks', 'u.s. and u.k in talks'],
    ['U.S.-China trade', 'US-China trade'],
    [`${oil} – Reuters`, oil],
  ];
  for (const texts of same) expect(new Set(await keysOf(texts)).size, texts.join(' / ')).toBe(1);
});

it('a story key is a part of the query that asks for it, and costs nothing else', async ({ db }) => {
  const rows = await sqlIn(db)<{ 'QUERY PLAN': string }>`
    explain (verbose, costs off) select gmsi.story_key(headline) from gmsi.headlines`;
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
  expect(plan).toMatch(/sha256/);
  expect(plan).not.toMatch(/story_key/);
});
