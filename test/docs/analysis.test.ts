import pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { startSandbox } from '#sandbox';
import { aWarehouseForAll } from '../support/for-all.ts';
import { aJob, runBackfill } from '../support/run-backfill.ts';
import { answered, backTest, demo, later, analysisPage as page } from './analysis-page.ts';
import { asPsqlPrints } from './psql-table.ts';
import { asReader, isThere } from './run-program.ts';

const countries = ['US', 'GB', 'DE', 'NO', 'JP', 'BR'];
const topics = ['Inflation-Food', 'Labour Market-Employment', 'Policy Tools-Interest Rates', 'Market Stress'];
const food = { countries: ['US'], topics: ['Inflation-Food'] };
const december = { start_date: '2025-12-01', end_date: '2025-12-31' };

const warehouse = await aWarehouseForAll();
const outputOf = asReader(warehouse);

/** Loads what the page says under "Where these results come from". */
beforeAll(async () => {
  const { db } = warehouse;
  await using sandbox = await startSandbox({ ...demo, clock: later });
  for (const job of [
    aJob({ countries, topics, start_date: '2025-09-01', end_date: '2025-12-31' }),
    aJob({ ...food, ...december, feed: 'gmsi-index' }),
  ])
    expect(await runBackfill({ job, db, sandbox, clock: later })).toMatchObject({ outcome: 'done' });

  let now = new Date('2026-01-03T12:00:00Z');
  const clock = () => now;
  await using changing = await startSandbox({ ...demo, clock, changes: { revised: 0.4, withdrawn: 0.05 } });
  const series = { countries: ['BR', 'GB'], topics: ['Market Stress'], match_type: 'INTERNATIONAL' };
  const run = { job: aJob({ ...series, ...december }, '2026-01-03'), db, sandbox: changing, clock };
  await runBackfill(run);
  now = new Date('2026-01-17T12:00:00Z');
  await runBackfill({ ...run, plan: { fullRefresh: true, retryRefused: false } });
});

test('every query of the page has a result below it', () => {
  const queries = [...page.matchAll(/^```sql analysis/gm)];
  expect(queries.length).toBeGreaterThan(5);
  expect([...page.matchAll(answered)]).toHaveLength(queries.length);
});

test('the results printed are what an analyst gets, wherever the session is', async () => {
  const client = new pg.Client({ connectionString: warehouse.url });
  await client.connect();
  try {
    // As one who may read what analysts use and no more, far from UTC.
    await client.query(`set role gmsi_reader`);
    await client.query(`set time zone 'Asia/Tokyo'`);
    let written = page;
    for (const { 0: block, groups } of page.matchAll(answered)) {
      const { untilResult, asked } = groups as Record<string, string>;
      const result = await asPsqlPrints(client, asked!);
      expect(result.split('\n').length, `rows of\n${asked}`).toBeGreaterThan(2);
      written = written.replace(block, () => `${untilResult}${result}\n\`\`\``);
    }
    await expect(written).toMatchFileSnapshot('../../docs/analysis.md');
  } finally {
    await client.end();
  }
});

test.skipIf(!isThere('pandas'))('examples/backtest.py prints what stands beside it', async () => {
  const printed = (await outputOf('pandas', backTest)).replaceAll(/ +$/gm, '');
  await expect(printed).toMatchFileSnapshot('../../examples/backtest.txt');
});
