import { type RawBuilder, sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { it } from '../support/serving.ts';
import { aWindowIn, coverIn, listIn, sqlIn, watchIn } from '../support/warehouse-state.ts';
import { aRow, upsert } from './a-row.ts';

/** Twenty days of six series, one of them watched from the tenth day on: headlines that came at once, late, rescored and withdrawn. */
async function fill(db: Warehouse): Promise<void> {
  for (const country of ['US', 'GB', 'NO'])
    for (const topic of ['Inflation-Food', 'Wars'])
      await coverIn(db, country === 'NO' ? '{[2026-03-01,2026-03-12)}' : '{[2026-03-01,2026-03-21)}', {
        country,
        topic,
      });
  const watched = Array.from({ length: 10 }, (_, n) => n + 10);
  await watchIn(db, Object.fromEntries(watched.map((n) => [`2026-03-${n}`, `2026-03-${n + 1} 04:00+00`])));
  await sqlIn(db)`select gmsi.ensure_month_partition('headlines', '2026-03-01')`;
  await sqlIn(db)`select setseed(0.64)`;
  await sqlIn(db)`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, headline, topic_probability, directional_score,
                                semantic_score, first_seen_at, changed_at, is_backfilled, load_id)
    select gen_random_uuid(), country, topic, 'COMBINED', published_at, 'Text ' || n % 7, random(), random() - 0.5, random() - 0.5, seen_at,
           seen_at, is_backfilled, 1
    from unnest(array['US', 'GB', 'NO']) as country, unnest(array['Inflation-Food', 'Wars']) as topic, generate_series(1, 300) as n
    cross join lateral (select timestamptz '2026-03-01 00:00+00' + random() * interval '20 days' * (n > 0)::int as published_at) as p
    cross join lateral (select published_at < '2026-03-10 00:00+00' as is_backfilled) as b
    cross join lateral (
      select case when is_backfilled then timestamptz '2026-03-10 00:00+00' else published_at + random() * interval '1 day' end as seen_at) as s`;
  await sqlIn(db)`
    update gmsi.headlines
    set directional_score = -directional_score, changed_at = changed_at + interval '30 hours',
        retracted_at = case when headline_id::text ~ '^1' then changed_at + interval '30 hours' end
    where headline_id::text ~ '^[0-4]'`;
}

const moments = sql`array(select timestamptz '2026-03-02 21:00+00' + n * interval '7 hours' from generate_series(0, 60) as n)`;

const panels: readonly [
  what: string,
  one: (country: RawBuilder<unknown>, topic: RawBuilder<unknown>) => RawBuilder<unknown>,
][] = [
  ['signals', (country, topic) => sql`gmsi.signals(${moments}, ${country}, ${topic})`],
  [
    'signals of the month before',
    (country, topic) => sql`gmsi.signals(${moments}, ${country}, ${topic}, over => '1 month')`,
  ],
  [
    'strict signals of stories',
    (country, topic) =>
      sql`gmsi.signals(${moments}, ${country}, ${topic}, sentiment_type => 'semantic_sentiment', assume_backfilled => false,
                       of_stories => true, half_life => '5 hours', least_probability => 0.2)`,
  ],
  [
    'days',
    (country, topic) =>
      sql`gmsi.sentiment_daily_as_known(null, null, ${country}, ${topic}, delay => '1 hour')`,
  ],
  [
    'some strict days',
    (country, topic) =>
      sql`gmsi.sentiment_daily_as_known('2026-03-05', '2026-03-15', ${country}, ${topic}, delay => '2 days', assume_backfilled => false)`,
  ],
  [
    'days of a market',
    (country, topic) =>
      sql`gmsi.sentiment_daily_as_known(null, null, ${country}, ${topic}, market => 'New York')`,
  ],
];

it('has of many series what it has of each', async ({ db }) => {
  await fill(db);
  const nobody = sql`null`;
  const states = new Set<string>();
  for (const [what, one] of panels) {
    const rowsOf = (from: RawBuilder<unknown>, where = sql`true`) => sqlIn(db)<{
      headlines: number;
      state: string;
    }>`
      select p.*, coalesce(to_jsonb(p) -> 'all_count', to_jsonb(p) -> 'headline_count')::int as headlines from ${from} as p where ${where} order by country, topic, 4`;
    const all = await rowsOf(one(nobody, nobody));
    expect(
      all.reduce((sum, { headlines }) => sum + headlines, 0),
      what,
    ).toBeGreaterThan(100);
    for (const { state } of all) states.add(state);
    const each = sql`(select f.* from gmsi.series s cross join lateral ${one(sql`s.country`, sql`s.topic`)} as f)`;
    expect(await rowsOf(each), what).toEqual(all);
    expect(await rowsOf(one(nobody, sql`'Wars'`)), what).toEqual(await rowsOf(each, sql`topic = 'Wars'`));
    expect(await rowsOf(one(sql`'NO'`, nobody)), what).toEqual(await rowsOf(each, sql`country = 'NO'`));
  }
  expect([...states].toSorted()).toEqual([
    'assumed',
    'backfilled',
    'covered',
    'late',
    'not loaded',
    'partial',
  ]);
});

it('omits days that nobody requested, but of a series that is named', async ({ db }) => {
  await coverIn(db, '{[2026-03-01,2026-03-02), [2026-03-06,2026-03-07)}');
  await aWindowIn(db, '2026-03-03', '2026-03-03', { state: 'pending' });
  await upsert(db, [aRow({ published_at: '2026-03-04T12:00:00Z' })]);
  const states = async (topic: string | null) => {
    const rows = await sqlIn(db)<{ day: string; state: string }>`
      select right(day::text, 2) as day, state from gmsi.sentiment_daily_as_known(country => 'US', topic => ${topic})`;
    return rows.map(({ day, state }) => `${day} ${state}`);
  };
  expect(await states(null)).toEqual(['01 assumed', '03 not loaded', '04 partial', '06 assumed']);
  expect(await states('Inflation-Food')).toEqual([
    ...['01 assumed', '02 not loaded', '03 not loaded', '04 partial', '05 not loaded', '06 assumed'],
  ]);
});

describe('fails for', () => {
  const moment = sql`array[timestamptz '2026-03-05 21:00+00']`;
  const future = sql`now() + interval '1 hour'`;
  const nextWeek = sql`current_date + 7`;
  const calls: readonly [message: string, calls: readonly RawBuilder<unknown>[]][] = [
    [
      'unknown country: us',
      [
        sql`signals(${moment}, 'us')`,
        sql`sentiment_daily_as_known(country => 'us')`,
        sql`novelty('2026-03-01', '2026-03-02', 'us', 'Inflation-Food')`,
      ],
    ],
    [
      'unknown topic: Inflation Food',
      [
        sql`signals(${moment}, 'US', 'Inflation Food')`,
        sql`sentiment_daily_as_known(topic => 'Inflation Food')`,
        sql`novelty('2026-03-01', '2026-03-02', 'US', 'Inflation Food')`,
      ],
    ],
    [
      'nothing was loaded with match_type combined',
      [
        sql`signals(${moment}, 'US', 'Inflation-Food', 'combined')`,
        sql`sentiment_daily_as_known(match_type => 'combined')`,
        sql`novelty('2026-03-01', '2026-03-02', 'US', 'Inflation-Food', 'combined')`,
      ],
    ],
    [
      'is in the future',
      [
        sql`signals(array[now(), ${future}])`,
        sql`headlines_as_of(${future})`,
        sql`gmsi_index_as_of(${future})`,
        sql`sentiment_daily_as_known('2026-03-01', ${nextWeek})`,
        sql`novelty('2026-03-01', ${nextWeek}, 'US', 'Inflation-Food')`,
      ],
    ],
    [
      'no days from 2026-03-02 to 2026-03-01',
      [
        sql`sentiment_daily_as_known('2026-03-02', '2026-03-01')`,
        sql`novelty('2026-03-02', '2026-03-01', 'US', 'Inflation-Food')`,
      ],
    ],
  ];
  it.for(calls)('%s', async ([message, of], { db }) => {
    await listIn(db);
    await coverIn(db, '{[2026-03-01,2026-03-02)}');
    for (const call of of) await expect(sql`select * from gmsi.${call}`.execute(db)).rejects.toThrow(message);
  });
});

it('knows a name by its list or by what was loaded', async ({ db }) => {
  const states = (country: string) => sqlIn(db)`
    select state from gmsi.signals(array[timestamptz '2026-03-05 21:00+00'], ${country}, 'Inflation-Food')`;
  await listIn(db);
  expect(await states('US')).toEqual([{ state: 'series not loaded' }]);
  await coverIn(db, '{[2026-03-01,2026-03-10)}', { country: 'GB' });
  expect(await states('GB')).toEqual([{ state: 'assumed' }]);
  expect(await states('US')).toEqual([{ state: 'series not loaded' }]);
});
