import { sql } from 'kysely';
import { expect } from 'vitest';
import { feedNamed } from '../../src/feeds/catalog.ts';
import { repair } from '../../src/load/repair.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { aFolder, manyRecords, runImport, statedOfMany } from '../import/importing.ts';
import { aProcess } from '../support/a-process.ts';
import { aCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { aRewritingProxy, renaming } from '../support/rewriting-proxy.ts';
import { aJobFor, runBackfill, runSync } from '../support/run-backfill.ts';
import { aSandbox, serving } from '../support/serving.ts';
import type { TestWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import { countRows, coverageOf, sqlIn, windowsOf } from '../support/warehouse-state.ts';

/* The server has committed rows, and its reply is lost: their place shows it. */

const scope = { countries: ['US'], topics: ['Inflation-Food'], from: '2026-09-01', to: '2026-09-15' };
const pageSize = 12;
const settings = {
  lookback: 'P0D',
  service: { end_date: 'inclusive', page_size: pageSize, concurrency: 1 },
};
const job = aJobFor(scope, settings);
/** The last message of a transaction that writes rows, or makes the partition of a month. */
const theCommit = /refuse_late_commit/;
/** The number of the commit of a page or batch, if all are of one month: the first commit is that of its partition. */
const commitOf = (nth: number) => nth + 1;

const it = serving({ volume: 0.3 });

/** Works by a connection that loses one reply. */
async function losingOne<Done>(
  { url }: TestWarehouse,
  work: (db: Warehouse, proxy: CuttingProxy) => Promise<Done>,
): Promise<Done> {
  await using proxy = await aCuttingProxy(url);
  await using cut = connect({ kind: 'url', url: new Secret(proxy.url) }, 4);
  const done = await work(cut, proxy);
  expect(proxy.lost).toBe(1);
  return done;
}

it.for([
  ['the first page of a window', () => 1],
  ['a page in the middle', (pages: number) => Math.ceil(pages / 2)],
  ['the last page, with the coverage', (pages: number) => pages],
] as const)('%s is committed and counted once', async ([_, nth], { warehouse, db, sandbox }) => {
  const truth = servedBy(sandbox, scope);
  const pages = Math.ceil(truth.length / pageSize);
  expect(pages).toBeGreaterThan(3);
  const result = await losingOne(warehouse, (db, proxy) =>
    runBackfill({ job, db, sandbox, onStart: () => proxy.loseReplyTo(theCommit, commitOf(nth(pages))) }),
  );
  expect(result).toMatchObject({
    outcome: 'done',
    totals: { pages, records: truth.length, rows_inserted: truth.length },
  });
  expect(sandbox.stats()).toMatchObject({ pages, pagesServedTwice: 0, cursorReadsAtOnce: 1 });
  expect(await windowsOf(db)).toMatchObject([
    { state: 'drained', pages, records: truth.length, attempts: 1 },
  ]);
  expect(await heldBy(db, scope)).toEqual(truth);
  expect(await coverageOf(db)).toEqual({ 'US Inflation-Food COMBINED': '{[2026-09-01,2026-09-16)}' });
});

it('the last page of a refresh retracts once what is gone, and counts it', async ({
  warehouse,
  db,
  sandbox,
}) => {
  await runBackfill({ job, db, sandbox });
  const truth = servedBy(sandbox, scope);
  const pages = Math.ceil(truth.length / pageSize);
  // One row is known by another id, so it is gone, and a new one appears.
  await sqlIn(db)`
    update gmsi.headlines set headline_id = gen_random_uuid(), changed_at = now()
    where headline_id = (select headline_id from gmsi.headlines order by 1 limit 1)`;
  const result = await losingOne(warehouse, (db, proxy) =>
    runBackfill({
      job,
      db,
      sandbox,
      plan: { fullRefresh: true, retryRefused: false },
      onStart: () => proxy.loseReplyTo(theCommit, commitOf(pages)),
    }),
  );
  expect(result).toMatchObject({
    outcome: 'done',
    totals: { pages, rows_inserted: 1, rows_changed: 0, rows_retracted: 1 },
  });
  expect(await countRows(db, 'headlines')).toBe(truth.length + 1);
  expect(await heldBy(db, scope)).toEqual(truth);
});

it('a page with corrected times retracts the others once, and counts them', async ({
  warehouse,
  db,
  sandbox,
}) => {
  await runBackfill({ job, db, sandbox });
  const rows = await countRows(db, 'headlines');
  const result = await losingOne(warehouse, (db, proxy) =>
    runBackfill({
      job,
      db,
      sandbox,
      plan: { fullRefresh: true, retryRefused: false },
      onStart: () => proxy.loseReplyTo(theCommit, commitOf(2)),
      async aroundPage(ask) {
        const page = await ask();
        const records = ([...page.records] as { publication_time: string }[]).map((record) => ({
          ...record,
          publication_time: record.publication_time.replace(/T\d\d:/, 'T07:'),
        }));
        return { ...page, records };
      },
    }),
  );
  const moved = (await countRows(db, 'headlines')) - rows;
  expect(moved).toBeGreaterThan(pageSize);
  expect(result).toMatchObject({
    outcome: 'done',
    totals: { rows_inserted: moved, rows_changed: 0, rows_retracted: moved },
  });
  const reasons = await sqlIn(db)`select reason, count(*) from gmsi.headline_revisions group by 1`;
  expect(reasons).toEqual([{ reason: 'moved', count: moved }]);
});

it('a live answer is committed and counted once', async ({ warehouse, db }) => {
  await using sandbox = await aSandbox({ volume: 3, historicalDelayMinutes: 600 });
  const now = { ...scope, from: '2026-11-18', to: '2026-11-20' };
  const result = await losingOne(warehouse, (db, proxy) =>
    runSync({
      job: aJobFor(now, { end_date: 'today' }),
      db,
      sandbox,
      aroundPage(ask, { isLive }) {
        if (isLive) proxy.loseReplyTo(theCommit);
        return ask();
      },
    }),
  );
  expect(result.outcome).toBe('done');
  expect(result.live.records).toBeGreaterThan(0);
  const onlyLive = await sql`select from gmsi.headlines where window_id is null`.execute(db);
  expect(onlyLive.rows.length).toBeGreaterThan(0);
  expect(result.totals.rows_inserted).toBe(await countRows(db, 'headlines'));
  expect(await countRows(db, 'headline_revisions')).toBe(0);
});

it.for([1, 2])('batch %i of an import is committed and counted once', async (nth, { warehouse, db }) => {
  await using folder = await aFolder();
  const path = await folder.write('many.ndjson', manyRecords(2500));
  const result = await losingOne(warehouse, (db, proxy) => {
    proxy.loseReplyTo(theCommit, commitOf(nth));
    return runImport(db, [path], { stated: statedOfMany });
  });
  expect(result).toMatchObject({
    outcome: 'done',
    loaded: 1,
    loads: [{ totals: { records: 2500, rows_inserted: 2500 } }],
  });
  expect(await countRows(db, 'headlines')).toBe(2500);
  const rows = await sqlIn(db)`select records, rows_inserted from gmsi.imported_files`;
  expect(rows).toEqual([{ records: 2500, rows_inserted: 2500 }]);
});

it('a batch of a repair is committed and counted once, and so are rows that it fills', async ({
  warehouse,
  db,
  sandbox,
}) => {
  const truth = servedBy(sandbox, scope);
  const stop = new AbortController().signal;
  const feed = feedNamed('gmsi-headlines');
  const about = { feed, scope: undefined, job: 'test', dryRun: false, stop, batchSize: 40 };
  const repaired = (fields: Record<string, string[]>) =>
    losingOne(warehouse, async (db, proxy) => {
      await using process = await aProcess(db);
      proxy.loseReplyTo(theCommit, commitOf(1));
      return await repair({ ...about, warehouse: db.patient({}), process, fields });
    });
  await using renamed = await aRewritingProxy(
    sandbox,
    renaming({ publication_time: 'pubTime', topic_probability: 'tp' }),
  );
  await runBackfill({ job, db, sandbox: renamed });
  expect(await countRows(db, 'rejected_records')).toBe(truth.length);
  expect(await repaired({ published_at: ['pubTime'] })).toMatchObject({ rows: truth.length });
  expect(await repaired({ topic_probability: ['tp'] })).toMatchObject({ rowsFilled: truth.length });
  const rows = await sqlIn(db)`
    select pages, records, rows_inserted, rows_changed from gmsi.loads where command = 'repair' order by 1, 2`;
  const batches = Math.ceil(truth.length / 40);
  expect(rows).toEqual([
    { pages: batches, records: 0, rows_inserted: 0, rows_changed: truth.length },
    { pages: batches, records: truth.length, rows_inserted: truth.length, rows_changed: 0 },
  ]);
  expect(await heldBy(db, scope)).toEqual(truth);
});
