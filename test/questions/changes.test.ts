import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { briefingOf } from '../../src/questions/briefing.ts';
import {
  type ChangesAsked,
  type MoveAsked,
  sentimentChanges,
  storiesOfMove,
} from '../../src/questions/changes.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it as itAlone } from '../support/serving.ts';
import { coverIn, sqlIn } from '../support/warehouse-state.ts';
import { aRow, idOf, upsert } from '../warehouse/a-row.ts';

const asked: MoveAsked = {
  country: [],
  topic: [],
  match_type: 'COMBINED',
  model: 'directional',
  from: '2026-09-11',
  to: '2026-09-20',
  against: 'before',
};
const warehouse = await aWarehouseForAll();
const sum = (rows: readonly { readonly contribution: number | null }[]) =>
  rows.reduce((sum, { contribution }) => sum + contribution!, 0);

itAlone('a story adds its share times its distance from the mean before', async ({ db }) => {
  const row = (id: number, day: string, headline: string, score: number | null) =>
    aRow({
      headline_id: idOf(id),
      published_at: `2026-09-${day}T12:00:00Z`,
      headline,
      directional_score: score,
      semantic_score: score === null ? null : -score,
    });
  await upsert(db, [
    // Before: 4 scores with a mean of -0.1.
    row(1, '01', 'Rates rise', 0.4),
    row(2, '05', 'Prices fall', -0.5),
    row(3, '05', 'Prices fall!', -0.5),
    row(4, '10', 'Nothing new', 0.2),
    // Now: 5 scores with a mean of 0.2.
    row(5, '11', 'RATES RISE', 0.6),
    row(6, '20', 'Rates rise', 0.6),
    row(7, '12', 'Strikes end', 0.7),
    row(8, '13', 'Prices jump', -0.9),
    row(9, '14', 'Nothing new', 0),
    row(10, '14', 'Not scored', null),
    // Of neither period.
    row(11, '21', 'Rates rise', 1),
  ]);
  const { rows } = await storiesOfMove(asked).query.execute(db);
  expect(
    rows.map(({ headline, headline_count, headline_count_before }) => [
      headline,
      headline_count,
      headline_count_before,
    ]),
  ).toEqual([
    ['Prices fall', 0, 2],
    ['Strikes end', 1, 0],
    ['Rates rise', 2, 1],
    ['Nothing new', 1, 1],
    ['Prices jump', 1, 0],
  ]);
  // From -0.1, now by fifths less then by quarters.
  const parts = [0.8 / 4, 0.8 / 5, (2 * 0.7) / 5 - 0.5 / 4, 0.1 / 5 - 0.3 / 4, -0.8 / 5];
  for (const [index, part] of parts.entries()) expect(rows[index]!.contribution).toBeCloseTo(part, 12);
  expect(sum(rows)).toBeCloseTo(0.2 - -0.1, 12);
  const [all, one, ...others] = (await sentimentChanges({ ...asked, of: 'series' }).query.execute(db)).rows;
  expect(others).toEqual([]);
  expect(all).toMatchObject({
    country: null,
    topic: null,
    headline_count: 5,
    headline_count_before: 4,
    z: expect.any(Number),
  });
  expect(all!.change).toBeCloseTo(0.3, 12);
  expect(one).toMatchObject({ country: 'US', topic: 'Inflation-Food', state: 'partial' });
  expect(one!.contribution).toBeCloseTo(0.3, 12);
  expect(one).toMatchObject({ before_from: '2026-09-01', before_to: '2026-09-10' });
  const semantic = await storiesOfMove({ ...asked, model: 'semantic' }).query.execute(db);
  expect(sum(semantic.rows)).toBeCloseTo(-0.3, 12);
  // Nothing to compare with.
  const early = { ...asked, from: '2026-08-20', to: '2026-09-10' };
  expect((await storiesOfMove(early).query.execute(db)).rows).toEqual([]);
  const [alone] = (await sentimentChanges({ ...early, of: 'country' }).query.execute(db)).rows;
  expect(alone).toMatchObject({ headline_count: 4, mean_before: null, change: null, contribution: null });
  expect(alone!.state_before).toBe('not loaded');
});

itAlone('parts add up to the move, too, if there are more than an answer has rows', async ({ db }) => {
  await sqlIn(db)`
    insert into gmsi.daily_sums (country, topic, match_type, sentiment_type, day, all_count, headline_count, sentiment_sum,
                                 sentiment_abs_sum, probability_sum, weighted_sum)
    select 'US', 'Topic ' || series, 'COMBINED', 'directional', date '2026-09-01' + day, 2, 2,
           sin(series * 20 + day), 0, 0, 0
    from generate_series(1, 600) as series, generate_series(0, 19) as day`;
  const [all, ...rows] = (await sentimentChanges({ ...asked, of: 'series' }).query.execute(db)).rows;
  expect(rows.length).toBe(501);
  expect(rows.at(-1)).toMatchObject({
    country: null,
    topic: null,
    others: 100,
    headline_count: 2_000,
    z: null,
  });
  expect(rows.slice(0, -1).every(({ others, topic }) => others === null && topic !== null)).toBe(true);
  expect(sum(rows)).toBeCloseTo(all!.change!, 10);
});

describe('of rows that the service sent', () => {
  beforeAll(async () => {
    await using sandbox = await aSandbox({ volume: 0.3 });
    for (const period of [
      { start_date: '2025-10-01', end_date: '2025-10-31' },
      { start_date: '2026-07-03', end_date: '2026-10-31' },
    ])
      await runBackfill({ job: aJob(period), db: warehouse.db, sandbox });
  });

  const month = { ...asked, from: '2026-10-01', to: '2026-10-31' };

  it.each([
    ['directional', 'before', '2026-08-31', '2026-09-30'],
    ['semantic', 'quarter', '2026-07-03', '2026-09-30'],
    ['directional', 'year', '2025-10-01', '2025-10-31'],
  ] as const)('all parts add up to the move: %s, against %s', async (model, against, first, last) => {
    const { db } = warehouse;
    const one = { ...month, model, against };
    const [truth] = await sqlIn(db)<{ now: number; before: number }>`
      select avg(score) filter (where day between '2026-10-01' and '2026-10-31') as now,
             avg(score) filter (where day between ${first} and ${last}) as before
      from (select (published_at at time zone 'UTC')::date as day, ${sql.ref(`${model}_score`)} as score
            from gmsi.headlines where match_type = 'COMBINED' and retracted_at is null) as scored`;
    const move = truth!.now - truth!.before;
    for (const of of ['series', 'country', 'topic'] as const) {
      const [all, ...rows] = (await sentimentChanges({ ...one, of }).query.execute(db)).rows;
      expect(all).toMatchObject({
        before_from: first,
        before_to: last,
        state: 'covered',
        state_before: 'covered',
      });
      expect(all!.change).toBeCloseTo(move, 10);
      expect(rows.length).toBeGreaterThan(1);
      expect(sum(rows)).toBeCloseTo(move, 10);
    }
    const stories = (await storiesOfMove(one).query.execute(db)).rows;
    expect(stories.length).toBe(101);
    expect(stories.at(-1)!.others).toBeGreaterThan(100);
    expect(sum(stories)).toBeCloseTo(move, 10);
    expect(stories[0]!.contribution).toBeGreaterThan(stories[49]!.contribution);
  });

  it('takes only the asked countries and topics, and says what of both periods is not loaded', async () => {
    const { db } = warehouse;
    const one: ChangesAsked = { ...month, of: 'series', country: ['NO'], topic: ['Inflation-Food'] };
    const rows = async (asked: ChangesAsked) => (await sentimentChanges(asked).query.execute(db)).rows;
    const all = await rows(one);
    expect(all.map(({ country, topic }) => [country, topic])).toEqual([
      [null, null],
      ['NO', 'Inflation-Food'],
    ]);
    expect(all[0]).toMatchObject({
      headline_count: all[1]!.headline_count,
      state: 'covered',
      contribution: expect.closeTo(all[1]!.change!, 12),
    });
    const gone = await rows({ ...one, from: '2025-11-11', to: '2025-11-30', against: 'before' });
    expect(gone[0]).toMatchObject({
      headline_count: 0,
      mean: null,
      state: 'not loaded',
      state_before: 'partial',
    });
    // A series that is loaded, but had no news; and one that nobody requested.
    await coverIn(db, '{[2026-07-01,2026-11-01)}', { country: 'DE', topic: 'Quiet' });
    const none = { headline_count: 0, headline_count_before: 0, change: null, contribution: null };
    for (const [country, state] of [
      ['DE', 'covered'],
      ['FR', 'not loaded'],
    ] as const)
      expect(await rows({ ...one, country: [country], topic: ['Quiet'] })).toEqual([
        expect.objectContaining({ ...none, country: null, state, state_before: state }),
        expect.objectContaining({ ...none, country, state, state_before: state }),
      ]);
    // One that nobody requested beside one that is loaded: the move is not of both.
    for (const of of ['series', 'topic', 'country'] as const) {
      const [both, ...each] = await rows({ ...one, of, topic: ['Inflation-Food', 'Unknown'] });
      expect(both).toMatchObject({ state: 'partial', headline_count: all[0]!.headline_count });
      if (of === 'country') expect(each).toMatchObject([{ country: 'NO', state: 'partial' }]);
      else
        expect(each).toMatchObject([
          { topic: 'Inflation-Food', state: 'covered' },
          { ...none, topic: 'Unknown', state: 'not loaded' },
        ]);
    }
    const anywhere = await rows({ ...one, of: 'topic', country: [], topic: ['Inflation-Food', 'Unknown'] });
    expect(anywhere[0]!.state).toBe('partial');
    expect(anywhere.at(-1)).toMatchObject({ ...none, topic: 'Unknown', state: 'not loaded' });
    // z is worked out here from the daily means.
    const byDay = await sqlIn(db)<{ day: string; s: number; n: number }>`
      select day::text, sentiment_sum as s, headline_count as n from gmsi.sentiment_daily
      where country = 'NO' and topic = 'Inflation-Food' and match_type = 'COMBINED' and sentiment_type = 'directional'
        and day between '2026-08-31' and '2026-10-31'`;
    const parts = [true, false].map((isNow) => byDay.filter(({ day }) => day >= '2026-10-01' === isNow));
    const total = (of: typeof byDay, key: 's' | 'n') => of.reduce((sum, day) => sum + Number(day[key]), 0);
    const [now, before] = parts.map((of) => total(of, 's') / total(of, 'n')) as [number, number];
    const squares = parts
      .flatMap((of, index) => of.map(({ s, n }) => n * (s / n - [now, before][index]!) ** 2))
      .reduce((sum, one) => sum + one, 0);
    const error = Math.sqrt(
      (squares / (byDay.length - 2)) * (1 / total(parts[0]!, 'n') + 1 / total(parts[1]!, 'n')),
    );
    expect(all[1]!.z).toBeCloseTo((now - before) / error, 8);
  });
});

itAlone(
  'of a past moment, it is what was answered then, whatever was rescored, withdrawn or added since',
  async ({ db }) => {
    const row = (id: number, day: number, score: number) =>
      aRow({
        headline_id: idOf(id),
        published_at: `2026-09-${String(day).padStart(2, '0')}T12:00:00Z`,
        headline: `Story ${id % 4}`,
        directional_score: score,
      });
    const rows = Array.from({ length: 20 }, (_, day) => row(day + 1, day + 1, Math.sin(day)));
    await upsert(db, rows);
    await coverIn(db, '{[2026-09-05,2026-09-21)}');
    const answers = async (as_of?: string) => {
      const of = as_of === undefined ? asked : { ...asked, as_of };
      const changes = await sentimentChanges({ ...of, of: 'series' }).query.execute(db);
      const stories = await storiesOfMove(of).query.execute(db);
      const briefing = await briefingOf({ ...of, to: '2026-09-20' }).query.execute(db);
      const precise = (_: string, value: unknown) =>
        typeof value === 'number' ? Number(value.toPrecision(9)) : value;
      return JSON.parse(JSON.stringify([changes.rows, stories.rows, briefing.rows], precise));
    };
    const then = await answers();
    const [{ at }] = (await sqlIn(db)<{ at: string }>`
    select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`) as [
      { at: string },
    ];
    await upsert(db, [
      ...rows.slice(0, 12).map((one, index) => ({ ...one, directional_score: -index / 20 })),
      row(99, 15, 0.9),
    ]);
    await sqlIn(
      db,
    )`update gmsi.headlines set retracted_at = now(), changed_at = now() where headline_id = ${idOf(19)}`;
    await coverIn(db, '{[2026-09-01,2026-09-21)}');
    expect(await answers()).not.toEqual(then);
    expect(await answers(at)).toEqual(then);
  },
);
