import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import { cases } from '../support/cases.ts';
import { aJob, jobFromText, jobText, refusalOf } from './job-text.ts';

const refusal = (keys: Readonly<Record<string, string>>) =>
  refusalOf(() => aJob(keys)).map((line) => line.replace(/ {2,}/g, ' '));

describe('what a job file says', () => {
  test('what is written becomes values in days, milliseconds and names of this program', () => {
    const job = aJob({
      step: 'P2W',
      cadence: '{ longest: P2D }',
      fields: '{ published_at: time, headline: [title, text.en] }',
      alerts: '{ webhook_url: "https://hooks.test/T0/token", max_lag: P8D }',
      service:
        '{ rate: unlimited, connect_timeout: 2.5, headers_timeout: PT1M, body_timeout: PT0.5S, parameters: { next_token: c } }',
    });
    expect(job).toMatchObject({
      matchType: 'COMBINED',
      endDate: 'today',
      stepDays: 14,
      lookbackDays: 3,
      cadence: { longest: 2 },
      alerts: { maxLag: 8 },
      fields: { published_at: ['time'], headline: ['title', 'text.en'] },
      service: {
        rate: Number.POSITIVE_INFINITY,
        pageSize: 1000,
        parameters: { nextToken: 'c' },
        connectTimeout: 2500,
        headersTimeout: 60_000,
        bodyTimeout: 500,
      },
    });
    expect(job.startDate.toString()).toBe('2016-01-01');
    expect(job.alerts.webhookUrl!.reveal()).toBe('https://hooks.test/T0/token');
    // What is stored for others holds no secret.
    expect(job.definition.alerts).toEqual({ max_lag: 'P8D' });
  });

  test.each(['', '%YAML 1.1\n---\n', '%YAML 1.2\n---\n'])('NO is Norway, a date a date under %j', (head) => {
    const job = jobFromText(`${head}${jobText({ countries: '[NO, no, "NO"]', end_date: '2016-01-02' })}`);
    expect(job.selections.country).toEqual(['NO', 'no', 'NO']);
    expect(job.endDate.toString()).toBe('2016-01-02');
  });

  test('a job of one day is a job', () => {
    expect(aJob({ start_date: '2024-02-29', end_date: '2024-02-29' }).endDate.toString()).toBe('2024-02-29');
  });

  test('a match type that the service turns out to have can be allowed', () => {
    expect(aJob({ match_type: 'FOREIGN', service: '{ match_types: [FOREIGN] }' }).matchType).toBe('FOREIGN');
  });

  test('a field can be pointed at after reading', () => {
    const job = aJob({ countries: '\n  - US\n  - XX' });
    expect(job.locate(['countries', 1])).toEqual({ line: 3, column: 5 });
    expect(job.locate(['end_date'])).toEqual({ line: 1, column: 1 });
  });
});

describe('what is refused', () => {
  test.each(cases`
    countrys: [US] | 4:1 countrys unknown; did you mean "countries"?
    budget: { request_per_month: 1 } | 4:11 budget.request_per_month unknown; did you mean "requests_per_month"?
    budget: { zzz: 1 } | 4:11 budget.zzz unknown, expected one of requests_per_month, reserve, refresh_percent
    service: { parameters: { topik: t } } | 4:26 service.parameters.topik unknown; did you mean "topic"?
    countries: NO | 1:12 countries found "NO", expected all, or a list such as [US, GB, NO]
    countries: al | 1:12 countries found "al"; did you mean "all"? Expected all, or a list such as [US, GB, NO]
    countries: [] | 1:12 countries found an empty list, expected all, or at least one country
    countries: [US, 12] | 1:17 countries[1] found 12, expected a country, as text
    topics: [all] | 2:10 topics[0] found "all", expected a topic; all stands alone, not in a list
    feed: gmsi-headline | 4:7 feed found "gmsi-headline"; did you mean "gmsi-headlines"? Expected a feed:
        ${[...catalog.keys()].join(', ')}
    match_type: combined | 4:13 match_type found "combined"; did you mean "COMBINED"? Expected one of COMBINED, DOMESTIC,
        INTERNATIONAL (service.match_types adds others)
    start_date: 2023-02-29 | 3:13 start_date found "2023-02-29", expected a calendar day such as 2016-01-01
    start_date: 20160101 | 3:13 start_date found 20160101, expected a calendar day such as 2016-01-01
    start_date: 0216-01-01 | 3:13 start_date found "0216-01-01", expected a calendar day such as 2016-01-01
    start_date: 2026-11-03 | 3:13 start_date found "2026-11-03", expected a day no later than today, 2026-11-02
    start_date: 2020-01-02 & end_date: 2020-01-01 | 3:13 start_date found "2020-01-02", expected a day no later than end_date,
        2020-01-01
    start_date:  | 3:13 start_date found nothing, expected a calendar day such as 2016-01-01
    end_date: tody | 4:11 end_date found "tody"; did you mean "today"? Expected a calendar day such as 2025-12-31, or today
    step: P91D | 4:7 step found "P91D", expected at most P90D: the service accepts no longer range
    step: P13W | 4:7 step found "P13W", expected at most P90D: the service accepts no longer range
    step: P0D | 4:7 step found "P0D", expected at least P1D
    step: P3M | 4:7 step found "P3M", expected whole days or weeks, such as P90D: months and years differ in length
    step: PT48H | 4:7 step found "PT48H", expected whole days or weeks, such as P90D
    step: 90 | 4:7 step found 90, expected whole days or weeks, such as P90D
    history_limit: 2106-01-01 | 4:16 history_limit found "2106-01-01", expected a day no later than today, 2026-11-02
    end_date: 2025-06-30 & history_limit: 2025-07-01 | 5:16 history_limit found "2025-07-01", expected a day no later than
        end_date, 2025-06-30
    end_date: 2025-06-30 & history_limit: P1Y | 5:16 history_limit found "P1Y", which is 2025-11-02, expected a day no later than
        end_date, 2025-06-30
    lookback: -P3D | 4:11 lookback found "-P3D", expected at least P0D
    lookback: P9999999D | 4:11 lookback found "P9999999D", expected at most P366D: every sync loads these days again
    order: newest | 4:8 order found "newest"; did you mean "newest-first"? Expected newest-first or oldest-first
    budget: { requests_per_month: 0 } | 4:31 budget.requests_per_month found 0, expected a whole number of at least 1
    budget: { requests_per_month: 10, reserve: 10 } | 4:44 budget.reserve found 10, expected a reserve smaller than
        requests_per_month: a backfill could not send any request
    budget: { refresh_percent: 0 } | 4:28 budget.refresh_percent found 0, expected a share in percent, more than 0 and at most 100
    schedule: { sync: "every hour" } | 4:19 schedule.sync found "every hour", expected a cron expression of five fields, such as
        "15 * * * *"
    schedule: { sync: "0 0 30 2 *" } | 4:19 schedule.sync found "0 0 30 2 *", expected a cron expression that comes due
    schedule: { sync: "99 * * * *" } | 4:19 schedule.sync found "99 * * * *", expected a cron expression of five fields, such as
        "15 * * * *"
    cadence: { adaptive: maybe } | 4:22 cadence.adaptive found "maybe", expected true or false
    alerts: { max_lag: P4D } | 4:20 alerts.max_lag found "P4D", expected at least P5D: days within lookback, P3D, are not covered
        yet
    cadence: { adaptive: true } & alerts: { max_lag: P10D } | 5:20 alerts.max_lag found "P10D", expected at least P11D: cadence
        leaves quiet series uncovered for P10D
    alerts: { webhook_url: hooks.test/T0/token } | 4:24 alerts.webhook_url found a secret, expected the https:// address of a
        webhook
    alerts: https://hooks.test/T0/token | 4:9 alerts found a secret, expected a map such as { max_lag: P5D }
    alerts: { https://hooks.test/T0/token } | 4:11 alerts unknown, expected one of webhook_url, max_lag
    exports: [{ to: exports/g7 }] | 4:17 exports[0].to found "exports/g7", expected s3://bucket/folder, or the absolute path of a
        folder
    exports: [{ to: "s3://b/x" }, { to: "s3://b/x" }] | 4:37 exports[1].to found "s3://b/x", expected a different target for each
        export
    exports: [{ to: "s3://b/x", rollup: daily, versions: true }]
        | 4:54 exports[0].versions found true, expected no versions: a rollup has none
    feed: gmsi-index & exports: [{ to: "s3://b/x", rollup: daily }]
        | 5:37 exports[0].rollup found "daily", expected no rollup: only headlines of gmsi-headlines are summed up
    schedule: { timezone: Europe/Olso } | 4:23 schedule.timezone found "Europe/Olso"; did you mean "Europe/Oslo"? Expected a time
        zone such as UTC or Europe/Oslo
    fields: { headline: [1] } | 4:22 fields.headline[0] found 1, expected the name of a field of the service
    fields: { headline: '' } | 4:21 fields.headline found "", expected the name of a field of the service
    service: { rate: 0 } | 4:18 service.rate found 0, expected requests a second, more than 0, or unlimited
    service: { page_size: 1001 } | 4:23 service.page_size found 1001, expected a whole number from 1 to 1000
    service: { body_timeout: PT2H } | 4:26 service.body_timeout found "PT2H", expected seconds, or a duration such as PT10S, up
        to PT1H
    service: { connect_timeout: 0 } | 4:29 service.connect_timeout found 0, expected seconds, or a duration such as PT10S, up to
        PT1H
  `)('%s', (keys, line) => {
    const written = keys!
      .split(' & ')
      .map((pair) => /^(\w+): ?(.*)$/.exec(pair)!.slice(1) as [string, string]);
    expect(refusal(Object.fromEntries(written))).toEqual([`jobs/test.yaml:${line}`]);
  });

  test.each('P5 5Y -P1Y P0D PT48H P1YT1H P101Y P1.5Y yesterday 2023-02-29 0216-01-01 [P1Y]'.split(' '))(
    'the history limit %s',
    (value) => {
      const found = value.startsWith('[') ? 'a list' : `"${value}"`;
      expect(refusal({ history_limit: value })).toEqual([
        `jobs/test.yaml:4:16 history_limit found ${found}, ` +
          'expected a day such as 2020-01-01, or how long before today, such as P5Y',
      ]);
    },
  );

  test('all problems are reported at once, in the order of the file', () => {
    const keys = {
      countries: '[]',
      start_date: '2020-01-02',
      end_date: '2020-01-01',
      stepp: 'P9D',
      match_type: 'X',
    };
    expect(refusal(keys).map((line) => line.split(' ')[1])).toEqual([
      'countries',
      'start_date',
      'stepp',
      'match_type',
    ]);
  });

  test('a missing key is missing from the file as a whole', () => {
    expect(refusalOf(() => jobFromText('countries: all\nstart_date: 2020-01-01\n'))).toEqual([
      'jobs/test.yaml:1:1  topics  missing, expected all, or a list: feed gmsi-headlines is by country and topic',
    ]);
  });

  test.each([
    ['', 'jobs/test.yaml:1:1  found nothing, expected a map of keys, such as countries and topics'],
    ['- a\n', 'jobs/test.yaml:1:1  found a list, expected a map of keys, such as countries and topics'],
    ['a: 1\n\nb: 2\na: 3\n', 'jobs/test.yaml:4:1  not valid YAML: Map keys must be unique'],
    [
      'a: [b,\n  c\nd: e\n',
      'jobs/test.yaml:3:1  not valid YAML: a ] is missing before this, or is not indented',
    ],
    [
      'a: 1\n---\nb: 2\n',
      'jobs/test.yaml:2:1  not valid YAML: a second document begins at this ---; a job file has one',
    ],
    ['a: b: c\n', 'jobs/test.yaml:1:4  not valid YAML: Nested mappings are not allowed in compact mappings'],
    [
      'a: *b\n',
      'jobs/test.yaml:1:4  not valid YAML: Unresolved alias (the anchor must be set before the alias): b',
    ],
  ])('the file %j', (text, line) => {
    expect(refusalOf(() => jobFromText(text))).toEqual([line]);
  });

  test('whatever stands in place of a value is read or refused in our own words', () => {
    const value = fc.jsonValue({ maxDepth: 2 }).map((json) => JSON.stringify(json));
    const topLevel = fc.constantFrom(
      ...'feed countries topics tickers parameters body match_type start_date end_date'.split(' '),
      ...'history_limit step order lookback budget cadence schedule alerts fields service'.split(' '),
    );
    const section = fc.constantFrom(
      ...'requests_per_month reserve adaptive longest sync timezone webhook_url'.split(' '),
      ...'max_lag rate burst page_size end_date match_types parameters connect_timeout'.split(' '),
      ...'max_body_bytes'.split(' '),
    );
    const nested = fc.dictionary(section, value).map(
      (map) =>
        `{ ${Object.entries(map)
          .map(([key, json]) => `${key}: ${json}`)
          .join(', ')} }`,
    );
    fc.assert(
      fc.property(fc.dictionary(topLevel, fc.oneof(value, nested)), (keys) => {
        for (const line of refusalOf(() => aJob(keys))) {
          expect(line).toMatch(/^jobs\/test\.yaml:\d+:\d+ /);
          expect(line).not.toMatch(/Invalid|Too (small|big)|Unrecognized|undefined/);
        }
      }),
      { numRuns: 60 },
    );
  });
});
