import fc from 'fast-check';
import type { Transaction } from 'kysely';
import { expect } from 'vitest';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import type { Database } from '../../src/warehouse/database.ts';
import { ensurePartitions, upsertRows } from '../../src/warehouse/tables/rows.ts';
import { type WriteTransaction, writeTransaction } from '../../src/warehouse/write-transaction.ts';
import { it } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { sqlIn, untilOneWaits } from '../support/warehouse-state.ts';
import { aStep, empty, noScore, take } from './a-history.ts';
import { aRow, cameOn, idOf, series, sorted, upsert } from './a-row.ts';

it('the rollups are at any moment what the headlines add up to, and a rebuild changes nothing', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 8 }), async (steps) => {
      await empty(db);
      for (const step of steps) {
        await take(db, step);
        expect(await rollups(db)).toEqual(await recomputed(db));
      }
      const kept = await versionsOfRollups(db);
      await sqlIn(db)`select gmsi.rebuild_rollups()`;
      expect(await versionsOfRollups(db)).toEqual(kept);
    }),
    { numRuns: 30 },
  );
});

it.for([
  ['the same hour', '2026-10-31T22:50:00Z'],
  ['another hour of the same day', '2026-10-31T20:00:00Z'],
] as const)('the later of two transactions sees the earlier: it writes %s', async ([_, at], { db }) => {
  const row = (number: number, published_at: string, directional_score: number) =>
    aRow({ headline_id: idOf(number), published_at, directional_score });
  // So that there is a partition, and a sum of the day that both change.
  await upsert(db, [row(1, '2026-10-31T10:00:00Z', 0.1)]);
  const provenance = { series, loadId: 1, windowId: null, ...cameOn(true) } as const;
  // Not bounded in time as the pages of a load are: the first one is held open until the second one waits.
  const write = (trx: Transaction<Database>, one: ReturnType<typeof aRow>) =>
    upsertRows(trx as WriteTransaction, gmsiHeadlines.table, sorted([one]), provenance);
  const first = await db.startTransaction().execute();
  await write(first, row(2, '2026-10-31T22:10:00Z', 0.2));
  const second = db.transaction().execute((trx) => write(trx, row(3, at, 0.4)));
  try {
    await untilOneWaits(db);
  } finally {
    await first.commit().execute();
    await second;
  }
  const written = await rollups(db);
  expect(written).toEqual(await recomputed(db));
  expect(written.filter(({ span, headline_count }) => span === 'day' && headline_count === 3)).toHaveLength(
    1,
  );
});

it('a transaction that cannot see the hours of a later one is tried again', async ({ db }) => {
  await upsert(db, [aRow({ published_at: '2026-10-30T10:00:00Z' })]);
  const rows = [2, 3].map((n) => aRow({ headline_id: idOf(n), directional_score: n / 10 }));
  await ensurePartitions(db, gmsiHeadlines.table, sorted(rows).times, new Set());
  let attempts = 0;
  const work = async (trx: WriteTransaction) => {
    // Takes the snapshot.
    await sqlIn(trx)`select from gmsi.headlines`;
    if (++attempts === 1) await upsert(db, [rows[0]!]);
    const provenance = { series, loadId: 1, windowId: null, ...cameOn(true) } as const;
    await upsertRows(trx, gmsiHeadlines.table, sorted([rows[1]!]), provenance);
  };
  await writeTransaction(db.patient({}), work, 'repeatable read');
  expect(attempts).toBe(2);
  expect(await rollups(db)).toEqual(await recomputed(db));
});

it('what is no score does not stop a load, and does not count', async ({ db }) => {
  const scores = [0.5, 1e300, -1e300, 1e-320, 1e12, null];
  await upsert(
    db,
    scores.map((directional_score, index) => aRow({ headline_id: idOf(index), directional_score })),
  );
  const rows = await sqlIn(db)`
    select all_count, headline_count, sentiment_sum from gmsi.sentiment_daily where sentiment_type = 'directional'`;
  expect(rows).toEqual([{ all_count: 6, headline_count: 2, sentiment_sum: 0.5 }]);
});

it('a rebuild corrects the days that it is asked for, and counts them', async ({ db }) => {
  await upsert(db, [aRow({ directional_score: 0.5 })]);
  await sqlIn(db)`update gmsi.daily_sums set sentiment_sum = 7 where sentiment_type = 'directional'`;
  await sqlIn(
    db,
  )`insert into gmsi.hourly_sums select country, topic, match_type, sentiment_type, hour - interval '1 year',
    all_count, headline_count, sentiment_sum, sentiment_abs_sum, sentiment_std, probability_sum, weighted_sum
    from gmsi.hourly_sums where sentiment_type = 'directional'`;
  const rebuild = async (from: string | null) =>
    (await sqlIn(db)<{ n: number }>`select gmsi.rebuild_rollups(${from}::date) as n`)[0]!.n;
  expect(await rebuild('2026-10-01')).toBe(0);
  expect(await rebuild('2026-09-01')).toBe(1);
  expect(await rebuild(null)).toBe(1);
  expect(await rollups(db)).toEqual(await recomputed(db));
});

it('a table that is truncated, thinned out or moved by hand takes its rollups along', async ({ db }) => {
  await upsert(
    db,
    [1, 2].map((n) => aRow({ headline_id: idOf(n), directional_score: n })),
  );
  await sqlIn(db)`delete from gmsi.headlines where headline_id = ${idOf(1)}`;
  expect(await rollups(db)).toEqual(await recomputed(db));
  await sqlIn(db)`update gmsi.headlines set published_at = published_at + interval '1 day'`;
  expect(await rollups(db)).toEqual(await recomputed(db));
  await sqlIn(db)`truncate gmsi.headlines`;
  expect(await rollups(db)).toEqual([]);
});

type Rollup = Record<string, string | number | null>;

/** The rollups as they stand, their floating-point numbers to twelve digits. */
async function rollups(db: Warehouse): Promise<Rollup[]> {
  return numbersRounded(
    await sqlIn(db)<Rollup>`
        select 'hour' as span, sentiment_type, (hour at time zone 'UTC')::text as begins, all_count, headline_count, sentiment_sum,
               sentiment_abs_sum, sentiment_std, sentiment_mean, probability_sum, weighted_sum, weighted_mean
        from gmsi.sentiment_hourly
        union all
        select 'day', sentiment_type, day::timestamp::text, all_count, headline_count, sentiment_sum,
               sentiment_abs_sum, sentiment_std, sentiment_mean, probability_sum, weighted_sum, weighted_mean
        from gmsi.sentiment_daily
        order by 1, 2, 3`,
  );
}

/** The same, summed up in the plainest way there is. */
async function recomputed(db: Warehouse): Promise<Rollup[]> {
  return numbersRounded(
    await sqlIn(db)<Rollup>`
        select span, sentiment_type, date_trunc(span, published_at at time zone 'UTC')::text as begins,
               count(*) as all_count, count(score) as headline_count, coalesce(sum(score), 0) as sentiment_sum,
               coalesce(sum(abs(score)), 0) as sentiment_abs_sum, stddev_pop(score) as sentiment_std, avg(score) as sentiment_mean,
               coalesce(sum(probability), 0) as probability_sum, coalesce(sum(score * probability), 0) as weighted_sum,
               sum(score * probability) / nullif(sum(probability), 0) as weighted_mean
        from (
          select published_at, sentiment_type, score, case when score is not null then coalesce(topic_probability, 0) end as probability
          from gmsi.headlines cross join lateral (
            values ('directional', directional_score), ('semantic_sentiment', nullif(semantic_score, ${noScore}))) as model (sentiment_type, score)
          where retracted_at is null
        ) as scored, unnest(array['hour', 'day']) as span
        group by 1, 2, 3 order by 1, 2, 3`,
  );
}

function numbersRounded(rows: readonly Rollup[]): Rollup[] {
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === 'number' ? Number(value.toFixed(12)) + 0 : value,
      ]),
    ),
  );
}

/** The place of each row of the rollups: the same only if it was not written again. */
async function versionsOfRollups(db: Warehouse) {
  const rows = await sqlIn(db)`
    select ctid::text, xmin::text, sentiment_sum from gmsi.hourly_sums
    union all select ctid::text, xmin::text, sentiment_sum from gmsi.daily_sums order by 1, 2, 3`;
  return rows;
}
