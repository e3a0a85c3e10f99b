import { afterAll, beforeAll, expect, test } from 'vitest';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aJob, runBackfill, runSync } from '../support/run-backfill.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { busy, change, checkAll, checkedJob, checkOne, loaded, ordinary, whileChanged } from './loaded.ts';

const job = aJob(busy);
const index = aJob({ ...busy, feed: 'gmsi-index', step: 'P90D' });
const stampedAtEnd = { sentiment_type: 'directional', align_to_period_end: true };
const aligned = aJob({ ...busy, feed: 'gmsi-index', step: 'P90D', parameters: stampedAtEnd });

let source: TestWarehouse;
beforeAll(async () => {
  source = await loaded([job, index, aligned]);
});
afterAll(() => source[Symbol.asyncDispose]());

test('what a sandbox serves passes every check', async () => {
  const results = await checkAll(source.db, job);
  const others = results.filter(({ result }) => result !== 'passed');
  expect(others.map(({ check, result, reason }) => [check.name, result, reason])).toEqual([
    ['retraction-bursts', 'skipped', 'job_retracted_headlines holds no row'],
    ['ticker-scores', 'skipped', 'not for gmsi-headlines'],
  ]);
});

test('headlines that come late, change and are withdrawn, loaded and synced day by day, fail no check', async () => {
  let now = new Date('2024-05-03T09:00:00Z');
  const clock = () => now;
  const changes = { late: 0.05, revised: 0.1, withdrawn: 0.15 };
  await using sandbox = await startSandbox({ ...ordinary, clock, changes });
  await using warehouse = await aWarehouse();
  const watched = aJob({ ...busy, start_date: '2024-03-01', end_date: 'today' }, '2024-05-03');
  const setting = { job: watched, db: warehouse.db, sandbox, clock };
  await runBackfill(setting);
  for (let day = 0; day < 4; day++) {
    now = new Date(now.getTime() + 30 * 3_600_000);
    await runSync(setting);
  }
  const results = await checkAll(warehouse.db, watched);
  expect(results.filter(({ result }) => result === 'failed')).toEqual([]);
  expect(results.find(({ check }) => check.name === 'retraction-bursts')).toMatchObject({ result: 'passed' });
});

test('a job of which nothing is loaded passes no check of headlines', async () => {
  const { feed, scope } = await checkedJob(source.db, job);
  const window = { ...scope.window, from: '2020-01-01', to: '2020-01-31' };
  const results = await checkAll(source.db, { feed, scope: { ...scope, window } });
  const of = (name: string) => results.find(({ check }) => check.name === name);
  expect(of('score-sums')).toMatchObject({ result: 'skipped', reason: 'job_headlines holds no row' });
  expect(of('gaps')).toMatchObject({
    result: 'warned',
    rows: [{ first_day: '2020-01-01', last_day: '2020-01-31', series: 1 }],
  });
});

/** Breaks one thing in what is loaded, and what the check for it must then report. */
interface Break {
  readonly check: string;
  readonly what: string;
  readonly by: string;
  readonly result?: 'failed' | 'warned';
  readonly findings: number;
  readonly row: object;
}

const some = '(select headline_id from gmsi.headlines order by published_at limit 1)';
const day = (text: string) => `(published_at at time zone 'UTC')::date = '${text}'`;
const columns = `country, topic, match_type, published_at, headline, language, source, url, topic_probability,
  directional_positive, directional_neutral, directional_negative, directional_score, is_backfilled, load_id, window_id`;

const breaks: Break[] = [
  {
    check: 'score-sums',
    what: 'probabilities that add up to less than 1',
    by: `update gmsi.headlines set directional_positive = 0.1, directional_neutral = 0.2, directional_negative = 0.3
         where headline_id = ${some}`,
    findings: 1,
    row: { country: 'US', model: 'directional', positive: 0.1, neutral: 0.2, negative: 0.3 },
  },
  {
    check: 'score-ranges',
    what: 'a probability in percent, and one that is not a number',
    by: `update gmsi.headlines set topic_probability = 91, semantic_score = 'NaN' where headline_id = ${some}`,
    findings: 2,
    row: { column: 'topic_probability', value: 91 },
  },
  {
    check: 'score-differences',
    what: 'a score that is something else',
    by: `update gmsi.headlines set semantic_score = 0.5, semantic_positive = 0.2, semantic_negative = 0.3
         where headline_id = ${some}`,
    result: 'warned',
    findings: 1,
    row: { model: 'semantic', score: 0.5, difference: expect.closeTo(-0.1, 12) },
  },
  {
    check: 'future-times',
    what: 'a headline that was seen three hours before it was published',
    by: `update gmsi.headlines set first_seen_at = published_at - interval '3 hours' where headline_id = ${some}`,
    findings: 1,
    row: { country: 'US', hours_ahead: 3 },
  },
  {
    check: 'volume',
    what: 'a day with twenty times the headlines',
    by: `insert into gmsi.headlines (headline_id, ${columns})
         select gen_random_uuid(), ${columns} from gmsi.headlines, generate_series(1, 20) where ${day('2024-04-10')}`,
    result: 'warned',
    findings: 1,
    row: { country: 'US', topic: 'Inflation-Food', day: '2024-04-10' },
  },
  {
    check: 'silent-days',
    what: 'a covered day that has lost its headlines',
    by: `delete from gmsi.headlines where ${day('2024-04-10')}`,
    findings: 1,
    row: { country: 'US', topic: 'Inflation-Food', day: '2024-04-10' },
  },
  {
    check: 'duplicate-texts',
    what: 'a week that is there again under other ids',
    by: `insert into gmsi.headlines (headline_id, ${columns})
         select gen_random_uuid(), ${columns} from gmsi.headlines
         where (published_at at time zone 'UTC')::date between '2024-02-01' and '2024-02-07'`,
    findings: 1,
    row: { country: 'US', topic: 'Inflation-Food' },
  },
  {
    check: 'nulls',
    what: 'a column that is empty from April on',
    by: `update gmsi.headlines set source = null where published_at >= '2024-04-01'`,
    findings: 1,
    row: { month: '2024-04-01', column: 'source', share: 1 },
  },
  {
    check: 'nulls',
    what: 'a documented column that was never filled',
    by: 'update gmsi.headlines set topic_probability = null',
    findings: 4,
    row: { month: '2024-04-01', column: 'topic_probability', share: 1 },
  },
  {
    check: 'rollups',
    what: 'an hour that counts one headline too many',
    by: `update gmsi.sentiment_hourly set headline_count = headline_count + 1
         where (sentiment_type, hour) = (select sentiment_type, hour from gmsi.sentiment_hourly limit 1)`,
    findings: 1,
    row: { grain: 'hour', country: 'US' },
  },
  {
    check: 'rollups',
    what: 'a sum that is a little off',
    by: `update gmsi.sentiment_daily set sentiment_sum = sentiment_sum + 0.0001
         where day = '2024-03-05' and sentiment_type = 'directional'`,
    findings: 1,
    row: { grain: 'day', begins: '2024-03-05T00:00:00+00:00', sentiment_type: 'directional' },
  },
  {
    check: 'rollups',
    what: 'days that are missing, and one that is too many',
    by: `update gmsi.sentiment_daily set topic = 'x' || topic where day = '2024-03-05'`,
    findings: 2,
    row: { grain: 'day', kept_count: null },
  },
  {
    check: 'rollups',
    what: 'a headline that was rescored while the triggers were off',
    by: `update gmsi.headlines set semantic_score = 0.123 where headline_id = ${some}`,
    findings: 2,
    row: { grain: 'hour', sentiment_type: 'semantic_sentiment' },
  },
  {
    check: 'index-agreement',
    what: 'an hour that the service sums up otherwise',
    by: `update gmsi.gmsi_index set headline_count = headline_count + 2
         where (sentiment_type, published_at) = (select 'directional', min(published_at) from gmsi.gmsi_index)`,
    result: 'warned',
    findings: 1,
    row: { country: 'US', sentiment_type: 'directional' },
  },
  {
    check: 'stuck-scores',
    what: 'a day on which a model says the same of everything',
    by: `update gmsi.headlines set directional_positive = 0.3, directional_neutral = 0.4, directional_negative = 0.3
         where ${day('2024-04-10')}`,
    result: 'warned',
    findings: 1,
    row: { day: '2024-04-10', model: 'directional', positive: 0.3 },
  },
  {
    check: 'retraction-bursts',
    what: 'a day that was retracted at one moment',
    by: `update gmsi.headlines set retracted_at = '2024-05-01T00:00:00Z', window_id = 7 where ${day('2024-04-10')}`,
    findings: 1,
    row: { window_id: 7, first_day: '2024-04-10', last_day: '2024-04-10', days: 1 },
  },
  {
    check: 'gaps',
    what: 'settled days that are not covered',
    by: `update gmsi.coverage set days = days - datemultirange(daterange('2024-02-01', '2024-02-03'))`,
    result: 'warned',
    findings: 1,
    row: { first_day: '2024-02-01', last_day: '2024-02-02', series: 1, for_instance: 'US Inflation-Food' },
  },
  {
    check: 'coverage-windows',
    what: 'coverage that no window stands for',
    by: `delete from gmsi.windows where first_day = (select min(first_day) from gmsi.windows)`,
    result: 'warned',
    findings: 1,
    row: { country: 'US', first_day: '2024-01-01' },
  },
  {
    check: 'lost-rows',
    what: 'days of which the rows are gone',
    by: `delete from gmsi.headlines where published_at >= '2024-04-10 00:00Z' and published_at < '2024-04-13 00:00Z'`,
    findings: 1,
    row: {
      country: 'US',
      topic: 'Inflation-Food',
      first_day: '2024-04-10',
      last_day: '2024-04-12',
      days: 3,
      held: 0,
    },
  },
  {
    check: 'rejected-records',
    what: 'hundreds of records that could not be read',
    by: `insert into gmsi.rejected_records (feed, country, topic, match_type, record_hash, reason, record, load_id)
         select 'gmsi-headlines', 'US', 'Inflation-Food', 'COMBINED', gen_random_uuid(), 'no readable publication time', '{}', 1
         from generate_series(1, 500)`,
    result: 'warned',
    findings: 1,
    row: { rejected: 500, for_instance: 'no readable publication time' },
  },
];

test.for(breaks)('$check finds $what', async ({ check, by, result = 'failed', findings, row }) => {
  await whileChanged(source, by, async (rows) => {
    expect(rows).toBeGreaterThan(0);
    const found = await checkOne(source, job, check);
    expect(found).toMatchObject({ result, findings });
    expect(found.rows[0]).toMatchObject(row);
  });
});

test('ticker-scores checks the headlines of tickers, and gaps every feed', async () => {
  const period = {
    start_date: '2026-10-01',
    end_date: '2026-10-20',
    countries: undefined,
    topics: undefined,
  };
  const tickers = aJob({ feed: 'ticker-headlines', tickers: ['BTC_CRY'], ...period });
  await using warehouse = await loaded([tickers], {
    ...ordinary,
    clock: () => new Date('2026-11-20T12:00:00Z'),
  });
  expect(await checkOne(warehouse, tickers, 'ticker-scores')).toMatchObject({ result: 'passed' });
  expect(await checkOne(warehouse, tickers, 'gaps')).toMatchObject({ result: 'passed' });
  expect(await checkOne(warehouse, tickers, 'rollups')).toMatchObject({
    result: 'skipped',
    reason: 'not for ticker-headlines',
  });
  await change(
    warehouse,
    `update gmsi.ticker_headlines set bearish_probability = 2
     where headline_id = (select headline_id from gmsi.ticker_headlines limit 1)`,
  );
  const found = await checkOne(warehouse, tickers, 'ticker-scores');
  expect(found).toMatchObject({ result: 'failed', findings: 1 });
});
