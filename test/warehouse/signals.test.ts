import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { aWindowIn, coverIn, listIn, sqlIn, watchIn } from '../support/warehouse-state.ts';
import { aMove, aroundThem, aStep, empty, hours, minutesAfter, noScore, take } from './a-history.ts';
import { aRow, idOf, upsert } from './a-row.ts';

/** A question about a moment. Its columns are also the arguments of `gmsi.signals`. */
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

const notNumbers = ['country', 'topic', 'match_type', 'moment', 'state'];

async function signals(db: Warehouse, asked: readonly Asked[]) {
  const rows = await sqlIn(db)`
    select n, to_jsonb(s) - ${notNumbers}::text[] as signal from ${askedAt(asked)}
    cross join lateral gmsi.signals(array[a.moment], 'US', 'Inflation-Food', over => a.over,
      sentiment_type => a.sentiment_type, assume_backfilled => a.assume_backfilled) as s
    order by n`;
  return rows as { n: number; signal: Record<string, number> }[];
}

/** The same, with all moments of a question at once. */
async function signalsAtOnce(db: Warehouse, asked: readonly Asked[]) {
  const rows = await sqlIn(db)`
    select a.n, to_jsonb(s) - ${notNumbers}::text[] as signal
    from (select over, sentiment_type, assume_backfilled, array_agg(moment) as moments from ${askedAt(asked)} group by 1, 2, 3) as g
    cross join lateral gmsi.signals(g.moments, 'US', 'Inflation-Food', over => g.over,
      sentiment_type => g.sentiment_type, assume_backfilled => g.assume_backfilled) as s
    join ${askedAt(asked)} using (moment, over, sentiment_type, assume_backfilled)
    order by n`;
  return rows;
}

/** The same from the versions of the headlines, by a plain join. */
async function joined(db: Warehouse, asked: readonly Asked[]) {
  const rows = await sqlIn(db)`
    select n, jsonb_build_object(
      'headline_count', count(score),
      'witnessed_count', count(score) filter (where greatest(published_at, first_seen_at) <= moment),
      'sentiment_sum', coalesce(sum(score order by published_at, headline_id), 0),
      'sentiment_abs_sum', coalesce(sum(abs(score) order by published_at, headline_id), 0),
      'sentiment_std', stddev_pop(score order by published_at, headline_id),
      'sentiment_mean', avg(score order by published_at, headline_id),
      'weighted_mean', sum(score * topic_probability order by published_at, headline_id)
        / sum(topic_probability order by published_at, headline_id) filter (where score is not null)) as signal
    from (
      select a.*, v.*, case when a.sentiment_type = 'directional' then v.directional_score else nullif(v.semantic_score, ${noScore}) end as score
      from ${askedAt(asked)}
      left join (
        select *, case when is_backfilled then gmsi.published_by(first_time) else greatest(first_time, first_seen_at) end as known_at
        from gmsi.headlines_point_in_time cross join lateral (select coalesce(moved_from, published_at) as first_time) as f
        where country = 'US' and topic = 'Inflation-Food' and match_type = 'COMBINED'
      ) as v
        on v.known_at = v.entered_at and v.known_at > a.moment - a.over and v.known_at <= a.moment and (a.assume_backfilled or not v.is_backfilled)
        and v.assumed_from <= a.moment and (v.usable_to is null or v.usable_to > a.moment)
    ) as known
    group by n order by n`;
  return rows;
}

it('says of any moment what the headlines added up to that were known then, as a join with all their versions does', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  await listIn(db);
  const met = { assumed: 0, witnessed: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 10 }), async (steps) => {
      await empty(db);
      // Before the first step, at the times of publication, and after each step.
      const moments = [...hours, minutesAfter(-15), minutesAfter(600), await clock(db)];
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
      expect(await signalsAtOnce(db, asked)).toEqual(found);
      for (const { signal } of found) {
        met.witnessed += signal.witnessed_count!;
        met.assumed += signal.headline_count! - signal.witnessed_count!;
      }
    }),
    { numRuns: 40 },
  );
  expect(met.witnessed).toBeGreaterThan(100);
  expect(met.assumed).toBeGreaterThan(100);
});

it('counts a headline once at any moment, and in one of all decisions, however often its time is corrected', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  await listIn(db);
  let moves = 0;
  const withScore = aMove.map((move) => ({ ...move, version: move.version % 3 }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(withScore, { minLength: 2, maxLength: 12 }),
      fc.boolean(),
      async (steps, isBackfilled) => {
        await empty(db);
        const moments = [minutesAfter(-1000)];
        const known = new Set<number>();
        if (isBackfilled) {
          const rows = [0, 1, 2, 3, 4, 5].map((headline) => ({ headline, version: 0 }));
          await take(db, { is: 'upsert', rows });
          for (const { headline } of rows) known.add(headline);
        }
        const expected = [0];
        for (const step of steps) {
          await take(db, step);
          known.add(step.headline);
          expected.push(known.size + aroundThem.length);
          moments.push(await clock(db));
        }
        const asked = sql`${moments}::timestamptz[], 'US', 'Inflation-Food'`;
        const ever = await sqlIn(db)<{ headline_count: number }>`
        select headline_count from gmsi.signals(${asked}, over => '1000 days') offset 1`;
        expect(ever.map(({ headline_count }) => headline_count)).toEqual(expected.slice(1));
        const once = await sqlIn(db)<{ count: number }>`
        select sum(headline_count)::int as count from gmsi.signals(${asked})`;
        expect(once[0]!.count).toBe(expected.at(-1));
        const moved = await sqlIn(db)<{ count: number }>`
        select count(*) from gmsi.headline_revisions where reason = 'moved'`;
        moves += moved[0]!.count;
      },
    ),
    { numRuns: 40 },
  );
  expect(moves).toBeGreaterThan(50);
});

async function clock(db: Warehouse): Promise<string> {
  const rows = await sqlIn(db)<{ at: string }>`select clock_timestamp()::text as at`;
  return rows[0]!.at;
}

it('has days of 24 hours, wherever the session is', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  await listIn(db);
  await upsert(db, [aRow({ published_at: '2025-03-09T03:30:00Z', directional_score: 0.5 })]);
  // In New York the clocks were put forward in between: there, a day before is 23 hours before.
  await sqlIn(db)`set time zone 'America/New_York'`;
  const rows = await sqlIn(db)`
    select s.headline_count from unnest(array['2025-03-10 03:29+00', '2025-03-10 03:30+00']::timestamptz[]) as at
    cross join lateral gmsi.signals(array[at], 'US', 'Inflation-Food') as s
    order by at`;
  expect(rows).toEqual([{ headline_count: 1 }, { headline_count: 0 }]);
});

it.for([
  [
    'model',
    sql`now()`,
    sql`, sentiment_type => 'semantic'`,
    'neither directional nor semantic_sentiment: semantic',
  ],
  ['model', sql`now()`, sql`, sentiment_type => null`, 'neither directional nor semantic_sentiment: null'],
  ['rounding', sql`now()`, sql`, rounding => 'hours'`, 'no rounding: hours'],
  ['moment', sql`null`, sql``, 'a moment is null'],
  ['time before it', sql`now()`, sql`, over => '-1 day'`, 'over is not positive: -1 days'],
  ['no time', sql`date_trunc('day', now())`, sql`, over => '0'`, 'over is not positive: 00:00:00'],
] as const)('fails for a %s that there is not: %#', async ([_, moment, argument, message], { db }) => {
  await expect(
    sql`select headline_count from gmsi.signals(array[${moment}::timestamptz], 'US', 'Inflation-Food' ${argument})`.execute(
      db,
    ),
  ).rejects.toThrow(message);
});

it('weighs by age, omits by probability and model and counts stories as computed here', async ({ db }) => {
  const headlines = [
    { age: 1, score: 0.5, probability: 0.9, text: 'Prices of food rise again - Reuters', model: '3.2' },
    { age: 5, score: -0.2, probability: 0.3, text: 'PRICES OF FOOD RISE AGAIN', model: '3.2' },
    { age: 7, score: 0.1, probability: 0.8, text: 'Wages fall', model: null },
    { age: 20, score: -0.7, probability: 0.6, text: 'Prices of food rise again', model: '3.1' },
    { age: 23, score: 0.4, probability: null, text: null, model: '3.2' },
  ];
  const moment = Date.UTC(2026, 2, 4, 12, 30);
  await listIn(db);
  await upsert(
    db,
    headlines.map(({ age, score, probability, text, model }, n) =>
      aRow({
        headline_id: idOf(n),
        published_at: new Date(moment - age * 3_600_000).toISOString(),
        directional_score: score,
        topic_probability: probability,
        headline: text,
        model_version: model,
      }),
    ),
  );
  for (const halfLife of [null, 3, 24])
    for (const [least, model] of [
      [null, null],
      [0.5, null],
      [null, '3.2'],
    ] as const)
      for (const ofStories of [false, true]) {
        const about = JSON.stringify({ halfLife, least, model, ofStories });
        const rows = await sqlIn(db)<Record<string, number>>`
          select headline_count, sentiment_sum, sentiment_abs_sum, sentiment_mean, weighted_mean from gmsi.signals(
            array[${new Date(moment)}::timestamptz], 'US', 'Inflation-Food', half_life => ${halfLife && `${halfLife} hours`}::interval,
            least_probability => ${least}, of_stories => ${ofStories}, model_version => ${model})`;
        const counted = headlines
          .filter(({ probability }) => least === null || (probability ?? 0) >= least)
          .filter((row) => model === null || row.model === model)
          .filter(
            ({ text, age }, _, all) =>
              !ofStories ||
              !text?.toLowerCase().startsWith('prices') ||
              !all.some((other) => other.text?.toLowerCase().startsWith('prices') && other.age > age),
          )
          .map((row) => ({ ...row, weight: halfLife === null ? 1 : 0.5 ** (row.age / halfLife) }));
        const sumOf = (value: (row: (typeof counted)[number]) => number) =>
          counted.reduce((sum, row) => sum + value(row) * row.weight, 0);
        const expected = {
          headline_count: counted.length,
          sentiment_sum: sumOf(({ score }) => score),
          sentiment_abs_sum: sumOf(({ score }) => Math.abs(score)),
          sentiment_mean: sumOf(({ score }) => score) / sumOf(() => 1),
          weighted_mean:
            sumOf(({ score, probability }) => score * (probability ?? 0)) /
            sumOf(({ probability }) => probability ?? 0),
        };
        for (const [name, value] of Object.entries(expected))
          expect(rows[0]![name], `${name} ${about}`).toBeCloseTo(value, 12);
      }
});

it('tells versions of the model apart, each headline by the score that it had at the moment', async ({
  db,
}) => {
  await listIn(db);
  const scored = { published_at: '2026-03-04T12:00:00Z', directional_score: 0.5, model_version: '3.1' };
  await upsert(
    db,
    [idOf(1), idOf(2)].map((headline_id) => aRow({ ...scored, headline_id })),
  );
  const countsNow = async () => {
    const found = await sqlIn(db)<{ count: number }>`
      select headline_count as count from (select clock_timestamp() as at offset 0) as m
      cross join unnest(array[null, '3.1', '3.2']) with ordinality as asked (model, n)
      cross join lateral gmsi.signals(array[at], 'US', 'Inflation-Food', over => '100 years', model_version => asked.model)
      order by n`;
    return found.map(({ count }) => count);
  };
  expect(await countsNow()).toEqual([2, 2, 0]);
  await upsert(db, [aRow({ ...scored, directional_score: 0.9, model_version: '3.2' })]);
  expect(await countsNow()).toEqual([2, 1, 1]);
});

describe('says why there are no headlines', () => {
  const ask = async (db: Warehouse, moment: string, others = sql``, of = ['US', 'Inflation-Food']) => {
    const rows = await sqlIn(db)<{ state: string; headline_count: number }>`
      select state, headline_count from gmsi.signals(array[${moment}::timestamptz], ${of[0]}, ${of[1]} ${others})`;
    return Object.values(rows[0]!);
  };

  it('of a series', async ({ db }) => {
    await listIn(db);
    expect(await ask(db, '2026-03-05 21:00+00')).toEqual(['series not loaded', 0]);
  });

  it('of days', async ({ db }) => {
    await upsert(db, [aRow({ published_at: '2026-03-04T12:00:00Z', directional_score: 0.5 })]);
    await coverIn(db, '{[2026-03-01, 2026-03-10)}');
    // Each day is watched from six hours after its end; the eighth, from the eleventh on.
    const days = ['06', '07', '08', '09', '10', '11', '12'].map((day, at) => {
      const from = day === '08' ? '11' : `${at + 7}`.padStart(2, '0');
      return [`2026-03-${day}`, `2026-03-${from} 06:00+00`];
    });
    await watchIn(db, Object.fromEntries(days));
    await aWindowIn(db, '2026-03-08', '2026-03-12', { first_unsettled: '2026-03-10', pages: 1 });
    const [strict, shortly] = [sql`, assume_backfilled => false`, sql`, over => '6 hours'`];
    const expected: [day: string, state: string, what?: string, others?: typeof strict][] = [
      ['03-03 21:00', 'assumed 0', 'loaded after the fact'],
      ['03-04 21:00', 'assumed 1', 'with a headline'],
      ['03-03 21:00', 'backfilled 0', 'strictly', strict],
      ['03-04 21:00', 'backfilled 0', 'strictly', strict],
      ['03-06 21:00', 'late 0', 'the day before was not loaded yet when the watch began'],
      ['03-07 21:00', 'covered 0', 'silence'],
      ['03-07 21:00', 'covered 0', 'strictly', strict],
      ['03-07 06:00', 'covered 0', 'a day to its end', shortly],
      ['03-07 05:59', 'late 0', 'before the day was loaded', shortly],
      ['03-09 21:00', 'late 0', 'no load for two days'],
      ['03-09 21:00', 'late 0', 'strictly', strict],
      ['03-11 05:00', 'late 0', 'three days', sql`, over => '3 days'`],
      ['03-01 21:00', 'partial 0', 'the day before was not loaded'],
      ['03-11 21:00', 'settling 0'],
      ['03-13 21:00', 'partial 0'],
      ['04-13 21:00', 'not loaded 0'],
      ['04-13 21:00', 'partial 0', 'weeks', sql`, over => '35 days'`],
    ];
    for (const [moment, state, what, others] of expected)
      expect((await ask(db, `2026-${moment}+00`, others)).join(' '), `${moment} ${what}`).toBe(state);
  });
});

it.for([
  ['second', '0 min', '0 min'],
  ['minute', '1 min', '1 min'],
  ['hour', '60 min', '60 min'],
  ['minute, some on the hour', '60 min', '1 min'],
  ['second, some on the hour', '60 min', '0 min'],
  ['day', '1440 min', '1440 min'],
])(
  'counts a time rounded by the %s once published for certain',
  async ([rounding, onTheHour, other], { db }) => {
    await listIn(db);
    await upsert(db, [
      aRow({ headline_id: idOf(1), published_at: '2026-10-31T22:00:00Z', directional_score: 0.5 }),
      aRow({ headline_id: idOf(2), published_at: '2026-10-31T22:07:00Z', directional_score: 0.5 }),
    ]);
    const rows = await sqlIn(db)<{ is_right: boolean; counts: number[] }>`
      select gmsi.published_by(published_at, ${rounding}) - published_at
               = case when headline_id = ${idOf(1)}::uuid then ${onTheHour}::interval else ${other}::interval end as is_right,
             array(select headline_count from unnest(array[interval '-1 microsecond', '0', '24 hours']) as after
                   cross join lateral gmsi.signals(array[gmsi.published_by(published_at, ${rounding}) + after], 'US', 'Inflation-Food',
                     over => '1 minute', rounding => ${rounding}) as s) as counts
      from gmsi.headlines`;
    const enters = { is_right: true, counts: [0, 1, 0] };
    expect(rows).toEqual([enters, enters]);
  },
);
