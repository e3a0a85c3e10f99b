import { expect, test } from 'vitest';
import { tooManyRejected } from '../../src/load/rejected.ts';
import { sending } from '../support/pages.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { coverageOf, windowsOf } from '../support/warehouse-state.ts';

const it = serving({ volume: 1 });
const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-30' };
const job = aJobFor(scope, { service: { end_date: 'inclusive', page_size: 1000 } });

/** An answer of so many records, the first of which are a year old. */
const answering = (many: number, old: number) =>
  sending((records) =>
    records
      .slice(0, many)
      .map((record, at) => (at < old ? { ...record, publication_time: '2025-09-10T12:00:00Z' } : record)),
  );

it.for([
  { records: 5, old: 5, says: '5 of 5 records requested for 2026-09-01 to 2026-09-30 are from other days' },
  { records: 1, old: 1, says: '1 of 1 records requested for 2026-09-01 to 2026-09-30 are from other days' },
  { records: 33, old: 11, says: '11 of 33 records are of days that were not requested, more than 1%' },
])(
  'an answer with $old of $records records of other days covers none',
  async ({ records, old, says }, { db, sandbox }) => {
    const result = await runBackfill({ job, db, sandbox, aroundPage: answering(records, old) });
    expect(result).toMatchObject({ outcome: 'incomplete', windows: { failed: 1, drained: 0 } });
    expect((await windowsOf(db))[0]!.last_error).toContain(says);
    expect(await coverageOf(db)).toEqual({});
  },
);

test('records that could not be read and those of other days count together', () => {
  expect(tooManyRejected({ records: 1000, rejected: 6, outside: 4 }, 1)).toBeUndefined();
  expect(tooManyRejected({ records: 1000, rejected: 6, outside: 5 }, 1)).toBe(
    '11 of 1,000 records were rejected or are of days that were not requested (5), more than 1%',
  );
});
