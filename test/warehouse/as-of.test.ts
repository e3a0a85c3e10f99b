import fc from 'fast-check';
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { test as plain } from '../support/serving.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { aStep, empty, take } from './a-history.ts';
import { aRow, idOf, upsert } from './a-row.ts';

async function clock(db: Warehouse): Promise<string> {
  const rows = await sqlIn(db)<{ at: string }>`select clock_timestamp()::text as at`;
  return rows[0]!.at;
}

const columns = sql.raw(
  `headline_id, published_at::text, headline, directional_score, semantic_score, topic_probability, is_backfilled,
   first_seen_at::text, changed_at::text, retracted_at::text, moved_from::text, load_id, window_id`,
);

async function table(db: Warehouse) {
  return await sqlIn(db)`select ${columns} from gmsi.headlines order by headline_id, published_at`;
}

async function tableAsOf(db: Warehouse, moment: string) {
  return await sqlIn(db)`
    select ${columns} from gmsi.headlines_as_of(${moment}) order by headline_id, published_at`;
}

const it = plain.extend({ wanted: { connections: 1 } });

it('as of any moment, the table is what it was then, whatever has happened since', async ({ db }) => {
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 12 }), async (steps) => {
      await empty(db);
      const copies = [{ moment: await clock(db), rows: await table(db) }];
      for (const step of steps) {
        await take(db, step);
        copies.push({ moment: await clock(db), rows: await table(db) });
      }
      for (const { moment, rows } of copies) expect(await tableAsOf(db, moment)).toEqual(rows);
    }),
    { numRuns: 30 },
  );
});

/** How a headline is found at the instant of its last change and a microsecond before it. */
async function around(db: Warehouse) {
  const asOf = async (before: string) =>
    await sqlIn(db)`
        select h.headline_id, past.headline, past.directional_score, past.changed_at::text, past.retracted_at::text
        from gmsi.headlines h
        left join lateral gmsi.headlines_as_of(h.changed_at - ${before}::interval) past using (headline_id)
        order by 1, 4`;
  return { at: await asOf('0'), before: await asOf('1 microsecond') };
}

it('at the instant of a change the new version counts, and not before', async ({ db }) => {
  const standing = async () =>
    await sqlIn(db)`
      select headline_id, headline, directional_score, changed_at::text, retracted_at::text from gmsi.headlines`;
  const upserted = (version: number) => ({ is: 'upsert' as const, rows: [{ headline: 1, version }] });
  const steps = {
    'first sight': upserted(0),
    update: upserted(1),
    retraction: { is: 'retract' as const, headline: 1 },
    return: upserted(1),
    'another update': upserted(2),
  };
  const none = { headline: null, directional_score: null, changed_at: null, retracted_at: null };
  let stood: unknown[] = [{ headline_id: idOf(1), ...none }];
  const asked: { moment: string; rows: unknown[] }[] = [];
  for (const [name, step] of Object.entries(steps)) {
    await take(db, step);
    const stands = await standing();
    expect(await around(db), name).toEqual({ at: stands, before: stood });
    const rows = await sqlIn(db)<{
      moment: string;
    }>`select changed_at::text as moment from gmsi.headlines`;
    asked.push({ moment: rows[0]!.moment, rows: await tableAsOf(db, rows[0]!.moment) });
    stood = stands;
  }
  // And so it is of every version that has been replaced since.
  for (const { moment, rows } of asked) {
    expect(rows).toHaveLength(1);
    expect(await tableAsOf(db, moment)).toEqual(rows);
  }
});

it('a version is usable from when it was here until it was replaced or retracted', async ({ db }) => {
  await fc.assert(
    fc.asyncProperty(fc.array(aStep, { minLength: 1, maxLength: 10 }), async (steps) => {
      await empty(db);
      const moments: string[] = [];
      for (const step of steps) {
        await take(db, step);
        moments.push(await clock(db));
      }
      for (const moment of moments) {
        const asOf = await sql`
          select headline_id, headline, directional_score from gmsi.headlines_as_of(${moment})
          where retracted_at is null order by 1`.execute(db);
        const usable = await sql`
          select headline_id, headline, directional_score from gmsi.headlines_point_in_time
          where usable_from <= ${moment} and (usable_to is null or usable_to > ${moment}) order by 1`.execute(
          db,
        );
        expect(usable.rows).toEqual(asOf.rows);
      }
    }),
    { numRuns: 30 },
  );
});

it('what a repair fills stands for the first version, a change does not', async ({ db }) => {
  await upsert(db, [aRow()]);
  const change = sql`
    update gmsi.headlines set semantic_score = coalesce(semantic_score, 0) + 1, changed_at = clock_timestamp()`;
  await db.transaction().execute(async (trx) => {
    await sqlIn(trx)`select set_config('gmsi.reading_again', 'on', true)`;
    await change.execute(trx);
  });
  await change.execute(db);
  const rows = await sqlIn(db)`
    select semantic_score, is_first, assumed_from = published_at + interval '1 hour' as is_assumed from gmsi.headlines_point_in_time
    order by known_from`;
  expect(rows).toEqual([
    { semantic_score: null, is_first: true, is_assumed: null },
    { semantic_score: 1, is_first: true, is_assumed: true },
    { semantic_score: 2, is_first: false, is_assumed: false },
  ]);
});
