import { expect, it, vi } from 'vitest';
import type { LoadResult } from '../../src/load/load.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { sqlIn } from '../support/warehouse-state.ts';

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-10-01', to: '2026-11-16' };

it.each([
  ['backfills', runBackfill, {}],
  ['syncs', runSync, { end_date: 'today' }],
] as const)('%s of two jobs that overlap plan each day once between them', async (_, runJob, end) => {
  await using warehouse = await aWarehouse({ connections: 12 });
  await using sandbox = await aSandbox({ volume: 0.3 });
  const { db } = warehouse;
  const service = { page_size: 1000, end_date: 'inclusive' };
  const covered = aJobFor({ ...scope, to: '2026-10-15' }, { service });
  expect(await runBackfill({ job: covered, db, sandbox })).toMatchObject({ outcome: 'done' });
  const jobs = [
    aJobFor(scope, { ...end, step: 'P7D', service }),
    aJobFor({ ...scope, from: '2026-10-02' }, { ...end, step: 'P9D', service }),
  ];
  // What was found to be missing waits for this lock before it is written down as windows.
  await sqlIn(db)`
    create function gmsi.hold_planning() returns trigger language plpgsql as
      'begin perform pg_advisory_xact_lock_shared(4711); return null; end'
  `;
  await sqlIn(db)`
    create trigger hold_planning before insert on gmsi.windows for each statement execute function gmsi.hold_planning()
  `;
  const held = await db.startTransaction().execute();
  await sqlIn(held)`select pg_advisory_xact_lock(4711)`;
  const named = jobs.map((job, index) => ({ ...job, name: `job ${index}` }));
  const running = Promise.all(named.map((job) => runJob({ job, db, sandbox })));
  let ended: readonly LoadResult[];
  try {
    await vi.waitFor(
      async () => {
        // One waits for the lock above; the other asks for the turn to plan, or else waits for the one above as well.
        const rows = await sqlIn(db)`
          select from pg_stat_activity
          where datname = current_database() and state <> 'idle' and (wait_event = 'advisory' or query like '%gmsi.turns%')
            and pid <> pg_backend_pid()
        `;
        expect(rows).toHaveLength(2);
      },
      { timeout: 20_000, interval: 20 },
    );
  } finally {
    await held.rollback().execute();
    ended = await running;
  }
  expect(ended.map(({ outcome }) => outcome)).toEqual(['done', 'done']);
  // Settling days may be loaded again, by a plan that comes later.
  const doubled = await sqlIn(db)`
    select a.first_day, a.last_day, b.first_day as other_first, b.last_day as other_last
    from gmsi.windows a join gmsi.windows b on a.window_id < b.window_id and a.days * b.days && daterange(null, '2026-11-17')
  `;
  expect(doubled).toEqual([]);
  expect(await heldBy(db, scope)).toEqual(servedBy(sandbox, scope));
});
