import fc from 'fast-check';
import { sql } from 'kysely';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { retractMoved } from '../../src/warehouse/tables/retract.ts';
import { ensurePartitions, upsertRows } from '../../src/warehouse/tables/rows.ts';
import { writeTransaction } from '../../src/warehouse/write-transaction.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { aRow, cameOn, idOf, series, sorted, upsert } from './a-row.ts';

const now = new Date();
/** A recent end of a month: what is stored over a year after its publication never counts as known. */
const endOfMonth = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1);

export const minutesAfter = (minutes: number) => new Date(endOfMonth + minutes * 60_000).toISOString();

/** Around the end of a day and a month, two of them in one hour. */
const minutes = [-120, -30, 0, 10];
export const hours = minutes.map(minutesAfter);

/**
 * One thing that can happen to a headline: it comes (new, again, changed or returned), it has another time in a live answer, it is gone,
 * or a repair fills its columns.
 */
export type Step =
  | {
      readonly is: 'upsert';
      readonly rows: readonly { headline: number; version: number }[];
      readonly isBackfilled?: boolean;
    }
  | { readonly is: 'move'; readonly headline: number; readonly version: number; readonly minutes: number }
  | { readonly is: 'retract' | 'repair'; readonly headline: number };

export const aMove = fc.record({
  is: fc.constant('move' as const),
  headline: fc.nat(5),
  version: fc.nat(3),
  minutes: fc.constantFrom(-200, -40, 0, 0, 25, 130),
});

export const aStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant('upsert' as const),
      rows: fc.array(fc.record({ headline: fc.nat(5), version: fc.nat(3) }), { minLength: 1, maxLength: 6 }),
      isBackfilled: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: aMove },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constantFrom('retract' as const, 'repair' as const), headline: fc.nat(5) }),
  },
);

/** Too large to be a score, so nothing sums it up. */
export const noScore = 1e300;

function rowOf({ headline, version }: { headline: number; version: number }) {
  return aRow({
    headline_id: idOf(headline),
    published_at: hours[headline % hours.length]!,
    headline: `text ${version % 2}`,
    directional_score: version === 3 ? null : version / 7 - 0.1,
    semantic_score: version === 3 ? noScore : version / 3 - 0.5,
    topic_probability: version === 2 ? null : 0.1 + version / 10,
  });
}

/** Does to the table what the pipeline does. */
export async function take(db: Warehouse, step: Step): Promise<void> {
  if (step.is === 'upsert') {
    const { rows, isBackfilled = true } = step;
    await upsert(db, rows.map(rowOf), { isBackfilled });
    return;
  }
  if (step.is === 'move') {
    const published_at = minutesAfter(minutes[step.headline % minutes.length]! + step.minutes);
    await answerLive(db, [{ ...rowOf(step), published_at }, ...aroundThem]);
    return;
  }
  const change =
    step.is === 'retract'
      ? sql`retracted_at = now()`
      : sql`language = concat(language, 'x'), topic_probability = 0.5`;
  await db.transaction().execute(async (trx) => {
    if (step.is === 'repair') await sqlIn(trx)`select set_config('gmsi.reading_again', 'on', true)`;
    await sqlIn(trx)`
      update gmsi.headlines set ${change}, changed_at = greatest(now(), changed_at + interval '1 microsecond')
      where headline_id = ${idOf(step.headline)} and retracted_at is null`;
  });
}

/** Headlines of every live answer, the first and the last one: it lacks what else has times between theirs. */
export const aroundThem = [-500, 500].map((minute, n) =>
  aRow({ headline_id: idOf(100 + n), published_at: minutesAfter(minute), directional_score: 0.5 }),
);

async function answerLive(db: Warehouse, answer: Parameters<typeof sorted>[0]): Promise<void> {
  const rows = sorted(answer);
  const of = { loadId: 1, windowId: null, ...cameOn(false) };
  await ensurePartitions(db, gmsiHeadlines.table, rows.times, new Set());
  await writeTransaction(db, async (trx) => {
    await upsertRows(trx, gmsiHeadlines.table, rows, { ...of, series });
    await retractMoved(trx, gmsiHeadlines, series, rows, of);
  });
}

export async function empty(db: Warehouse): Promise<void> {
  await sqlIn(db)`delete from gmsi.headlines; delete from gmsi.headline_revisions`;
}
