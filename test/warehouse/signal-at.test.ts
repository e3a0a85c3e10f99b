import fc from 'fast-check';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aStep, empty, hours, take } from './a-history.ts';
import { aRow, idOf, upsert } from './a-row.ts';

/** A question about a moment. Its columns are also the arguments of `gmsi.signal_at`. */
interface Asked {
  readonly moment: string;
  readonly over: string;
  readonly sentiment_type: 'directional' | 'semantic_sentiment';
  readonly assume_backfilled: boolean;
}

const askedAt = (asked: readonly Asked[]) => sql`
  rows from (jsonb_to_recordset(${JSON.stringify(asked)}::jsonb)
    as (moment timestamptz, over interval, sentiment_type text, assume_backfilled boolean)) with ordinality
    as a (moment, over, sentiment_type, assume_backfilled, n)`;

async function signals(db: Warehouse, asked: readonly Asked[]) {
  const { rows } = await sql`
    select n, s.* from ${askedAt(asked)}
    cross join lateral gmsi.signal_at(a.moment, 'US', 'Inflation-Food', over => a.over,
      sentiment_type => a.sentiment_type, assume_backfilled => a.assume_backfilled) as s
    order by n`.execute(db);
  return rows;
}

/** The same from the versions of the headlines, by a plain join. */
async function joined(db: Warehouse, asked: readonly Asked[]) {
  const { rows } = await sql`
    select n, count(score)::int as headline_count,
           (count(score) filter (where usable_from <= moment))::int as witnessed_count,
           coalesce(sum(score order by published_at, headline_id), 0) as sentiment_sum,
           coalesce(sum(abs(score) order by published_at, headline_id), 0) as sentiment_abs_sum,
           stddev_pop(score order by published_at, headline_id) as sentiment_std,
           avg(score order by published_at, headline_id) as sentiment_mean,
           sum(score * topic_probability order by published_at, headline_id)
             / sum(topic_probability order by published_at, headline_id) filter (where score is not null) as weighted_mean
    from (
      select a.*, v.*, case when a.sentiment_type = 'directional' then v.directional_score else v.semantic_score end as score
      from ${askedAt(asked)}
      left join gmsi.headlines_point_in_time v
        on v.country = 'US' and v.topic = 'Inflation-Food' and v.match_type = 'COMBINED'
        and v.published_at > a.moment - a.over and v.published_at <= a.moment
        and (v.usable_to is null or v.usable_to > a.moment)
        and (v.usable_from <= a.moment or a.assume_backfilled and v.assumed_from <= a.moment)
    ) as known
    group by n order by n`.execute(db);
  return rows;
}

it('says of any moment what the headlines added up to that were known then, as a join with all their versions does', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  const met = { assumed: 0, witnessed: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 10 }), async (steps) => {
      await empty(db);
      // Before the first step, at the times of publication, and after each step.
      const moments = [...hours, '2026-10-31T23:45:00Z', '2026-11-01T10:00:00Z', await clock(db)];
      for (const step of steps) {
        await take(db, step);
        moments.push(await clock(db));
      }
      const asked = moments.flatMap((moment) =>
        (['10 minutes', '1 day', '1000 days'] as const).flatMap((over) =>
          (['directional', 'semantic_sentiment'] as const).flatMap((sentiment_type) =>
            [true, false].map((assume_backfilled) => ({ moment, over, sentiment_type, assume_backfilled })),
          ),
        ),
      );
      const found = await signals(db, asked);
      expect(found).toEqual(await joined(db, asked));
      for (const { headline_count, witnessed_count } of found as Record<string, number>[]) {
        met.witnessed += witnessed_count!;
        met.assumed += headline_count! - witnessed_count!;
      }
    }),
    { numRuns: 40 },
  );
  expect(met.witnessed).toBeGreaterThan(100);
  expect(met.assumed).toBeGreaterThan(100);
});

async function clock(db: Warehouse): Promise<string> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp()::text as at`.execute(db);
  return rows[0]!.at;
}

it('of a whole day, once all is known, is what the rollup of that day says', async () => {
  await using warehouse = await aWarehouse();
  const { db } = warehouse;
  const rows = [0.3, -0.1, null, 1e300, 0.7].map((directional_score, n) =>
    aRow({
      ...{ headline_id: idOf(n), directional_score, topic_probability: n === 1 ? null : n / 10 },
      published_at: `2025-03-09T${String(n * 5).padStart(2, '0')}:00:00Z`,
    }),
  );
  await upsert(db, rows);
  const { rows: both } = await sql<{ signal: object; rollup: object }>`
    select to_jsonb(s) as signal, to_jsonb(d) as rollup
    from gmsi.sentiment_daily d
    cross join lateral gmsi.signal_at(
      (d.day + 1)::timestamp at time zone 'UTC' - interval '1 microsecond', d.country, d.topic,
      match_type => d.match_type, sentiment_type => d.sentiment_type, assume_backfilled => true) as s`.execute(
    db,
  );
  expect(both).toHaveLength(1);
  const { witnessed_count, sentiment_std, ...signal } = both[0]!.signal as Record<string, unknown>;
  expect({ witnessed_count, ...signal }).toMatchObject({ witnessed_count: 0, headline_count: 3 });
  // The rollup's spread comes from those of its hours.
  expect(both[0]!.rollup).toMatchObject({
    ...signal,
    sentiment_std: expect.closeTo(Number(sentiment_std), 9),
  });
});

it('has days of 24 hours, wherever the session is', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  await upsert(db, [aRow({ published_at: '2025-03-09T03:30:00Z', directional_score: 0.5 })]);
  // In New York the clocks were put forward in between: there, a day before is 23 hours before.
  await sql`set time zone 'America/New_York'`.execute(db);
  const { rows } = await sql`
    select s.headline_count from unnest(array['2025-03-10 03:29+00', '2025-03-10 03:30+00']::timestamptz[]) as moment
    cross join lateral gmsi.signal_at(moment, 'US', 'Inflation-Food', assume_backfilled => true) as s
    order by moment`.execute(db);
  expect(rows).toEqual([{ headline_count: 1 }, { headline_count: 0 }]);
});

it('fails for a model that there is not, and has no headlines of a country that there is not', async () => {
  await using warehouse = await aWarehouse();
  const { db } = warehouse;
  await expect(
    sql`select * from gmsi.signal_at(now(), 'US', 'Inflation-Food', sentiment_type => 'semantic')`.execute(
      db,
    ),
  ).rejects.toThrow('no sentiment_type: semantic');
  const { rows } = await sql`select * from gmsi.signal_at(now(), 'us', 'Inflation-Food')`.execute(db);
  expect(rows).toEqual([
    {
      ...{ headline_count: 0, witnessed_count: 0, sentiment_sum: 0, sentiment_abs_sum: 0 },
      ...{ sentiment_std: null, sentiment_mean: null, weighted_mean: null },
    },
  ]);
});

it('uses no headline before it was published, although the service rounds times down to the hour', async () => {
  await using warehouse = await aWarehouse();
  const { db } = warehouse;
  await using sandbox = await startSandbox({ limits: null, volume: 2 });
  const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-01-14' };
  await runBackfill({ job: aJobFor(scope), db, sandbox });
  const truth = new Map(
    sandbox
      .truth({ country: 'US', topic: 'Inflation-Food', from: scope.from, to: scope.to })
      .map(({ id, happenedAt }) => [id, Date.parse(happenedAt)]),
  );
  const { rows } = await sql<{ headline_id: string; published_at: Date; assumed_from: Date }>`
    select headline_id, published_at, assumed_from from gmsi.headlines_point_in_time
    where country = 'US' and published_at < '2024-01-15 00:00+00'`.execute(db);
  expect(rows).toHaveLength(truth.size);
  const tooEarly = (by: 'published_at' | 'assumed_from') =>
    rows.filter((row) => row[by].getTime() < truth.get(row.headline_id)!).length;
  expect(tooEarly('published_at'), 'what the stamps alone would let a back-test see').toBeGreaterThan(20);
  expect(tooEarly('assumed_from')).toBe(0);

  // At half past each hour: as many as had been published by then, less those that may not have been.
  const { rows: signals } = await sql<{ moment: Date; headline_count: number }>`
    select moment, s.headline_count
    from generate_series(timestamptz '2024-01-02 00:30+00', '2024-01-14 23:30+00', interval '1 hour') as moment
    cross join lateral gmsi.signal_at(moment, 'US', 'Inflation-Food', assume_backfilled => true) as s`.execute(
    db,
  );
  for (const { moment, headline_count } of signals) {
    const published = rows.filter(
      ({ headline_id, published_at }) =>
        published_at.getTime() > moment.getTime() - 86_400_000 && truth.get(headline_id)! <= moment.getTime(),
    );
    expect(headline_count, moment.toISOString()).toBeLessThanOrEqual(published.length);
  }
});

it.each([
  ['second', '0 min', '0 min'],
  ['minute', '1 min', '1 min'],
  ['hour', '60 min', '60 min'],
  ['minute, some on the hour', '60 min', '1 min'],
  ['second, some on the hour', '60 min', '0 min'],
  ['day', '1440 min', '1440 min'],
])(
  'counts a time that is rounded by the %s from when it was published for certain',
  async (rounding, onTheHour, other) => {
    await using warehouse = await aWarehouse();
    const { db } = warehouse;
    await upsert(db, [
      aRow({ headline_id: idOf(1), published_at: '2026-10-31T22:00:00Z' }),
      aRow({ headline_id: idOf(2), published_at: '2026-10-31T22:07:00Z' }),
    ]);
    await sql`
    insert into gmsi.learned_facts (feed, fact, value, evidence)
    values ('gmsi-headlines', 'time_rounding', ${JSON.stringify(rounding)}::jsonb, 'test')`.execute(db);
    const { rows } = await sql<{ is_right: boolean }>`
    select assumed_from - published_at = case when headline_id = ${idOf(1)}::uuid then ${onTheHour}::interval else ${other}::interval end as is_right
    from gmsi.headlines_point_in_time`.execute(db);
    expect(rows).toEqual([{ is_right: true }, { is_right: true }]);
  },
);
