import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { aJobFor, runBackfill } from '../support/run-backfill.ts';
import { aSandbox, it } from '../support/serving.ts';
import { countRows, coverageOf } from '../support/warehouse-state.ts';

const scope = {
  countries: ['US'],
  topics: ['Inflation-Food', 'Policy Outlook'],
  from: '2026-08-20',
  to: '2026-09-30',
};
const refresh = { fullRefresh: true, retryRefused: false };

it('draining covered days again writes and rejects nothing twice', async ({ db }) => {
  const records = { ids: false };
  await using sandbox = await aSandbox({ records, volume: 0.15 });
  const job = aJobFor(scope, { service: { page_size: 30 } });
  const drift = ['no-time', 'no-score', 'not-an-object', 'nul-character', 'lone-surrogate'] as const;
  // Each window's first page drifts in the same way both times.
  const script = () =>
    sandbox.script([{ kind: 'drift', drifts: drift, times: 1e6, match: ({ token }) => token === null }]);

  script();
  const first = await runBackfill({ job, db, sandbox });
  const before = await everything(db);
  expect(before.rejected).toHaveLength(first.totals.records_rejected);
  expect(before.rejected.length).toBeGreaterThanOrEqual(4);

  const { requests, pages } = sandbox.stats();
  script();
  const second = await runBackfill({ job, db, sandbox, plan: refresh });
  expect(second).toMatchObject({ outcome: 'done', totals: { rows_inserted: 0, rows_changed: 0 } });
  expect(second.totals.records).toBe(first.totals.records);
  expect(await everything(db)).toEqual(before);
  expect(await countRows(db, 'headline_revisions')).toBe(0);
  expect(sandbox.stats().requests - requests).toBe(pages);
  expect(sandbox.stats().pagesServedTwice).toBe(pages);
});

/** Rows with the transactions that wrote them: a row that is written again, even with equal values, has another xmin. */
async function everything(db: Warehouse) {
  const headlines = await sql`
    select xmin::text as written_by, headline_id, changed_at, load_id from gmsi.headlines order by headline_id, topic
  `.execute(db);
  const rejected = await sql`
    select xmin::text as written_by, record_hash, topic, load_id from gmsi.rejected_records order by record_hash, topic
  `.execute(db);
  return { headlines: headlines.rows, rejected: rejected.rows, coverage: await coverageOf(db) };
}
