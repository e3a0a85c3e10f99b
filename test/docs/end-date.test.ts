import { sql } from 'kysely';
import { expect } from 'vitest';
import { startSandbox } from '#sandbox';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import { sqlMarked } from './pages.ts';

test.for([
  ['inclusive', true],
  ['exclusive', false],
] as const)(
  'the query in the documentation tells a service that reads end_date as %s',
  async ([endDate, wanted], { db }) => {
    await using sandbox = await startSandbox({ limits: null, endDate });
    const period = { start_date: '2025-09-01', end_date: '2025-09-30' };
    const job = aJob({ countries: ['US'], topics: ['Inflation-Food'], ...period });
    await runBackfill({ job, db, sandbox });

    const { rows } = await sql.raw(sqlMarked('end-date')).execute(db);
    expect(rows).toEqual([
      { country: 'US', topic: 'Inflation-Food', request_end: '2025-10-01', was_answered: wanted },
    ]);
  },
);
