import { expect } from 'vitest';
import { briefingOf, rewritten } from '../../src/questions/briefing.ts';
import { it } from '../support/serving.ts';
import { coverIn } from '../support/warehouse-state.ts';
import { aRow, idOf, upsert } from '../warehouse/a-row.ts';

const to = '2026-09-20';
const asked = { match_type: 'COMBINED', model: 'directional', to } as const;

it('says what moved most in a week, with its weeks, and the stories that have the sign of the move', async ({
  db,
}) => {
  let id = 0;
  const news = (daysAgo: number, headline: string, directional_score: number) => {
    const published_at = new Date(Date.parse(to) + (0.5 - daysAgo) * 86_400_000).toISOString();
    return aRow({ headline_id: idOf(++id), published_at, headline, directional_score });
  };
  const days = (count: number, one: (day: number) => ReturnType<typeof news>) =>
    Array.from({ length: count }, (_, day) => one(day));
  const before = days(90, (day) => news(7 + day, `Quiet ${day}`, day % 2 ? 0.1 : -0.1));
  await upsert(db, [...before, ...days(7, (day) => news(day, `Quiet ${day}`, 0))], { topic: 'Calm' });
  // The strike lowers it.
  const strike = [news(0, 'Jobs are back', 0.5), news(6, 'Strike', -0.9)];
  const relief = days(6, (day) => news(day, 'Relief over prices!', 0.6));
  await upsert(db, [...before, ...relief, ...strike], { topic: 'Moved' });
  // A large move of few days may be chance.
  const rare = [news(0, 'Now', 0.9), ...days(8, (day) => news(20 + day, 'Then', day / 100))];
  await upsert(db, rare, { topic: 'Rare' });
  await coverIn(db, '{[2026-06-01,2026-09-21)}', { country: 'DE', topic: 'No news' });
  const { rows } = await briefingOf(asked).query.execute(db);
  expect(rows.map(({ topic, stories }) => [topic, stories !== null])).toEqual([
    ['Moved', true],
    ['Rare', false],
    ['Calm', false],
    ['No news', false],
  ]);
  const [moved] = rows;
  expect(moved!.mean).toBeCloseTo((6 * 0.6 + 0.5 - 0.9) / 8, 12);
  expect(moved!.weeks).toHaveLength(14);
  expect(moved!.weeks!.at(-1)).toBeCloseTo(moved!.mean!, 12);
  expect(moved!.weeks!.at(-2)).toBeCloseTo(-0.1 / 7, 12);
  expect(moved!.stories!.map(({ headline, headline_count }) => [headline, headline_count])).toEqual([
    ['Relief over prices!', 6],
    ['Jobs are back', 1],
  ]);
  expect(moved!.stories![0]!.share).toBeCloseTo(3.6 / 8 / moved!.change!, 10);
  expect(rows[3]).toMatchObject({ country: 'DE', headline_count: 0, mean: null, state: 'covered' });
});

it('says how many headlines were rewritten or came late in the last day', async ({ db }) => {
  const longAgo = new Date(Date.now() - 3 * 86_400_000).toISOString();
  const row = { headline_id: idOf(1), published_at: longAgo };
  await upsert(db, [aRow({ ...row, directional_score: 0.1 })], { isBackfilled: false });
  await upsert(db, [aRow({ ...row, directional_score: 0.3 })], { isBackfilled: false });
  await upsert(db, [aRow({ headline_id: idOf(2) })], { isBackfilled: true });
  const { rows } = await rewritten({}).query.execute(db);
  const counts = { rescored: 1, withdrawn: 0, late: 1 };
  expect(rows).toEqual([
    { country: null, topic: null, ...counts },
    { country: 'US', topic: 'Inflation-Food', ...counts },
  ]);
  const before = await rewritten({ as_of: longAgo }).query.execute(db);
  expect(before.rows).toEqual([{ country: null, topic: null, rescored: 0, withdrawn: 0, late: 0 }]);
});
