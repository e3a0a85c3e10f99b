import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { Job } from '../../src/config/job.ts';
import { catalog } from '../../src/feeds/catalog.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import { aJobOf, feedCases } from '../feeds/cases.ts';
import { aJob, runBackfill, runSync } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import { aWarehouse, type TestWarehouse } from '../support/test-warehouse.ts';
import { busy, checkAll, checkedJob, checkOne, loaded, ordinary, whileChanged } from './loaded.ts';

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
    ['index-sums', 'skipped', 'no index values in this job'],
    ['missing-hours', 'skipped', 'no index values in this job'],
  ]);
});

test('late, changed and withdrawn headlines, synced day by day, fail no check', async ({ db }) => {
  let now = new Date('2024-05-03T09:00:00Z');
  const clock = () => now;
  const changes = { late: 0.05, revised: 0.1, withdrawn: 0.15 };
  await using sandbox = await startSandbox({ ...ordinary, clock, changes });
  const watched = aJob({ ...busy, start_date: '2024-04-01', end_date: 'today' }, '2024-05-03');
  const setting = { job: watched, db, sandbox, clock };
  await runBackfill(setting);
  for (let day = 0; day < 4; day++) {
    now = new Date(now.getTime() + 30 * 3_600_000);
    await runSync(setting);
  }
  const results = await checkAll(db, watched);
  expect(results.filter(({ result }) => result === 'failed')).toEqual([]);
  expect(results.find(({ check }) => check.name === 'retraction-bursts')).toMatchObject({ result: 'passed' });
});

test.for([
  ['no record any more', () => []],
  [
    'all records under other ids',
    (records: Iterable<unknown>) =>
      [...records].map((record) => ({ ...(record as object), id: `new ${(record as { id: string }).id}` })),
  ],
] as const)(
  'days are found for which the service sent %s, once that is accepted',
  async ([_, records], { warehouse, db }) => {
    await using sandbox = await startSandbox(ordinary);
    const short = aJob({ ...busy, end_date: '2024-01-03', service: { page_size: 50 } });
    const run = { job: short, db, sandbox };
    await runBackfill(run);
    const { totals } = await runBackfill({
      ...run,
      ...{ acceptRetractions: true, plan: { fullRefresh: true, retryRefused: false } },
      async aroundPage(ask) {
        const page = await ask();
        return { ...page, records: records(page.records) };
      },
    });
    expect(totals.pages).toBeGreaterThan(2);
    const found = await checkOne(warehouse, short, 'retraction-bursts');
    expect(found).toMatchObject({ result: 'failed', findings: 1 });
    const all = totals.rows_retracted;
    expect(found.rows).toMatchObject([{ days: 3, retracted: all, of_rows: all }]);
  },
);

test('a job of which nothing is loaded passes no check of headlines', async () => {
  const { feed, scope } = await checkedJob(source.db, job);
  const window = { ...scope.window, from: '2020-01-01', to: '2020-01-31' };
  const results = await checkAll(source.db, { feed, scope: { ...scope, window } });
  const of = (name: string) => results.find(({ check }) => check.name === name);
  expect(of('score-sums')).toMatchObject({ result: 'skipped', reason: 'no probabilities in this job' });
  expect(of('gaps')).toMatchObject({
    result: 'warned',
    rows: [{ first_day: '2020-01-01', last_day: '2020-01-31', series: 1 }],
  });
});

/** Breaks one thing in what is loaded, and what the check for it must then report. */
interface Break {
  readonly check: string;
  /** That of headlines if left out. */
  readonly of?: Job;
  readonly what: string;
  readonly by: string;
  readonly result?: 'failed' | 'warned';
  readonly findings: number;
  readonly row: object;
}

const some = '(select headline_id from gmsi.headlines order by published_at limit 1)';
const day = (text: string) => `(published_at at time zone 'UTC')::date = '${text}'`;
const entry = `(select entry_id from gmsi.gmsi_index order by published_at limit 1)
  and sentiment_type = 'directional' and align_to_period_end = ''`;
/** The hours that an index without gaps would have besides those of headlines. */
const emptyHours = `insert into gmsi.gmsi_index (country, topic, match_type, sentiment_type, sparse, align_to_period_end, topic_name,
    entry_id, published_at, headline_count, sentiment_sum, sentiment_abs_sum, sentiment_std, is_backfilled, load_id)
  select 'US', 'Inflation-Food', 'COMBINED', 'directional', '', '', (select max(topic_name) from gmsi.gmsi_index),
         gen_random_uuid(), hour, 0, 0, 0, 0, true, 1
  from generate_series(timestamptz '2024-01-01 00:00Z', '2024-04-30 23:00Z', interval '1 hour') as hour
  where not exists (select from gmsi.gmsi_index where published_at = hour and sentiment_type = 'directional' and align_to_period_end = '')`;
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
    check: 'duplicates',
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
    by: `update gmsi.hourly_sums set headline_count = headline_count + 1
         where (sentiment_type, hour) = (select sentiment_type, hour from gmsi.hourly_sums limit 1)`,
    findings: 1,
    row: { grain: 'hour', country: 'US' },
  },
  {
    check: 'rollups',
    what: 'a day that counts one headline without a score too many',
    by: `update gmsi.daily_sums set all_count = all_count + 1
         where day = '2024-03-05' and sentiment_type = 'directional'`,
    findings: 1,
    row: { grain: 'day', sentiment_type: 'directional' },
  },
  {
    check: 'rollups',
    what: 'a sum that is a little off',
    by: `update gmsi.daily_sums set sentiment_sum = sentiment_sum + 0.0001
         where day = '2024-03-05' and sentiment_type = 'directional'`,
    findings: 1,
    row: { grain: 'day', begins: '2024-03-05T00:00:00+00:00', sentiment_type: 'directional' },
  },
  {
    check: 'rollups',
    what: 'days that are missing, and one that is too many',
    by: `update gmsi.daily_sums set topic = 'x' || topic where day = '2024-03-05'`,
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
    by: `update gmsi.headlines set retracted_at = now(), load_id = 0, window_id = 7 where ${day('2024-04-10')}`,
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
    check: 'rejected-records',
    what: 'hundreds of records that could not be read',
    by: `insert into gmsi.rejected_records (feed, country, topic, match_type, record_hash, reason, record, load_id)
         select 'gmsi-headlines', 'US', 'Inflation-Food', 'COMBINED', gen_random_uuid(), 'no readable publication time', '{}', 1
         from generate_series(1, 500)`,
    result: 'warned',
    findings: 1,
    row: { rejected: 500, for_instance: 'no readable publication time' },
  },
  {
    check: 'outside-windows',
    what: 'a window that brought records of other days',
    by: `update gmsi.windows set records_outside = 3
         where window_id = (select max(window_id) from gmsi.windows where feed = 'gmsi-headlines')`,
    findings: 1,
    row: { country: 'US', records_outside: 3 },
  },
  {
    check: 'duplicates',
    of: index,
    what: 'hours of an index that are there again under other ids',
    by: `insert into gmsi.gmsi_index (country, topic, match_type, sentiment_type, sparse, align_to_period_end, entry_id,
           published_at, topic_name, headline_count, is_backfilled, load_id)
         select country, topic, match_type, sentiment_type, sparse, align_to_period_end, gen_random_uuid(), published_at,
           topic_name, headline_count, is_backfilled, load_id
         from gmsi.gmsi_index
         where published_at < '2024-01-08 00:00Z' and sentiment_type = 'directional' and align_to_period_end = ''`,
    findings: 1,
    row: { country: 'US', variant: 'sentiment_type=directional' },
  },
  {
    check: 'future-times',
    of: index,
    what: 'an hour of an index that was seen before it began',
    by: `update gmsi.gmsi_index set first_seen_at = published_at - interval '3 hours' where entry_id = ${entry}`,
    findings: 1,
    row: { country: 'US', hours_ahead: 3 },
  },
  {
    check: 'index-agreement',
    of: index,
    what: 'an hour that the service sums up otherwise, asked for the index',
    by: `update gmsi.gmsi_index set headline_count = headline_count + 2 where entry_id = ${entry}`,
    result: 'warned',
    findings: 1,
    row: { country: 'US', topic: 'Inflation-Food' },
  },
  {
    check: 'nulls',
    of: index,
    what: 'a column of an index that is empty from April on',
    by: `update gmsi.gmsi_index set sentiment_std = null where published_at >= '2024-04-01'`,
    findings: 1,
    row: { month: '2024-04-01', column: 'sentiment_std', share: 1 },
  },
  {
    check: 'score-ranges',
    of: index,
    what: 'a negative count, and a deviation that is not a number',
    by: `update gmsi.gmsi_index set headline_count = -1, sentiment_std = 'NaN' where entry_id = ${entry}`,
    findings: 2,
    row: { column: 'headline_count', value: -1 },
  },
  {
    check: 'volume',
    of: index,
    what: 'a day of an index that has minutes instead of hours',
    by: emptyHours.replace(
      "timestamptz '2024-01-01 00:00Z', '2024-04-30 23:00Z', interval '1 hour'",
      "timestamptz '2024-04-10 00:00Z', '2024-04-10 23:59Z', interval '1 minute'",
    ),
    result: 'warned',
    findings: 1,
    row: { day: '2024-04-10', variant: 'sentiment_type=directional' },
  },
  {
    check: 'missing-hours',
    of: index,
    what: 'hours that are gone from an index that has all others',
    by: `${emptyHours} and (hour at time zone 'UTC')::date <> '2024-04-10'`,
    result: 'warned',
    findings: 1,
    row: {
      day: '2024-04-10',
      variant: 'sentiment_type=directional',
      text: expect.any(String),
      hours: expect.any(Number),
    },
  },
  {
    check: 'retraction-bursts',
    of: index,
    what: 'a day of an index that was retracted at one moment',
    by: `update gmsi.gmsi_index set retracted_at = now(), load_id = 0, window_id = 7
         where ${day('2024-04-10')} and sentiment_type = 'directional'`,
    findings: 1,
    row: { window_id: 7, first_day: '2024-04-10', variant: 'sentiment_type=directional' },
  },
  {
    check: 'lost-rows',
    of: index,
    what: 'an hour of an index that is gone',
    by: `delete from gmsi.gmsi_index where entry_id = ${entry}`,
    findings: 1,
    row: { first_day: '2024-01-01', days: 1 },
  },
  ...(
    [
      [
        'nothing is counted, but summed up',
        'headline_count = 0, sentiment_sum = 0, sentiment_abs_sum = 0.004',
      ],
      ['the sum is larger than the sum of sizes', 'sentiment_sum = -1.1 * sentiment_abs_sum - 0.1'],
      [
        'the sum is larger than so many scores can be',
        'sentiment_abs_sum = headline_count * 1.1, sentiment_std = 1.2',
      ],
      ['the deviation is larger than such scores can have', 'sentiment_std = 1.5'],
      [
        'the deviation is smaller than the sums say',
        'headline_count = 10, sentiment_sum = 0, sentiment_abs_sum = 5, sentiment_std = 0.1',
      ],
    ] as const
  ).map(([problem, set]) => ({
    check: 'index-sums',
    of: index,
    what: `an hour in which ${problem}`,
    by: `update gmsi.gmsi_index set ${set} where entry_id = ${entry}`,
    findings: 1,
    row: { country: 'US', problem },
  })),
];

test.for(breaks)('$check finds $what', async ({ check, of = job, by, result = 'failed', findings, row }) => {
  await whileChanged(source, by, async (rows) => {
    expect(rows).toBeGreaterThan(0);
    const found = await checkOne(source, of, check);
    expect(found).toMatchObject({ result, findings });
    expect(found.rows[0]).toMatchObject(row);
  });
});

describe('every feed', () => {
  const days = { start_date: '2026-10-01', end_date: '2026-10-08' };
  const feeds = [...catalog.values()].map(({ name, table }) => ({
    ...feedCases[name],
    name,
    table: `gmsi.${table.name}`,
    key: table.key.join(),
    job: aJobOf(name, days),
  }));
  let all: TestWarehouse;
  beforeAll(async () => {
    const clock = () => new Date('2026-11-20T12:00:00Z');
    all = await loaded(
      feeds.map(({ job }) => job),
      { ...ordinary, clock },
    );
  });
  afterAll(() => all[Symbol.asyncDispose]());

  test.for(feeds)('$name passes all checks, except those that cannot apply', async ({ job, unchecked }) => {
    const results = await checkAll(all.db, job);
    const named = (wanted: string) =>
      results.filter(({ result }) => result === wanted).map(({ check }) => check.name);
    expect(named('skipped')).toEqual(unchecked.toSorted());
    expect([...named('failed'), ...named('warned')]).toEqual([]);
  });

  const wrong = feeds.flatMap(({ wrong, ...one }) =>
    wrong.map(([check, set, findings]) => ({ ...one, check, set, findings })),
  );
  test.for(wrong)(
    '$check of $name finds a row that is made wrong',
    async ({ job, table, key, check, set, findings }) => {
      const first = `(select tableoid, ctid from ${table} order by ${key} limit 1)`;
      await whileChanged(
        all,
        `update ${table} set ${set} where (tableoid, ctid) = ${first}`,
        async (rows) => {
          expect(rows).toBe(1);
          expect(await checkOne(all, job, check)).toMatchObject({
            result: /differ/.test(check) ? 'warned' : 'failed',
            findings,
          });
        },
      );
    },
  );
});

describe('if nothing is loaded', () => {
  let empty: TestWarehouse;
  beforeAll(async () => {
    empty = await aWarehouse();
  });
  afterAll(() => empty[Symbol.asyncDispose]());

  test.for([...catalog.values()])('every check runs on a job of $name', async (feed) => {
    const variants = Object.entries(feed.variants).map(([name, [value]]) => `${name}=${value}`);
    const { from, to } = { from: '2024-01-01', to: '2024-01-31' };
    const lists = { countries: [''], topics: [''], tickers: [''], variants: [variants.join('&')] };
    const window = { feed: feed.name, matchType: feed.matchTypes[0] ?? '', ...lists, from, to };
    const scope = { window, table: feed.table, firstUnsettled: to };
    const results = await checkAll(empty.db, { feed, scope });
    expect(results.filter(({ result }) => result === 'failed')).toEqual([]);
  });
});
