import fc from 'fast-check';
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { coverIn, forgetDaysIn, listIn, sqlIn, watchIn } from '../support/warehouse-state.ts';
import { aStep, empty, hours, take } from './a-history.ts';
import { aRow, idOf, upsert } from './a-row.ts';

/** The two days of the history, in UTC. */
const days = [hours[0]!, hours[3]!].map((time) => time.slice(0, 10));

/** What gmsi.sentiment_daily_as_known says of a day as of a moment. */
async function asKnown(db: Warehouse, day: string, moment: string, assumed: boolean) {
  const rows = await sqlIn(db)<Record<string, unknown>>`
    select all_count, witnessed_count, directional_count, directional_sum, directional_probability_sum, directional_weighted_sum,
           semantic_count, semantic_sum
    from gmsi.sentiment_daily_as_known(${day}::date, ${day}::date, 'US', 'Inflation-Food',
      delay => ${moment}::timestamptz - (${day}::date + 1)::timestamp at time zone 'UTC', assume_backfilled => ${assumed})`;
  return rows[0];
}

/** The same from the table as of that moment (without backfilled headlines), or from all versions (with them). */
async function plainly(db: Warehouse, day: string, moment: string, assumed: boolean) {
  const rows = assumed
    ? sql`(select * from gmsi.headlines_point_in_time
           where assumed_from <= ${moment} and (usable_to is null or usable_to > ${moment}::timestamptz))`
    : sql`(select * from gmsi.headlines_as_of(${moment}) where retracted_at is null)`;
  const found = await sqlIn(db)<Record<string, unknown>>`
    select count(*) filter (where counts) as all_count,
           count(*) filter (where counts and first_seen_at <= ${moment}::timestamptz) as witnessed_count,
           count(d) as directional_count, coalesce(sum(d order by published_at, headline_id), 0) as directional_sum,
           coalesce(sum(p order by published_at, headline_id) filter (where d is not null), 0) as directional_probability_sum,
           coalesce(sum(d * p order by published_at, headline_id), 0) as directional_weighted_sum,
           count(s) as semantic_count, coalesce(sum(s order by published_at, headline_id), 0) as semantic_sum
    from (
      select published_at, headline_id, first_seen_at, counts, coalesce(topic_probability, 0) as p,
             case when counts then gmsi.summable(directional_score) end as d, case when counts then gmsi.summable(semantic_score) end as s
      from ${rows} as version cross join lateral (select not is_backfilled or ${assumed} as counts) as c
      where (published_at at time zone 'UTC')::date = ${day}::date
    ) as of_day`;
  return found[0];
}

it('says of any day what was known of it at any moment, as the table as of that moment does', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  let counted = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 8 }), async (steps) => {
      await empty(db);
      await forgetDaysIn(db);
      await coverIn(db, `{[${days[0]}, ${days[1]}]}`);
      const moments: string[] = [];
      for (const step of steps) {
        await take(db, step);
        const rows = await sqlIn(db)<{ at: string }>`select clock_timestamp()::text as at`;
        moments.push(rows[0]!.at);
      }
      for (const moment of moments)
        for (const day of days)
          for (const assumed of [true, false]) {
            const found = await asKnown(db, day, moment, assumed);
            expect(found, `${day} as of ${moment}`).toEqual(await plainly(db, day, moment, assumed));
            counted += found!.directional_count as number;
          }
    }),
    { numRuns: 25 },
  );
  expect(counted).toBeGreaterThan(100);
});

it('has no first row of a moment of the future either', async ({ db }) => {
  await upsert(db, [aRow()]);
  const first = sqlIn(db)`select headline_id from gmsi.headlines_as_of(now() + interval '1 hour') limit 1`;
  await expect(first).rejects.toThrow('is in the future');
});

it('tells no news from not loaded, and what it has seen from what it assumes', async ({ db }) => {
  await upsert(db, [
    aRow({ headline_id: idOf(1), published_at: '2026-03-02T12:30:00Z', directional_score: 0.5 }),
    aRow({ headline_id: idOf(2), published_at: '2026-03-02T23:59:59.999999Z', directional_score: 0.1 }),
  ]);
  await coverIn(db, '{[2026-03-01, 2026-03-03), [2026-03-04,2026-03-07)}');
  await coverIn(db, '{[2026-03-05, 2026-03-06)}', { country: 'GB' });
  await watchIn(db, { '2026-03-05': '2026-03-06 06:00+00', '2026-03-06': '2026-03-07 06:00:01+00' });
  const rows = await sqlIn(db)<Record<string, unknown>>`
    select country, day::text, to_char(known_at at time zone 'UTC', 'DD HH24:MI') as known_at, state, all_count, witnessed_count,
           directional_mean
    from gmsi.sentiment_daily_as_known(delay => '6 hours')`;
  expect(rows.map((row) => Object.values(row))).toEqual([
    ['GB', '2026-03-05', '06 06:00', 'assumed', 0, 0, null],
    ['US', '2026-03-01', '02 06:00', 'assumed', 0, 0, null],
    ['US', '2026-03-02', '03 06:00', 'assumed', 2, 0, 0.3],
    ['US', '2026-03-04', '05 06:00', 'late', 0, 0, null],
    ['US', '2026-03-05', '06 06:00', 'covered', 0, 0, null],
    ['US', '2026-03-06', '07 06:00', 'late', 0, 0, null],
  ]);
});

it('has days from close to close, whatever the weekday or the clocks', async ({ db }) => {
  // In New York the clocks are put forward on 8 March; the 10th is taken for a half day.
  await sqlIn(db)`insert into gmsi.closes (market, day, at)
    select 'Elsewhere', d::date, (d + case when d = '2026-03-10' then interval '13 hours' else '16 hours' end) at time zone 'America/New_York'
    from generate_series(timestamp '2026-03-05', '2026-03-11', '1 day') as d where extract(isodow from d) < 6`;
  const times = {
    '2026-03-05T21:00:00Z': 'before the first day',
    '2026-03-05T21:00:01Z': '2026-03-06',
    '2026-03-06T20:59:59Z': '2026-03-06',
    '2026-03-06T21:00:01Z': '2026-03-09',
    '2026-03-08T12:30:00Z': '2026-03-09',
    '2026-03-09T19:59:59Z': '2026-03-09',
    '2026-03-09T20:00:01Z': '2026-03-10',
    '2026-03-10T16:59:59Z': '2026-03-10',
    '2026-03-10T17:00:01Z': '2026-03-11',
  };
  await upsert(
    db,
    Object.keys(times).map((published_at, n) =>
      aRow({ headline_id: idOf(n), published_at, directional_score: 2 ** n }),
    ),
  );
  await coverIn(db, '{[2026-03-01, 2026-03-20)}');
  const rows = await sqlIn(db)<{ day: string; directional_sum: number }>`
    select day::text, directional_sum from gmsi.sentiment_daily_as_known(country => 'US', market => 'Elsewhere')`;
  const expected: Record<string, number> = {};
  for (const [n, day] of Object.values(times).entries()) expected[day] = (expected[day] ?? 0) + 2 ** n;
  delete expected['before the first day'];
  expect(Object.fromEntries(rows.map(({ day, directional_sum }) => [day, directional_sum]))).toEqual(
    expected,
  );
});

it.for([
  [sql`delay => '-1 hour'`, 'delay is null or negative: -01:00:00'],
  [sql`delay => null`, 'delay is null or negative: null'],
  [sql`market => 'Atlantis'`, 'unknown market: Atlantis'],
  [sql`rounding => 'hours'`, 'no rounding: hours'],
] as const)('fails for what there is not: %#', async ([given, message], { db }) => {
  await expect(sql`select * from gmsi.sentiment_daily_as_known(${given})`.execute(db)).rejects.toThrow(
    message,
  );
});

const hour = 3_600_000;
const begin = Date.UTC(2026, 2, 1, 0, 30);
const stories = ['Prices of food rise again', 'Wages fall in all trades', 'Banks close early today', null];

it('says of each headline what was known of its story when it came, whatever comes later', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  await listIn(db);
  let tellings = 0;
  const aHeadline = fc.record({ at: fc.nat(24 * 12), story: fc.nat(3), isLoud: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(aHeadline, { minLength: 12, maxLength: 25 }), async (headlines) => {
      await empty(db);
      const all = headlines.map(({ at, story, isLoud }, n) => {
        const text = stories[story]!;
        return {
          id: idOf(n),
          at: begin + at * hour,
          text: isLoud && text ? `${text.toUpperCase()} - Reuters` : text,
          story,
        };
      });
      await upsert(
        db,
        all.map(({ id, at, text }) =>
          aRow({ headline_id: id, published_at: new Date(at).toISOString(), headline: text }),
        ),
      );
      const rows = await sqlIn(db)<Record<string, unknown>>`
        select headline_id as id, tellings, days_since as "daysSince"
        from gmsi.novelty('2026-03-05', '2026-03-09', 'US', 'Inflation-Food', lookback => '3 days')`;
      const expected = all
        .filter(({ at }) => at >= Date.UTC(2026, 2, 5) && at < Date.UTC(2026, 2, 10))
        .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
        .map(({ id, at, story, text }) => {
          const before = all.filter(
            (other) =>
              (other.id === id || (text !== null && other.story === story)) &&
              other.at <= at &&
              other.at >= at - 72 * hour,
          );
          tellings += before.length - 1;
          return {
            id,
            tellings: before.length,
            daysSince: (at - Math.min(...before.map((one) => one.at))) / hour / 24,
          };
        });
      expect(rows).toEqual(expected);
    }),
    { numRuns: 30 },
  );
  expect(tellings).toBeGreaterThan(50);
});

it('keeps what it said of a day, whatever becomes of its headlines', async ({ db }) => {
  await listIn(db);
  const of = (n: number, headline: string, day: number) =>
    aRow({ headline_id: idOf(n), published_at: `2026-03-0${day}T12:30:00Z`, headline });
  const asked = sql`select * from gmsi.novelty('2026-03-02', '2026-03-03', 'US', 'Inflation-Food')`;
  await upsert(db, [of(1, 'Prices of food rise again', 2), of(2, 'Prices of food rise again', 3)]);
  const { rows: before } = await asked.execute(db);
  expect(before).toMatchObject([{ tellings: 1 }, { tellings: 2, days_since: 1 }]);
  await upsert(db, [of(1, 'Prices of food fall again', 2)]);
  await sqlIn(db)`
    update gmsi.headlines set retracted_at = now(), changed_at = clock_timestamp() where headline_id = ${idOf(2)}::uuid`;
  await upsert(db, [of(3, 'Prices of food rise again', 3)], { isBackfilled: false });
  expect((await asked.execute(db)).rows).toEqual(before);
});

it.for([
  [sql`null, '2026-03-04', 'US', 'Inflation-Food'`, 'a day, the country or the topic is null'],
  [sql`'2026-03-01', '2026-03-04', null, 'Inflation-Food'`, 'a day, the country or the topic is null'],
  [
    sql`'2026-03-01', '2026-03-04', 'US', 'Inflation-Food', lookback => '0 days'`,
    'lookback is not positive: 00:00:00',
  ],
] as const)('fails for days and times that there are not: %#', async ([given, message], { db }) => {
  await expect(sql`select * from gmsi.novelty(${given})`.execute(db)).rejects.toThrow(message);
});

it('has how late the headlines of a source came, without those that nobody saw come', async ({ db }) => {
  const published = new Date(Date.now() - 5 * 86_400_000).toISOString();
  const row = (number: number, source: string | null) =>
    aRow({ headline_id: idOf(number), source, published_at: published });
  const watched = { isBackfilled: false };
  const reuters = Array.from({ length: 101 }, (_, at) => row(at, 'Reuters'));
  await upsert(db, reuters, watched);
  await upsert(db, [row(201, null)], watched);
  await upsert(db, [row(301, 'Reuters'), row(302, 'AP')], { isBackfilled: true });
  await upsert(db, [{ ...row(401, 'AFP'), published_at: '2020-01-01T00:00:00Z' }], watched);
  const begun = new Date(Date.now() - 6 * 86_400_000).toISOString();
  await sqlIn(db)`
    insert into gmsi.loads (command, job, feed, run_by, started_at)
    values ('sync', '', 'gmsi-headlines', '', ${begun}), ('sync', '', 'gmsi-headlines', '', now())`;
  await upsert(
    db,
    [{ ...row(501, 'dpa'), published_at: new Date(Date.now() - 7 * 86_400_000).toISOString() }],
    watched,
  );
  // One a minute; the last of them was retracted.
  await sqlIn(db)`
    update gmsi.headlines set first_seen_at = published_at + right(headline_id::text, 12)::int * interval '1 minute'`;
  await sqlIn(db)`
    update gmsi.headlines set first_seen_at = published_at + interval '1 day', retracted_at = now()
    where headline_id = ${idOf(100)}`;
  // One was published three hours earlier at first.
  const first = new Date(Date.parse(published) - 3 * 3_600_000).toISOString();
  await upsert(db, [{ ...row(50, 'Reuters'), published_at: first }], watched);
  await sqlIn(db)`
    update gmsi.headlines
    set first_seen_at = ${first}::timestamptz + interval '50 minutes',
        moved_from = case when published_at <> ${first}::timestamptz then ${first}::timestamptz end,
        retracted_at = case when published_at = ${first}::timestamptz then now() end
    where headline_id = ${idOf(50)}`;
  const rows = await sqlIn(db)`
    select source, headlines, p50::text, p99::text from gmsi.arrival_delays order by source`;
  expect(rows).toEqual([
    { source: 'Reuters', headlines: 100, p50: '00:49:30', p99: '01:38:00.6' },
    { source: null, headlines: 1, p50: '03:21:00', p99: '03:21:00' },
  ]);
});
