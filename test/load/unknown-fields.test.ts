import { expect } from 'vitest';
import { aJob, runBackfill, runSync } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

const aNewField = { kind: 'drift', drifts: ['new-field'], times: 1_000 } as const;

function until(end_date: string, unknown_fields = 'fail', more = {}) {
  const scope = { countries: ['US'], topics: ['Inflation-Food'], start_date: '2026-09-01', end_date };
  return aJob({ ...scope, unknown_fields, service: { end_date: 'inclusive' }, ...more });
}

const it = serving({ volume: 0.5 });

it('unknown_fields: fail stores nothing of a page with a new field', async ({ db, sandbox }) => {
  const load = (job: ReturnType<typeof aJob>) => runBackfill({ job, db, sandbox });
  expect(await load(until('2026-09-05'))).toMatchObject({ outcome: 'done' });
  const before = await countRows(db, 'headlines');

  sandbox.script([aNewField]);
  // Twice: what a load has refused is not known to the next one.
  for (let tries = 0; tries < 2; tries++)
    expect(await load(until('2026-09-20'))).toMatchObject({ outcome: 'incomplete', windows: { failed: 1 } });
  const rows = await sqlIn(db)<{ last_error: string; pages: number }>`
    select last_error, pages from gmsi.windows where state = 'failed'`;
  expect(rows).toEqual([
    {
      last_error:
        'The records have fields that no load has stored yet: sandbox_field. Ask the vendor what they are. Then set unknown_fields: keep for one load, or read them into columns with fields.',
      pages: 0,
    },
  ]);
  expect(await countRows(db, 'headlines')).toBe(before);

  const named = { fields: { url: 'sandbox_field' } };
  expect(await load(until('2026-09-20', 'fail', named))).toMatchObject({ outcome: 'done' });
  await sqlIn(db)`delete from gmsi.wire_fields where field = 'sandbox_field'`;
  expect(await load(until('2026-09-25'))).toMatchObject({ outcome: 'incomplete' });
  expect(await load(until('2026-09-25', 'keep'))).toMatchObject({ outcome: 'done' });
  expect(await load(until('2026-09-30'))).toMatchObject({ outcome: 'done', totals: { windows_drained: 1 } });
});

it('unknown_fields: fail refuses a live answer with a new field', async ({ db, sandbox }) => {
  const sync = () => runSync({ job: until('today', 'fail', { start_date: '2026-11-15' }), db, sandbox });
  expect(await sync()).toMatchObject({ outcome: 'done' });
  sandbox.script([{ ...aNewField, match: ({ path }) => path.includes('/live/') }]);
  expect(await sync()).toMatchObject({ outcome: 'incomplete' });
  expect(await countRows(db, 'headlines')).toBeGreaterThan(0);
  expect(await sqlIn(db)`select from gmsi.headlines where extra ? 'sandbox_field'`).toEqual([]);
});
