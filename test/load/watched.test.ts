import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Page } from '../../src/service/page.ts';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aFolder, manyRecords, runImport, statedOfMany } from '../import/importing.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { coverIn } from '../support/warehouse-state.ts';

const it = serving({ limits: null, volume: 0.5 });
const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-01', to: '2026-10-31' };
const job = aJobFor(scope, { end_date: 'today', lookback: 'P3D', service: { end_date: 'inclusive' } });
const at = (time: string) => () => new Date(`${time}Z`);

/** The service does not have yet what it publishes with these ids. */
function late(isLate: (record: { id: string; publication_time: string }) => boolean) {
  return async (ask: () => Promise<Page>) => {
    const page = await ask();
    const records = [...page.records] as { id: string; publication_time: string }[];
    return { ...page, records: records.filter((record) => !isLate(record)) };
  };
}

async function backfilled(db: Warehouse, day: string) {
  const { rows } = await sql<{ late: boolean; rows: number }>`
    select load_id > 1 as late, is_backfilled, count(*) as rows from gmsi.headlines
    where (published_at at time zone 'UTC')::date = ${day}::date group by 1, 2 order by 1, 2`.execute(db);
  return rows;
}

const onSixth = ({ id, publication_time }: { id: string; publication_time: string }) =>
  publication_time.startsWith('2026-10-06') && /[0-7]$/.test(id);

it.for([
  ['a sync', runSync, {}],
  ['a backfill', runBackfill, { plan: { fullRefresh: true, retryRefused: false } }],
] as const)(
  'a headline that comes late on a day that was watched counts from then on, whatever brings it: %s',
  async ([, run, how], { db, sandbox }) => {
    // On the first, nothing was watched; on the seventh, the sixth is loaded whole.
    for (const clock of [at('2026-10-05T06:10:00'), at('2026-10-07T06:10:00')])
      await runSync({ job, db, sandbox, clock, aroundPage: late(onSixth) });
    const clock = at('2026-10-10T06:10:00');
    await run({ job, db, sandbox, clock, ...how });
    const rows = await backfilled(db, '2026-10-06');
    expect(rows.map(({ late }) => late)).toContain(true);
    expect(rows).not.toContainEqual(expect.objectContaining({ is_backfilled: true }));
  },
);

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

it('what was published before anybody watched is backfilled', async ({ db, sandbox }) => {
  await runBackfill({ job, db, sandbox, clock: at('2026-10-20T12:00:00') });
  expect(await backfilled(db, '2026-10-06')).toEqual([
    { late: false, is_backfilled: true, rows: expect.any(Number) },
  ]);
});

it('a file adds to days that were watched what counts from its import on', async ({ db }) => {
  const days = { from: '2024-01-01', to: '2024-01-01' };
  await using folder = await aFolder();
  const path = await folder.write('day.ndjson', manyRecords(100));
  const imported = async () => {
    await runImport(db, [path], { stated: statedOfMany, days });
    const { rows } = await sql<{ is_backfilled: boolean }>`
      select distinct is_backfilled from gmsi.headlines where window_id is null`.execute(db);
    return rows.map(({ is_backfilled }) => is_backfilled);
  };
  expect(await imported()).toEqual([true]);
  await sql`delete from gmsi.headlines; delete from gmsi.imported_files; delete from gmsi.coverage`.execute(
    db,
  );
  await coverIn(db, '{[2024-01-01,2024-01-02)}');
  expect(await imported()).toEqual([false]);
});
