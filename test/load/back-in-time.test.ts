import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { atPage } from '../support/pages.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { forgetAllIn, forgetDaysIn, sqlIn, windowsOf } from '../support/warehouse-state.ts';

const it = serving({ volume: 0.3 });
const scope = { countries: ['US', 'DE'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-11-20' };
const job = aJobFor(scope, {
  step: 'P10D',
  end_date: 'today',
  service: { end_date: 'inclusive', page_size: 12, concurrency: 2 },
});
const again = { outcome: 'done', error: undefined };

/** As a backup from before the load: nothing of it, and none of its partitions. */
const restored = (db: Warehouse) =>
  db.transaction().execute(async (trx) => {
    await sqlIn(trx)`
      do $$ declare part regclass; begin
        for part in select inhrelid from pg_inherits where inhparent = 'gmsi.headlines'::regclass loop
          execute 'drop table ' || part;
        end loop;
      end $$`;
    await forgetAllIn(trx);
    for (const table of ['hourly_sums', 'daily_sums', 'loads'])
      await sqlIn(trx)`delete from ${sql.table(`gmsi.${table}`)}`;
  });

/** As a standby that has the load but not its last seconds: windows that were drained are gone, and what they brought. */
const promoted = (db: Warehouse) =>
  db.transaction().execute(async (trx) => {
    await sqlIn(trx)`
      delete from gmsi.headlines where window_id in (select window_id from gmsi.windows where state = 'drained')`;
    await forgetDaysIn(trx);
  });

describe('a warehouse that goes back in time under a load', () => {
  it.for([
    ['backfill', runBackfill, 9],
    ['sync', runSync, 2],
  ] as const)('and has nothing of it is not called done: %s', async ([, run, page], { db, sandbox }) => {
    expect(await run({ job, db, sandbox, aroundPage: atPage(page, () => restored(db)) })).toMatchObject({
      outcome: 'incomplete',
      error: { message: expect.stringContaining('does not list this load') },
    });
    expect(await runBackfill({ job, db, sandbox })).toMatchObject(again);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });

  it('and lacks its last seconds is filled again', async ({ db, sandbox }) => {
    const aroundPage = atPage(60, async () => {
      expect((await windowsOf(db)).filter(({ state }) => state === 'drained').length).toBeGreaterThan(2);
      await promoted(db);
    });
    expect(await runBackfill({ job, db, sandbox, aroundPage })).toMatchObject(again);
    expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
  });
});
