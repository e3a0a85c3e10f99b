import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { Database } from '../../src/warehouse/database.ts';
import { readHabits } from '../../src/warehouse/tables/planning.ts';
import { recordReading } from '../../src/warehouse/tables/readings.ts';
import { nameSeries, type WindowScope } from '../../src/warehouse/tables/series.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { forgetAllIn, sqlIn } from '../support/warehouse-state.ts';

const scope: WindowScope = {
  feed: 'gmsi-headlines',
  countries: ['US', 'GB'],
  topics: ['Wars'],
  tickers: [''],
  matchType: 'COMBINED',
  variants: [''],
  from: '2020-01-01',
  to: '2030-12-31',
};

const warehouse = await aWarehouseForAll({ connections: 8 });
const { db } = warehouse;
let ids: readonly number[];
beforeAll(async () => {
  await nameSeries(db, scope);
  ids = (await sqlIn(db)<{ id: number }>`select series_id as id from gmsi.series order by 1`).map(
    ({ id }) => id,
  );
});
beforeEach(() => forgetAllIn(db));

/** What is read: recent days or others by a window, to its end or not; a live answer; a file, maybe as known at a past moment. */
type Kind = 'sync' | 'refresh' | 'part' | 'live' | 'file' | 'known file';

interface Told {
  readonly kind: Kind;
  readonly series: number;
  /** Hours after the reading before it. */
  readonly after: number;
  /** Minutes from its request to its end; longer ones are overtaken. */
  readonly took: number;
  /** Days, `null` if the clocks are apart, so that none is known to be settled. */
  readonly lookback: number | null;
  /** Days from its first day to the day of its request, besides the lookback of a sync. */
  readonly back: number;
  readonly days: number;
  readonly hasNews: boolean;
}

const aTelling: fc.Arbitrary<Told> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constant('sync' as const) },
    { weight: 3, arbitrary: fc.constant('refresh' as const) },
    { weight: 3, arbitrary: fc.constantFrom('part', 'live', 'file', 'known file') },
  ),
  series: fc.nat(1),
  after: fc.integer({ min: 1, max: 40 }),
  took: fc.oneof({ weight: 4, arbitrary: fc.nat(10) }, { weight: 1, arbitrary: fc.nat(4320) }),
  lookback: fc.constantFrom(0, 1, 2, 3, 3, 3, 7, null),
  back: fc.nat(12),
  days: fc.integer({ min: 1, max: 12 }),
  hasNews: fc.boolean(),
});

/** Each series begins with news: otherwise `readHabits` has the first poll for it, which may be forgotten if others overtook it. */
const begins = [0, 1].map(
  (series): Told => ({
    kind: 'sync',
    series,
    after: 1,
    took: 0,
    lookback: 3,
    back: 0,
    days: 1,
    hasNews: true,
  }),
);

/** The second poll of a day, and another load that has all its days again, but not the day on which it is requested. */
const secondPoll = { series: 0, took: 0, lookback: 3, hasNews: false } as const;
const anExample: Told[] = [
  { kind: 'sync', after: 2, back: 0, days: 1, ...secondPoll },
  { kind: 'refresh', after: 40, back: 4, days: 4, ...secondPoll },
];

const hour = 3_600_000;
const dayOf = (time: number, days = 0) => new Date(time + days * 24 * hour).toISOString().slice(0, 10);

/** Records a reading of these series that is complete at a time. */
function record(on: Kysely<Database>, of: readonly number[], now: number, told: Told) {
  const { kind, took, lookback, back, days, hasNews } = told;
  const asked = now - took * 60_000;
  const first = kind === 'sync' ? -(lookback ?? 0) - (back % 3) : -back;
  const last = kind === 'sync' || kind === 'live' ? 0 : Math.min(0, first + days - 1);
  const reading = {
    load_id: sql`1::bigint`,
    series_id: sql`series_id`,
    asked_at: sql`${new Date(asked)}::timestamptz`,
    completed_at: sql`${new Date(kind === 'known file' ? asked : now)}::timestamptz`,
    first_day: sql`${dayOf(asked, first)}::date`,
    last_day: sql`${dayOf(asked, last)}::date`,
    asked_on: sql`${dayOf(asked)}::date`,
    settled_before: sql`${lookback === null ? '-infinity' : dayOf(asked, -lookback)}::date`,
    source: sql`${kind === 'live' ? 'l' : kind.endsWith('file') ? 'f' : 'w'}::"char"`,
    is_whole: sql`${kind !== 'live' && kind !== 'part'}::boolean`,
    rows_inserted: sql`${hasNews ? 1 : 0}::int`,
  };
  const its = sql`its as (select unnest(${[...of]}::int[]) as series_id)`;
  return recordReading(its, reading, sql`its`).execute(on);
}

/** Returns the series whose cache is not what follows from their readings. */
function wrongCaches() {
  const columns = sql`touched, loaded, whole, covered, watch_here, watch_on, watch_from`;
  return sqlIn(db)`
    select series_id, ${columns} from gmsi.series_days
    except select d.series_id, ${columns} from gmsi.series s cross join lateral gmsi.derive_days(s.series_id) as d`;
}

/** Everything that is concluded from the ledger, now and as of every moment. */
async function conclusions(moments: readonly number[]) {
  const each = moments.map((moment) => new Date(moment).toISOString());
  return {
    days: await sqlIn(db)`
      select s.series_id, moment, d.* from gmsi.series s, unnest(${each}::timestamptz[]) as completed
      cross join unnest(array[completed, completed - interval '1 microsecond']) as moment
      cross join lateral gmsi.days_at(s.series_id, moment) as d order by 1, 2`,
    facts: await sqlIn(
      db,
    )`select * from gmsi.day_facts(${[...ids]}::int[], '[2020-01-01, 2030-12-31]') order by 1, 2`,
    derived: await sqlIn(db)`
      select d.series_id, d.touched, d.loaded, d.whole, d.covered, d.watch_here, d.watch_on, d.watch_from
      from gmsi.series s cross join lateral gmsi.derive_days(s.series_id) as d order by 1`,
    // Whether a day was read again after any time, and by what.
    newest: await sqlIn(db)`
      select series_id, day, source, max(asked_at) as asked_at from gmsi.readings
      cross join generate_series(first_day::timestamp, last_day, interval '1 day') as day
      where is_whole group by 1, 2, 3 order by 1, 2, 3`,
    habits: await readHabits(db, scope, '2024-01-01'),
    files: await sqlIn(db)`select reading_id from gmsi.readings where source = 'f' order by 1`,
  };
}

it('compaction loses nothing that is concluded, and the cache is right after each reading', async () => {
  let deleted = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(aTelling, { minLength: 10, maxLength: 40, size: 'max' }), async (tellings) => {
      await forgetAllIn(db);
      let now = Date.parse('2024-03-01T00:00:00Z');
      const moments: number[] = [];
      for (const told of [...begins, ...tellings]) {
        now += told.after * hour;
        moments.push(now, now - told.took * 60_000);
        await record(db, [ids[told.series]!], now, told);
        // As if it had been written then: what is complete before the cache was written counts as the first.
        await sqlIn(
          db,
        )`update gmsi.series_days set updated_at = ${new Date(now)} where updated_at > ${new Date(now)}`;
        expect(await wrongCaches()).toEqual([]);
      }
      const before = await conclusions(moments);
      const young = await sqlIn(db)`select gmsi.compact('100 years', 0, 1) as n`;
      expect(young).toEqual([{ n: 0 }]);
      const [{ n }] = (await sqlIn(db)<{ n: number }>`select gmsi.compact('1 day', 0, 1) as n`) as [
        { n: number },
      ];
      expect(await conclusions(moments)).toEqual(before);
      expect(await wrongCaches()).toEqual([]);
      deleted += n;
    }),
    { numRuns: 25, endOnFailure: true, examples: [[anExample]] },
  );
  // Of random tellings: mostly 25 to 50.
  expect(deleted).toBeGreaterThan(5);
});

it('eight writers at once neither deadlock nor leave a wrong cache', async () => {
  const tellings = fc.sample(aTelling, 8 * 25);
  const begin = Date.parse('2024-03-01T00:00:00Z');
  const writer = async (n: number) => {
    // An import records several series.
    for (const [at, told] of tellings.slice(n * 25, (n + 1) * 25).entries())
      await record(
        db,
        told.kind === 'file' ? ids.toReversed() : [ids[told.series]!],
        // Two that are complete in the same microsecond would have no order.
        begin + at * 7 * hour + n,
        told,
      );
  };
  await Promise.all(Array.from({ length: 8 }, (_, n) => writer(n)));
  expect(await wrongCaches()).toEqual([]);
  const [{ n }] = (await sqlIn(db)<{ n: number }>`select count(*) as n from gmsi.readings`) as [
    { n: number },
  ];
  expect(n).toBeGreaterThanOrEqual(200);
});
