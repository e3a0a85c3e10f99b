import { afterAll, beforeAll, describe, expect } from 'vitest';
import { startSandbox } from '#sandbox';
import { catalog } from '../../src/feeds/catalog.ts';
import { aJobOf, feedCases } from '../feeds/cases.ts';
import { aJob, runBackfill, runSync } from '../support/run-backfill.ts';
import { test } from '../support/serving.ts';
import { aCloneOf, type TestWarehouse } from '../support/test-warehouse.ts';
import { aWindowIn, uncoverIn } from '../support/warehouse-state.ts';
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
  for (const name of ['retraction-bursts', 'ledger-cache', 'provenance'])
    expect(results.find(({ check }) => check.name === name)).toMatchObject({ result: 'passed' });
});

test.for([
  ['no record any more', () => []],
  [
    'all records under other ids',
    (records: Iterable<unknown>) =>
      [...records].map((record) => ({ ...(record as object), id: `new ${(record as { id: string }).id}` })),
  ],
] as const)(
  'days of which the service sent %s are found, unless the load accepted it',
  async ([_, records], { warehouse, db }) => {
    await using sandbox = await startSandbox(ordinary);
    const short = aJob({ ...busy, end_date: '2024-01-03', service: { page_size: 50 } });
    const run = { job: short, db, sandbox };
    await runBackfill(run);
    const { totals } = await runBackfill({
      ...run,
      acceptRetractions: true,
      plan: { fullRefresh: true, retryRefused: false },
      async aroundPage(ask) {
        const page = await ask();
        return { ...page, records: records(page.records) };
      },
    });
    expect(totals.pages).toBeGreaterThan(2);
    expect(await checkOne(warehouse, short, 'retraction-bursts')).toMatchObject({ result: 'passed' });
    await change(warehouse, 'update gmsi.readings set is_accepted = false');
    const found = await checkOne(warehouse, short, 'retraction-bursts');
    expect(found).toMatchObject({ result: 'failed', findings: 1 });
    const all = totals.rows_retracted;
    expect(found.rows).toMatchObject([{ days: 3, retracted: all, of_rows: all }]);
  },
);

test('a job of which nothing is loaded passes no check of headlines', async () => {
  const { scope, ...checked } = await checkedJob(source.db, job);
  const window = { ...scope.window, from: '2020-01-01', to: '2020-01-31' };
  const asked = { ...scope, window, firstRequested: window.from };
  const results = await checkAll(source.db, { ...checked, scope: asked });
  const of = (name: string) => results.find(({ check }) => check.name === name);
  expect(of('score-sums')).toMatchObject({ result: 'skipped', reason: 'no probabilities in this job' });
  expect(of('gaps')).toMatchObject({
    result: 'warned',
    rows: [{ first_day: '2020-01-01', last_day: '2020-01-31', series: 1 }],
  });
});

type Break = [by: string, reported: { result?: 'failed' | 'warned'; findings?: number; row: object }];

const some = '(select headline_id from gmsi.headlines order by published_at limit 1)';
const day = (text: string) => `(published_at at time zone 'UTC')::date = '${text}'`;
const entry = `(select entry_id from gmsi.gmsi_index order by published_at limit 1)
  and variant = 'sentiment_type=directional'`;
/** The hours that an index without gaps would have besides those of headlines. */
const emptyHours = `insert into gmsi.gmsi_index (country, topic, match_type, variant, topic_name,
    entry_id, published_at, headline_count, sentiment_sum, sentiment_abs_sum, sentiment_std, is_backfilled, load_id)
  select 'US', 'Inflation-Food', 'COMBINED', 'sentiment_type=directional', (select max(topic_name) from gmsi.gmsi_index),
         gen_random_uuid(), hour, 0, 0, 0, 0, true, 1
  from generate_series(timestamptz '2024-01-01 00:00Z', '2024-04-30 23:00Z', interval '1 hour') as hour
  where not exists (select from gmsi.gmsi_index where published_at = hour and variant = 'sentiment_type=directional')`;
const columns = `country, topic, match_type, published_at, headline, language, source, url, topic_probability,
  directional_positive, directional_neutral, directional_negative, directional_score, is_backfilled, load_id, window_id`;

/** Each breaks one thing in what is loaded, and says what the check of its name reports: one failed finding, or what it says. */
const ofHeadlines: Record<string, Break> = {
  'score-ranges finds a probability in percent, and one that is not a number': [
    `update gmsi.headlines set topic_probability = 91, semantic_score = 'NaN' where headline_id = ${some}`,
    { findings: 2, row: { column: 'topic_probability', value: 91 } },
  ],
  'score-differences finds a score that is something else': [
    `update gmsi.headlines set semantic_score = 0.5, semantic_positive = 0.2, semantic_negative = 0.3
         where headline_id = ${some}`,
    { result: 'warned', row: { model: 'semantic', score: 0.5, difference: expect.closeTo(-0.1, 12) } },
  ],
  'future-times finds a headline that was seen three hours before it was published': [
    `update gmsi.headlines set first_seen_at = published_at - interval '3 hours' where headline_id = ${some}`,
    { row: { country: 'US', hours_ahead: 3 } },
  ],
  'volume finds a day with twenty times the headlines': [
    `insert into gmsi.headlines (headline_id, ${columns})
         select gen_random_uuid(), ${columns} from gmsi.headlines, generate_series(1, 20) where ${day('2024-04-10')}`,
    { result: 'warned', row: { country: 'US', topic: 'Inflation-Food', day: '2024-04-10' } },
  ],
  'arrival finds a day whose headlines came hours later than those of the days before': [
    `update gmsi.headlines set is_backfilled = false, source = 'Reuters', first_seen_at = published_at
         + case when ${day('2024-04-10')} then interval '3 hours' else interval '40 minutes' end`,
    {
      result: 'warned',
      row: { source: 'Reuters', day: '2024-04-10', p50: '03:00:00', p99: '03:00:00', usual_p50: '00:40:00' },
    },
  ],
  'silent-days finds a covered day that has lost its headlines': [
    `delete from gmsi.headlines where ${day('2024-04-10')}`,
    { row: { country: 'US', topic: 'Inflation-Food', day: '2024-04-10' } },
  ],
  'duplicates finds a week that is there again under other ids': [
    `insert into gmsi.headlines (headline_id, ${columns})
         select gen_random_uuid(), ${columns} from gmsi.headlines
         where (published_at at time zone 'UTC')::date between '2024-02-01' and '2024-02-07'`,
    { row: { country: 'US', topic: 'Inflation-Food' } },
  ],
  'duplicates finds a week that is there again under other ids, scored by another version of the model': [
    `insert into gmsi.headlines (headline_id, model_version, ${columns})
         select gen_random_uuid(), 'another', ${columns} from gmsi.headlines
         where (published_at at time zone 'UTC')::date between '2024-02-01' and '2024-02-07'`,
    { row: { country: 'US', topic: 'Inflation-Food' } },
  ],
  'nulls finds a column that is empty from April on': [
    `update gmsi.headlines set source = null where published_at >= '2024-04-01'`,
    { row: { month: '2024-04-01', column: 'source', share: 1 } },
  ],
  'nulls finds a documented column that was never filled': [
    'update gmsi.headlines set topic_probability = null',
    { findings: 4, row: { month: '2024-04-01', column: 'topic_probability', share: 1 } },
  ],
  'rollups finds an hour that counts one headline too many': [
    `update gmsi.hourly_sums set headline_count = headline_count + 1
         where (sentiment_type, hour) = (select sentiment_type, hour from gmsi.hourly_sums limit 1)`,
    { row: { grain: 'hour', country: 'US' } },
  ],
  'rollups finds days that are missing, and one that is too many': [
    `update gmsi.daily_sums set topic = 'x' || topic where day = '2024-03-05'`,
    { findings: 2, row: { grain: 'day', kept_count: null } },
  ],
  'rollups finds a headline that was rescored while the triggers were off': [
    `update gmsi.headlines set semantic_score = 0.123 where headline_id = ${some}`,
    { findings: 2, row: { grain: 'hour', sentiment_type: 'semantic_sentiment' } },
  ],
  'index-agreement finds an hour that the service sums up otherwise': [
    `update gmsi.gmsi_index set headline_count = headline_count + 2
         where (sentiment_type, published_at) = (select 'directional', min(published_at) from gmsi.gmsi_index)`,
    { result: 'warned', row: { country: 'US', sentiment_type: 'directional' } },
  ],
  'stuck-scores finds a day on which a model says the same of everything': [
    `update gmsi.headlines set directional_positive = 0.3, directional_neutral = 0.4, directional_negative = 0.3
         where ${day('2024-04-10')}`,
    { result: 'warned', row: { day: '2024-04-10', model: 'directional', positive: 0.3 } },
  ],
  'retraction-bursts finds a day that was retracted at one moment': [
    `update gmsi.headlines set retracted_at = now(), load_id = 0, window_id = 7 where ${day('2024-04-10')}`,
    { row: { window_id: 7, first_day: '2024-04-10', last_day: '2024-04-10', days: 1 } },
  ],
  'provenance finds rows that somebody has marked as seen when they came': [
    `update gmsi.headlines set is_backfilled = false where ${day('2024-04-10')}`,
    { row: { country: 'US', day: '2024-04-10', is_backfilled: false } },
  ],
  'rejected-records finds hundreds of records that could not be read': [
    `insert into gmsi.rejected_records (feed, country, topic, match_type, record_hash, reason, record, load_id)
         select 'gmsi-headlines', 'US', 'Inflation-Food', 'COMBINED', gen_random_uuid(), 'no readable publication time', '{}', 1
         from generate_series(1, 500)`,
    { result: 'warned', row: { rejected: 500, for_instance: 'no readable publication time' } },
  ],
};
const ofIndex: Record<string, Break> = {
  'duplicates finds hours of an index that are there again under other ids': [
    `insert into gmsi.gmsi_index (country, topic, match_type, variant, entry_id,
           published_at, topic_name, headline_count, is_backfilled, load_id)
         select country, topic, match_type, variant, gen_random_uuid(), published_at,
           topic_name, headline_count, is_backfilled, load_id
         from gmsi.gmsi_index
         where published_at < '2024-01-08 00:00Z' and variant = 'sentiment_type=directional'`,
    { row: { country: 'US', variant: 'sentiment_type=directional' } },
  ],
  'index-agreement finds an hour that the service sums up otherwise, asked for the index': [
    `update gmsi.gmsi_index set headline_count = headline_count + 2 where entry_id = ${entry}`,
    { result: 'warned', row: { country: 'US', topic: 'Inflation-Food' } },
  ],
  'nulls finds a single count that could not be read': [
    `update gmsi.gmsi_index set headline_count = null, extra = '{"headline_count": "1,234"}' where entry_id = ${entry}`,
    { findings: 1, row: { column: 'headline_count', unread: 1, nulls: 1 } },
  ],
  'nulls finds a single count that is NaN, but not a deviation, which one score does not have': [
    `update gmsi.gmsi_index set headline_count = null, sentiment_std = null,
       extra = '{"headline_count": "NaN", "sentiment_std": "NaN"}' where entry_id = ${entry}`,
    { findings: 1, row: { column: 'headline_count', unread: 1, nulls: 1 } },
  ],
  'nulls finds a column of an index that is empty from April on': [
    `update gmsi.gmsi_index set sentiment_std = null where published_at >= '2024-04-01'`,
    { row: { month: '2024-04-01', column: 'sentiment_std', share: 1 } },
  ],
  'volume finds a day of an index that has minutes instead of hours': [
    emptyHours.replace(
      "timestamptz '2024-01-01 00:00Z', '2024-04-30 23:00Z', interval '1 hour'",
      "timestamptz '2024-04-10 00:00Z', '2024-04-10 23:59Z', interval '1 minute'",
    ),
    { result: 'warned', row: { day: '2024-04-10', variant: 'sentiment_type=directional' } },
  ],
  'missing-hours finds hours that are gone from an index that has all others': [
    `${emptyHours} and (hour at time zone 'UTC')::date <> '2024-04-10'`,
    { result: 'warned', row: { day: '2024-04-10', variant: 'sentiment_type=directional' } },
  ],
  'retraction-bursts finds a day of an index that was retracted at one moment': [
    `update gmsi.gmsi_index set retracted_at = now(), load_id = 0, window_id = 7
         where ${day('2024-04-10')} and sentiment_type = 'directional'`,
    { row: { window_id: 7, first_day: '2024-04-10', variant: 'sentiment_type=directional' } },
  ],
};
const ofSums: Record<string, string> = {
  'nothing is counted, but summed up': 'headline_count = 0, sentiment_sum = 0, sentiment_abs_sum = 0.004',
  'the sum is larger than the sum of sizes': 'sentiment_sum = -1.1 * sentiment_abs_sum - 0.1',
  'the sum is larger than so many scores can be':
    'sentiment_abs_sum = headline_count * 1.1, sentiment_std = 1.2',
  'the deviation is larger than such scores can have': 'sentiment_std = 1.5',
  'the deviation is smaller than the sums say':
    'headline_count = 10, sentiment_sum = 0, sentiment_abs_sum = 5, sentiment_std = 0.1',
};
for (const [problem, set] of Object.entries(ofSums))
  ofIndex[`index-sums finds an hour in which ${problem}`] = [
    `update gmsi.gmsi_index set ${set} where entry_id = ${entry}`,
    { row: { country: 'US', problem } },
  ];
const breaks = [
  ...Object.entries(ofHeadlines).map((one) => [...one, job] as const),
  ...Object.entries(ofIndex).map((one) => [...one, index] as const),
];

test.for(breaks)('%s', async ([name, [by, { row, ...report }], of]) => {
  await whileChanged(source, by, async (rows) => {
    expect(rows).toBeGreaterThan(0);
    const found = await checkOne(source, of, name.split(' ')[0]!);
    expect(found).toMatchObject({ result: 'failed', findings: 1, ...report });
    expect(found.rows[0]).toMatchObject(row);
  });
});

// The last test of this warehouse, because cloning closes its connections.
test('what is wrong with windows and covered days is found', async () => {
  await using warehouse = await aCloneOf(source);
  const { db } = warehouse;
  const found = async (check: string) => {
    const { result, findings, rows } = await checkOne(warehouse, job, check);
    return { result, findings, row: rows[0] };
  };
  await uncoverIn(db, '{[2024-02-01,2024-02-03)}');
  const missing = {
    first_day: '2024-02-01',
    last_day: '2024-02-02',
    series: 1,
    for_instance: 'US Inflation-Food',
  };
  expect(await found('gaps')).toMatchObject({ result: 'warned', findings: 1, row: missing });
  const differs = expect.stringMatching(
    /covered is \{\[2024-01-01,2024-02-01\),\[2024-02-03,2024-05-01\)\} instead of \{\[2024-01-01,2024-05-01\)\}$/,
  );
  expect(await found('ledger-cache')).toMatchObject({
    result: 'failed',
    findings: 1,
    row: { country: 'US', differences: differs },
  });
  await aWindowIn(db, '2024-02-01', '2024-02-29', { records_outside: 3 });
  const outside = { country: 'US', records_outside: 3 };
  expect(await found('outside-windows')).toMatchObject({ result: 'failed', findings: 1, row: outside });
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
  test.for(wrong)('$check of $name finds a wrong row', async ({ job, table, key, check, set, findings }) => {
    const first = `(select tableoid, ctid from ${table} order by ${key} limit 1)`;
    await whileChanged(all, `update ${table} set ${set} where (tableoid, ctid) = ${first}`, async (rows) => {
      expect(rows).toBe(1);
      expect(await checkOne(all, job, check)).toMatchObject({
        result: /differ/.test(check) ? 'warned' : 'failed',
        findings,
      });
    });
  });
});
