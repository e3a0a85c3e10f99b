import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aFolder, manyRecords, runImport, statedOfMany } from '../import/importing.ts';
import { aMovingService } from '../support/moving-service.ts';
import { type SentRecord, sending } from '../support/pages.ts';
import { aJobFor, refresh, runBackfill, runSync } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { loadAs } from '../support/stamp-as.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const it = serving({ volume: 0.5 });
const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-01', to: '2026-10-31' };
const job = aJobFor(scope, { end_date: 'today', lookback: 'P3D', service: { end_date: 'inclusive' } });
const at = (time: string) => () => new Date(`${time}Z`);

/** The service does not have yet what it publishes with these ids. */
const late = (isLate: (record: SentRecord) => boolean) =>
  sending((records) => records.filter((record) => !isLate(record)));

async function backfilled(db: Warehouse, day: string) {
  const rows = await sqlIn(db)<{ late: boolean; rows: number }>`
    select load_id > 1 as late, is_backfilled, count(*) as rows from gmsi.headlines
    where (published_at at time zone 'UTC')::date = ${day}::date group by 1, 2 order by 1, 2`;
  return rows;
}

it('a day counts as watched although its window is drained again', async ({ db, sandbox }) => {
  const ended = { ...job, endDate: job.startDate.with({ day: 10 }) };
  for (const clock of [at('2026-10-05T06:10:00'), at('2026-10-11T06:10:00'), at('2026-10-11T07:10:00')])
    await runSync({
      job: ended,
      db,
      sandbox,
      clock,
      aroundPage: late(({ publication_time }) => /2026-10-1.T.[1-5]/.test(publication_time)),
    });
  await runSync({ job: ended, db, sandbox, clock: at('2026-10-15T06:10:00') });
  const rows = await backfilled(db, '2026-10-10');
  expect(rows.length).toBeGreaterThan(0);
  expect(rows).not.toContainEqual(expect.objectContaining({ is_backfilled: true }));
});

it('the first load of a series has what was published, in any windows', async ({ db, sandbox }) => {
  const small = aJobFor(scope, {
    end_date: 'today',
    lookback: 'P3D',
    step: 'P1D',
    service: { end_date: 'inclusive' },
  });
  await runBackfill({ job: small, db, sandbox, clock: at('2026-10-20T12:00:00') });
  const rows = await sqlIn(db)`
    select distinct is_backfilled from gmsi.headlines where published_at < '2026-10-20 00:00+00'`;
  expect(rows).toEqual([{ is_backfilled: true }]);
  expect(await sqlIn(db)`select from gmsi.watched where day < '2026-10-20'`).toEqual([]);
});

it('a file adds to days that a reading has had what counts from its import on', async ({ db }) => {
  const days = { from: '2024-01-01', to: '2024-01-01' };
  await using folder = await aFolder();
  for (const [name, until] of [
    ['part', 60],
    ['whole', 100],
  ] as const) {
    const path = await folder.write(`${name}.ndjson`, manyRecords(until));
    await runImport(db, [path], { stated: statedOfMany, days });
  }
  expect(await sqlIn(db)`select is_backfilled, count(*) as rows from gmsi.headlines group by 1`).toEqual(
    expect.arrayContaining([
      { is_backfilled: true, rows: 60 },
      { is_backfilled: false, rows: 40 },
    ]),
  );
});

it('a desk gets of each past day what it had then, whatever command brought it, and what came late', async () => {
  const changes = { late: 0.1, revised: 0.2, withdrawn: 0.05 };
  await using service = await aMovingService('2026-10-03T06:10:00Z', { volume: 2, changes });
  const { db, sandbox, clock } = service;
  const run = { job, db, sandbox, clock };
  const from = '2026-10-05';
  /** What the desk had after each load: the score of each headline, and when it first had it. */
  const states: { at: number; scores: Map<string, number | null> }[] = [];
  const had = new Map<string, number>();
  const loadAt = async (instant: string, load: () => Promise<unknown>) => {
    service.moveTo(instant);
    await loadAs(db, instant, load);
    const current = await sql<{ headline_id: string; directional_score: number | null }>`
      select headline_id, directional_score from gmsi.headlines where retracted_at is null`.execute(db);
    const at = Date.parse(instant);
    for (const { headline_id } of current.rows) if (!had.has(headline_id)) had.set(headline_id, at);
    states.push({ at, scores: new Map(current.rows.map((row) => [row.headline_id, row.directional_score])) });
  };

  for (let day = 3; day <= 16; day++) {
    const date = `2026-10-${String(day).padStart(2, '0')}`;
    await loadAt(`${date}T01:00:00Z`, () => runBackfill(run));
    await loadAt(`${date}T06:10:00Z`, () => runSync(run));
  }
  const decisions = async () => {
    const rows = await sqlIn(db)<{ moment: Date; state: string; count: number; sum: number }>`
      select moment, state, headline_count as count, sentiment_sum as sum
      from gmsi.signals(array(select * from generate_series(${`${from} 21:00+00`}::timestamptz, '2026-10-16 21:00+00', interval '6 hours')),
        'US', 'Inflation-Food', over => '1 day')`;
    return rows;
  };
  const published = new Map<string, number>();
  const held = await sqlIn(db)<{ headline_id: string; published_at: Date; late: boolean }>`
    select headline_id, published_at, first_seen_at > published_at + interval '30 hours' as late from gmsi.headlines`;
  for (const { headline_id, published_at } of held) published.set(headline_id, published_at.getTime());
  expect(
    held.filter(({ headline_id, late }) => late && had.get(headline_id)! > Date.parse(from)).length,
  ).toBeGreaterThan(5);

  const answers = await decisions();
  for (const { moment, state, count, sum } of answers) {
    const at = moment.getTime();
    const { scores } = states.findLast((known) => known.at <= at)!;
    const counted = [...scores].filter(([id, score]) => {
      const entered = Math.max(published.get(id)!, had.get(id)!);
      return score !== null && entered > at - 86_400_000 && entered <= at;
    });
    const about = `${moment.toISOString()} ${state}`;
    expect(count, about).toBe(counted.length);
    expect(sum, about).toBeCloseTo(
      counted.reduce((total, [, score]) => total + score!, 0),
      9,
    );
    expect(['covered', 'settling', 'partial'], about).toContain(state);
  }
  expect(answers.filter(({ state }) => state === 'covered').length).toBeGreaterThan(20);

  // A refresh a month later brings more late headlines, and changes no answer.
  await loadAt('2026-11-15T01:00:00Z', () => runBackfill({ ...run, plan: refresh }));
  expect(had.size).toBeGreaterThan(published.size);
  const numbers = (all: typeof answers) => all.map(({ moment, count, sum }) => [moment, count, sum]);
  expect(numbers(await decisions())).toEqual(numbers(answers));
});
