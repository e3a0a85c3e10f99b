import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sql } from 'kysely';
import { Temporal } from 'temporal-polyfill';
import { expect, test } from 'vitest';
import { startSandbox } from '#sandbox';
import { readJob } from '../../src/config/read-job.ts';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { runBackfill } from '../support/run-backfill.ts';
import { aWarehouse } from '../support/test-warehouse.ts';

const cwd = resolve(import.meta.dirname, '../..');
const files = ['jobs', 'jobs/examples'].flatMap((folder) =>
  readdirSync(join(cwd, folder))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => join(folder, name)),
);
const clock = () => new Date('2026-11-20T12:00:00Z');

/** Enough for a page of each of some series. */
const requests = 16;

test.each(files)('%s loads rows of a sandbox, as far as its budget goes', async (file) => {
  await using warehouse = await aWarehouse();
  await using sandbox = await startSandbox({ limits: null, clock, volume: 0.1 });
  const written = await readJob(file, Temporal.PlainDate.from('2026-11-20'), cwd);
  const job = {
    ...written,
    startDate: Temporal.PlainDate.from('2026-10-01'),
    endDate: Temporal.PlainDate.from('2026-10-03'),
    budget: { requestsPerMonth: requests, reserve: 0, refreshPercent: 5 },
    service: { ...written.service, rate: Number.POSITIVE_INFINITY },
  };

  const result = await runBackfill({ job, db: warehouse.db, sandbox, clock });
  expect(result.outcome).toBe(result.totals.requests < requests ? 'done' : 'budget');
  expect(result.totals.records_rejected).toBe(0);
  const table = sql.table(`gmsi.${feedNamed(job.feed).table.name}`);
  const { rows } = await sql`select from ${table}`.execute(warehouse.db);
  expect(rows.length).toBe(result.totals.rows_inserted);
  expect(rows).not.toHaveLength(0);
});
