import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { startSandbox } from '#sandbox';
import { catalog } from '../../src/feeds/catalog.ts';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { docPages, fencesOf, root, sqlMarked } from './pages.ts';

/**
 * Queries of the documentation, run against a part of what `npm start` loads and days of the example jobs, one a feed. A
 * block of SQL without a mark must return rows; `may-be-empty` lets it return none, and so do marks that begin with `find-`.
 * Other marks are for other tests.
 */
const queries = docPages()
  .flatMap(fencesOf)
  .filter(
    ({ language, marks }) =>
      language === 'sql' && marks.every((mark) => /^(may-be-empty|find-.*)$/.test(mark)),
  );

/** The job of each feed but the first, for some days, and where names are lists, for some of these. */
const jobsOfFeeds = [...catalog.keys()]
  .filter((feed) => feed !== 'gmsi-headlines')
  .map((feed) => {
    const file = parse(readFileSync(join(root, `jobs/examples/${feed}.yaml`), 'utf8'));
    const names = file.countries && { countries: ['US', 'NO'], topics: ['Inflation-Food'] };
    const period = { start_date: '2025-12-01', end_date: '2025-12-07' };
    return { countries: undefined, topics: undefined, ...file, ...names, ...period };
  });

const warehouse = await aWarehouseForAll();

beforeAll(async () => {
  // After the last day loaded, so that a fortnight later some of its scores have been revised.
  let now = new Date('2026-01-03T12:00:00Z');
  const clock = () => now;
  const key = 'sandbox-key';
  const changes = { late: 0, revised: 0.2, withdrawn: 0 };
  const world = { seed: 'demo', volume: 0.4, keys: [key], limits: null, clock, changes };
  await using sandbox = await startSandbox(world);
  const topics = ['Inflation-Food', 'Market Stress'];
  const period = { start_date: '2025-10-01', end_date: '2025-12-31' };
  const job = aJob({ countries: ['US', 'NO'], topics, ...period }, '2026-01-03');
  const run = { job, db: warehouse.db, sandbox, apiKey: key, clock };
  await runBackfill(run);
  now = new Date('2026-01-17T12:00:00Z');
  await runBackfill({ ...run, plan: { fullRefresh: true, retryRefused: false } });
  for (const job of jobsOfFeeds) {
    const { outcome } = await runBackfill({ ...run, job: aJob(job, '2026-01-17') });
    expect([job.feed, outcome]).toEqual([job.feed, 'done']);
  }
});

test('the documentation has queries in it', () => {
  expect(queries.map(({ place }) => place.split(':')[0])).toContain('README.md');
});

test('docs/loading.md has a query for every feed', () => {
  const ofFeeds = queries.filter(({ place }) => place.startsWith('docs/loading.md'));
  const asked = ofFeeds.map(({ text }) => text).join();
  expect([...catalog.values()].filter(({ table }) => !asked.includes(`gmsi.${table.name}`))).toEqual([]);
});

const analyses = docPages()
  .filter(({ path }) => path === 'docs/analysis.md')
  .flatMap(fencesOf)
  .filter(({ language, marks }) => language === 'sql' && marks.includes('analysis'));

test('every query answers in a session with the settings that PostgreSQL has by default', async () => {
  const client = new pg.Client({ connectionString: warehouse.url });
  await client.connect();
  // The tests' own server is one of the program's, which has it off. Without a compiler, `on` changes nothing.
  await client.query('set jit = on; set statement_timeout = 10000');
  const failed: [string, string][] = [];
  for (const { place, text } of [...queries, ...analyses])
    await client.query(text).catch(({ message }) => failed.push([place, message]));
  await client.end();
  expect(failed).toEqual([]);
});

test.for(queries)(
  '$place runs as it is printed, for a reader if it creates nothing',
  async ({ text, marks }) => {
    const { rows } = await warehouse.db.transaction().execute(async (trx) => {
      if (!text.startsWith('create')) await sql`set local role gmsi_reader`.execute(trx);
      return sql.raw(text).execute(trx);
    });
    if (marks.length === 0) expect(rows).not.toHaveLength(0);
  },
);

test.for(['find-by-id', 'find-by-words'])('what is marked %s uses the documented index', async (mark) => {
  await warehouse.db.transaction().execute(async (trx) => {
    await sql.raw(`${sqlMarked('find-index')}; set local enable_seqscan = off`).execute(trx);
    const anyTime = sqlMarked(mark).replace(/ +and published_at .*/, '');
    const { rows } = await sql.raw(`explain ${anyTime}`).execute(trx);
    expect(JSON.stringify(rows)).toMatch(/headlines_2025_12_(headline_id|to_tsvector)_idx/);
  });
});
