import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { startSandbox } from '#sandbox';
import { emptiedDays } from '../../src/questions/emptied.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { expectNothingLost, lostRows } from '../support/lost-rows.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { aCloneOf, type TestWarehouse } from '../support/test-warehouse.ts';
import { aWindowIn, forgetDaysIn } from '../support/warehouse-state.ts';
import { busy, change, checkAll, checkedJob, checkOne, loaded, ordinary, whileChanged } from './loaded.ts';

const job = aJob(busy);
const refresh = { fullRefresh: true, retryRefused: false };

let source: TestWarehouse;
beforeAll(async () => {
  source = await loaded([job]);
});
afterAll(() => source[Symbol.asyncDispose]());

const day = "(published_at at time zone 'UTC')::date";
const truth = { country: 'US', topic: 'Inflation-Food', from: '2024-01-01', to: '2024-04-30' };
const inPeriod = "published_at < '2024-05-01 00:00Z'";

const test = serving({ limits: null });

describe('without counting, rows that are gone are found', () => {
  const emptied = async (db: Warehouse) => {
    const { scope } = await checkedJob(db, job);
    return emptiedDays(db, scope.table, { ...scope.window, countries: ['US', 'NO'] });
  };

  test.each([
    [
      'in a month that is empty',
      `delete from gmsi.headlines where ${day} between '2024-02-01' and '2024-02-29'`,
      { from: '2024-02-01', to: '2024-02-29' },
    ],
    [
      'in a series that is empty, beside another one',
      `update gmsi.headlines set country = 'NO'`,
      { from: '2024-01-01', to: '2024-04-30' },
    ],
  ] as const)('%s', async (_, by, days) => {
    expect(await emptied(source.db)).toBeUndefined();
    await whileChanged(source, by, async () => {
      expect(await emptied(source.db)).toEqual(days);
    });
  });

  test('of imported files, but not of days that never had rows', async ({ warehouse, db }) => {
    await using sandbox = await startSandbox({ ...ordinary, volume: 0 });
    await runBackfill({ job, db, sandbox });
    expect(await emptied(db)).toBeUndefined();
    await change(
      warehouse,
      `
      insert into gmsi.imported_files (feed, country, topic, ticker, match_type, variant, content, name, archive, made_at,
        load_id, records_by_day, finished_at)
      select feed, country, topic, ticker, match_type, variant, 'c', 'n', '', now(), 1, '{"2024-03-05": 7}', now()
      from gmsi.windows limit 1`,
    );
    expect(await emptied(db)).toEqual({ from: '2024-03-05', to: '2024-03-05' });
  });
});

describe('lost-rows finds', () => {
  const losses = {
    'one row that is deleted': `delete from gmsi.headlines where headline_id =
      (select max(headline_id::text)::uuid from gmsi.headlines where ${inPeriod})`,
    '19 days that are deleted': `delete from gmsi.headlines where ${day} between '2024-02-05' and '2024-02-23'`,
    "rows that are another country's now": `update gmsi.headlines set country = 'NO' where ${day} = '2024-03-05'`,
    'rows that are of another day now': `update gmsi.headlines set published_at = published_at + interval '1 day'
      where ${day} = '2024-03-05'`,
    'a partition that is emptied': 'delete from gmsi.headlines_2024_02',
  };

  test.each(Object.entries(losses))('%s', async (_, by) => {
    await expectNothingLost(source.db);
    await whileChanged(source, by, async (gone) => {
      const found = await checkOne(source, job, 'lost-rows');
      expect(found.result).toBe('failed');
      expect(gone).toBeGreaterThan(0);
      expect(lostIn(found.rows)).toBe(gone);
    });
  });

  test('a month that was detached, though the rollups were computed again and every other check passes', async () => {
    await using warehouse = await aCloneOf(source);
    const { db } = warehouse;
    await sql`alter table gmsi.headlines detach partition gmsi.headlines_2024_03`.execute(db);
    await sql`select gmsi.rebuild_rollups()`.execute(db);
    const failed = (await checkAll(db, job)).filter(({ result }) => result === 'failed');
    expect(failed.map(({ check }) => check.name)).toContain('lost-rows');
    const { rows } = await checkOne(warehouse, job, 'lost-rows');
    expect(rows.reduce((all, { days }) => all + Number(days), 0)).toBe(31);
    expect(rows[0]).toMatchObject({ country: 'US', topic: 'Inflation-Food', held: 0 });

    // Moved on purpose: judged from the first day that is left, and its own job's days alone.
    const judged = { ...job, startDate: job.startDate.with({ month: 4, day: 1 }) };
    expect(await checkOne(warehouse, judged, 'lost-rows')).toMatchObject({ result: 'passed' });
  });

  test('rows that a trigger keeps out, by what the service sent', async ({ warehouse, db, sandbox }) => {
    await sql`
      create function public.drop_some() returns trigger language plpgsql as $$
      begin return case when get_byte(uuid_send(new.headline_id), 0) < 51 then null else new end; end $$`.execute(
      db,
    );
    await sql`create trigger drop_some before insert on gmsi.headlines for each row execute function public.drop_some()`.execute(
      db,
    );
    const result = await runBackfill({ job, db, sandbox });
    expect(result.outcome).toBe('done');
    const { rows } = await checkOne(warehouse, job, 'lost-rows');
    const missing = lostIn(rows);
    expect(missing).toBe(sandbox.truth(truth).length - (await held(warehouse)));
    expect(missing).toBeGreaterThan(50);
  });

  test('rows of a day that the live feed or another job brought', async ({ warehouse, db, sandbox }) => {
    await runBackfill({ job: aJob({ ...busy, start_date: '2024-04-01', step: 'P7D' }), db, sandbox });
    await runBackfill({ job, db, sandbox, plan: refresh });
    await expectNothingLost(db);
    await change(warehouse, `delete from gmsi.headlines where ${day} = '2024-04-09'`);
    expect(await lostRows(db)).toMatchObject([{ first_day: '2024-04-09', last_day: '2024-04-09', held: 0 }]);
  });
});

describe('lost-rows is quiet', () => {
  test('once what was lost has been loaded again, by windows of whatever length', async () => {
    await using warehouse = await aCloneOf(source);
    const { db } = warehouse;
    await change(warehouse, `delete from gmsi.headlines where ${day} between '2024-02-05' and '2024-02-23'`);
    expect(await lostRows(db)).not.toEqual([]);
    await using sandbox = await startSandbox(ordinary);
    const repair = aJob({ ...busy, start_date: '2024-02-05', end_date: '2024-02-23', step: 'P4D' });
    await runBackfill({ job: repair, db, sandbox, plan: refresh });
    await expectNothingLost(db);
    // And finds what is lost after that.
    await change(warehouse, `delete from gmsi.headlines where ${day} = '2024-02-20'`);
    expect(await lostRows(db)).toMatchObject([{ first_day: '2024-02-20', days: 1, held: 0 }]);
  });

  test('about windows that were drained before rows were counted', async () => {
    await using warehouse = await aCloneOf(source);
    await forgetDaysIn(warehouse.db);
    await aWindowIn(warehouse.db, '2024-01-01', '2024-04-30');
    await change(warehouse, `delete from gmsi.headlines where ${day} = '2024-02-20'`);
    expect(await checkOne(warehouse, job, 'lost-rows')).toMatchObject({ result: 'passed' });
  });
});

async function held({ db }: TestWarehouse): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*)::int as n from gmsi.headlines where ${sql.raw(inPeriod)}`.execute(db);
  return rows[0]!.n;
}

/** How many rows a check found to be gone. */
function lostIn(rows: readonly object[]): number {
  return (rows as { counted: number; held: number }[]).reduce(
    (all, { counted, held }) => all + counted - held,
    0,
  );
}
