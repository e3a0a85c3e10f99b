import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Job } from '../../src/config/job.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { checkAll } from '../check/loaded.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { sqlMarked } from './pages.ts';

const autumn = { countries: ['US'], topics: ['Inflation-Food'], end_date: '2025-10-31', step: 'P30D' };
const job = aJob({ ...autumn, start_date: '2025-09-01' });
const whatIsLeft = aJob({ ...autumn, start_date: '2025-10-01' });

/** Everything that is kept of the headlines, per month. */
async function heldIn(db: Warehouse) {
  const { rows } = await sql<{ kept: string; month: string; rows: number; sum: number }>`
    select kept, to_char(at at time zone 'UTC', 'YYYY-MM') as month, count(*) as rows, sum(score order by at, score) as sum
    from (
      select 'headlines' as kept, published_at as at, directional_score as score from gmsi.headlines
      union all select 'revisions', published_at, directional_score from gmsi.headline_revisions
      union all select 'days', day::timestamp at time zone 'UTC', sentiment_sum from gmsi.sentiment_daily
      union all select 'hours', hour, sentiment_sum from gmsi.sentiment_hourly
    ) as held
    group by 1, 2 order by 1, 2`.execute(db);
  return rows;
}

/** Runs statements as psql would; several at once are one transaction. */
async function run(db: Warehouse, statements: string): Promise<void> {
  await sql.raw(statements).execute(db);
}

async function failedChecks(db: Warehouse, checked: Job): Promise<string[]> {
  const results = await checkAll(db, checked);
  return results.filter(({ result }) => result === 'failed').map(({ check }) => check.name);
}

const test = serving({ limits: null, volume: 0.2 });

test('a month is taken out and put back as documented, and its rollups stay', async ({ db, sandbox }) => {
  await runBackfill({ job, db, sandbox });
  await run(
    db,
    `update gmsi.headlines set url = 'https://elsewhere.example', changed_at = clock_timestamp()`,
  );
  const before = await heldIn(db);

  await run(db, sqlMarked('detach'));
  const isMoved = ({ kept, month }: { kept: string; month: string }) =>
    month === '2025-09' && (kept === 'headlines' || kept === 'revisions');
  expect(before.filter(isMoved)).toHaveLength(2);
  const left = before.filter((held) => !isMoved(held));
  expect(await heldIn(db)).toEqual(left);

  expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done', totals: { requests: 0 } });
  await sql`select gmsi.rebuild_rollups('2025-10-01')`.execute(db);
  expect(await heldIn(db)).toEqual(left);
  expect(await failedChecks(db, job)).toEqual(['lost-rows', 'rollups']);
  expect(await failedChecks(db, whatIsLeft)).toEqual([]);

  await run(db, sqlMarked('attach'));
  expect(await heldIn(db)).toEqual(before);
});

test('a month loaded again is a new partition if the old one is detached', async ({ db, sandbox }) => {
  await runBackfill({ job, db, sandbox });
  const before = await heldIn(db);
  const [, detach = '', move = ''] = sqlMarked('detach').split(';\n');
  await run(db, detach);
  const again = { job, db, sandbox, plan: { fullRefresh: true, retryRefused: false } };
  expect(await runBackfill(again)).toMatchObject({ outcome: 'incomplete' });
  const { rows } = await sql<{ why: string }>`
    select last_error as why from gmsi.windows where state = 'failed'`.execute(db);
  for (const { why } of rows) expect(why).toContain('not a partition');

  await run(db, `create schema archive; ${move}`);
  expect(await runBackfill({ job, db, sandbox })).toMatchObject({ outcome: 'done' });
  expect(await heldIn(db)).toEqual(before);
});
