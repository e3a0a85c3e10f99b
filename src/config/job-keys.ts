import { posix, win32 } from 'node:path';
import { z } from 'zod';
import { catalog } from '../feeds/catalog.ts';
import { describeFeed } from '../feeds/feed.ts';
import { Secret } from '../secret.ts';
import {
  choice,
  cronExpression,
  day,
  dayOrReach,
  name,
  timeZone,
  wholeDays,
  wholeNumber,
} from './field-types.ts';
import { serviceSection } from './service-schema.ts';

/**
 * The job file, as written. jobs/job.schema.json is made from it, with every default. Each `error` completes the word
 * "expected" in a message of problems.ts.
 */

const selection = (one: string, example: string) =>
  z.union([z.literal('all'), z.array(selected(one)).min(1, { error: `all, or at least one ${one}` })], {
    error: `all, or a list such as ${example}`,
  });

const selected = (one: string) =>
  name(`a ${one}, as text`).refine((text) => text !== 'all', {
    error: `a ${one}; all stands alone, not in a list`,
  });

/** Our best guess of the requests a key may send in a calendar month (docs/service.md, "Limits"). */
export const likelyQuota = 250_000;

const aPercentage = 'a share in percent, more than 0 and at most 100';

const budget = z
  .strictObject(
    {
      requests_per_month: wholeNumber(1)
        .default(likelyQuota)
        .describe("The API key's limit of requests per calendar month (UTC). The usual quota is 250000."),
      reserve: wholeNumber(0)
        .default(0)
        .describe('Requests a backfill may not use, so that sync always has some.'),
      refresh_percent: z
        .number({ error: aPercentage })
        .gt(0, { error: aPercentage })
        .max(100, { error: aPercentage })
        .default(5)
        .describe(
          'Share of requests_per_month that the refreshes of a month use (schedule.refresh), as far as requests can be foreseen.',
        ),
    },
    { error: 'a map such as { requests_per_month: 200000, reserve: 20000 }' },
  )
  .superRefine((value, context) => {
    // A bad value has a problem of its own.
    if (value.requests_per_month < 1 || value.reserve < value.requests_per_month) return;
    const message = 'a reserve smaller than requests_per_month: a backfill could not send any request';
    context.addIssue({ code: 'custom', path: ['reserve'], input: value.reserve, message });
  });

const cadence = z.strictObject(
  {
    adaptive: z
      .boolean({ error: 'true or false' })
      .default(false)
      .describe(
        'Whether syncs poll series less often that have had no news for long. If false, every sync polls all.',
      ),
    longest: wholeDays({ example: 'P7D', least: 1, most: 366, because: 'news would be seen a year late' })
      .prefault('P7D')
      .describe('The longest time between two polls of a quiet series.'),
  },
  { error: 'a map such as { adaptive: true, longest: P7D }' },
);

const schedule = z.strictObject(
  {
    sync: cronExpression().exactOptional().describe('When `gmsi work` runs an incremental load.'),
    backfill: cronExpression().exactOptional().describe('When `gmsi work` loads all missing days.'),
    refresh: cronExpression()
      .exactOptional()
      .describe(
        'When `gmsi work` loads the days again that were loaded longest ago, to find revisions. budget.refresh_percent limits how much.',
      ),
    timezone: timeZone().prefault('UTC').describe('The time zone of these expressions, by its IANA name.'),
  },
  { error: 'a map such as { sync: "15 * * * *", timezone: UTC }' },
);

const oneName = 'the name of a field of the service';
const wireNames = `${oneName}, or a list of such names`;

const fields = z
  .record(
    z.string(),
    z.union([name(oneName).transform((one) => [one]), z.array(name(oneName)).min(1, { error: wireNames })], {
      error: wireNames,
    }),
    { error: 'a map of columns to names of fields of the service' },
  )
  .prefault({})
  .describe(
    "The service's names for a column, tried before the built-in ones; a.b is the field b of the object a.",
  );

/** The feed of a job file that names none. */
export const usualFeed = 'gmsi-headlines';

const lastDay = 'a calendar day such as 2025-12-31, or today';

const parameterValue = 'a value (text, a number, true or false), or a list of values, each requested';

const scalar = z.union([z.string(), z.number(), z.boolean()], { error: parameterValue }).transform(String);

const parameters = z
  .record(
    z.string(),
    z.union(
      [
        scalar.transform((value) => [value]),
        z.array(scalar, { error: parameterValue }).min(1, { error: parameterValue }),
      ],
      { error: parameterValue },
    ),
    { error: 'a map of query parameters to values, such as { event_type: Combined }' },
  )
  .prefault({})
  .describe(
    'Further query parameters, such as event_type: Combined. A list requests each value; each combination is stored as ' +
      'its own series.',
  );

const place = 's3://bucket/folder, or the absolute path of a folder';

const isPlace = (text: string) => /^s3:\/\/./.test(text) || posix.isAbsolute(text) || win32.isAbsolute(text);

const oneExport = z
  .strictObject(
    {
      // Absolute, because any worker may write it, and workers start in different folders.
      to: z.string({ error: place }).refine(isPlace, { error: place }).describe(`Target: ${place}.`),
      format: choice('parquet', 'csv').default('parquet').describe('File format.'),
      rollup: choice('hourly', 'daily')
        .exactOptional()
        .describe('Sums by hour or day instead of the headlines; only for feed gmsi-headlines.'),
      versions: z
        .boolean({ error: 'true or false' })
        .exactOptional()
        .describe('All versions of each row, with known_from and known_to; not with rollup.'),
    },
    { error: 'a map such as { to: s3://bucket/folder }' },
  )
  .refine(({ rollup, versions }) => !(rollup && versions), {
    path: ['versions'],
    error: 'no versions: a rollup has none',
  });

/** `exports:` of a job file: what workers export after each run of the job. */
const exportsSection = z
  .array(oneExport, { error: 'a list such as [{ to: s3://bucket/folder }]' })
  .superRefine((exports, context) => {
    for (const [n, { to }] of exports.entries()) {
      if (exports.findIndex((other) => other.to === to) === n) continue;
      context.addIssue({
        code: 'custom',
        path: [n, 'to'],
        input: to,
        message: 'a different target for each export',
      });
    }
  })
  .prefault([])
  .describe(
    'Exports that `gmsi work` writes after each run of this job: only months that have changed, as `gmsi export ' +
      '--changed-since` does.',
  );

const expectedAddress = 'the https:// address of a webhook';

/** `alerts:` of a job file: where to report problems. */
const alertsSection = z
  .strictObject(
    {
      webhook_url: z
        .string({ error: expectedAddress })
        .refine(isWebAddress, { error: expectedAddress })
        // JSON Schema's keyword for secrets: anybody who knows the address can post to it.
        .meta({ writeOnly: true })
        .transform((url) => new Secret(url))
        .exactOptional()
        .describe(
          'Address for alerts, as JSON that Slack understands. It is a secret, so prefer GMSI_ALERT_WEBHOOK_URL, which is ' +
            'the default.',
        ),
      max_lag: wholeDays({ example: 'P5D', least: 2, most: 366, because: 'a year late is too late' })
        .exactOptional()
        .describe(
          "Alert when any series' newest covered day is older than this. Must be at least 2 days longer than lookback. " +
            'Default: no alert.',
        ),
    },
    { error: 'a map such as { max_lag: P5D }' },
  )
  .prefault({})
  .describe('Where to report problems.');

function isWebAddress(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text);
}

export const jobFileKeys = z.strictObject(
  {
    feed: z
      .enum([...catalog.keys()], { error: `a feed: ${[...catalog.keys()].join(', ')}` })
      .default(usualFeed)
      .describe('What to load.')
      .meta({ enumDescriptions: [...catalog.values()].map(describeFeed) }),
    countries: selection('country', '[US, GB, NO]')
      .exactOptional()
      .describe(
        'ISO 3166 two-letter codes such as [US, GB, NO], or all. Checked against the countries that the service lists.',
      ),
    topics: selection('topic', '[Inflation-Food, "Labour Market-*"]')
      .exactOptional()
      .describe('Names exactly as the service lists them, globs such as Labour Market-*, or all.'),
    tickers: selection('ticker', '[BTC_CRY, "*_IND"]')
      .exactOptional()
      .describe(
        'Tickers exactly as the service lists them, globs such as *_CRY, or all; for the feeds of assets.',
      ),
    match_type: z
      .string({ error: 'a match type, as text' })
      .exactOptional()
      .describe(
        'Which news counts: COMBINED (the default), DOMESTIC or INTERNATIONAL for a country, EXPLICIT or IMPLICIT for a ' +
          'ticker. Sent to an index as index_type.',
      ),
    parameters,
    body: z
      .record(z.string(), z.unknown(), { error: 'a map, sent as JSON' })
      .exactOptional()
      .describe(
        'The JSON body for the feeds whose names end in -query; gmsi adds the dates, the page size and the cursor. ' +
          'Another body is a new series.',
      ),
    start_date: day('a calendar day such as 2016-01-01').describe(
      'The first day wanted, such as 2016-01-01.',
    ),
    end_date: z
      .union([z.literal('today'), day(lastDay, ['today'])], { error: lastDay })
      .prefault('today')
      .describe('The last day wanted, inclusive: a day such as 2025-12-31, or today.'),
    history_limit: dayOrReach()
      .exactOptional()
      .describe(
        'How far back the service answers: a day such as 2020-01-01, or how long before today, such as P5Y. Earlier days ' +
          'are not requested. Takes precedence over what a probe has learned.',
      ),
    step: wholeDays({ example: 'P90D', least: 1, most: 90, because: 'the service accepts no longer range' })
      .prefault('P90D')
      .describe('The length of a window, at most P90D. Shorter windows cost more requests.'),
    order: choice('newest-first', 'oldest-first')
      .default('newest-first')
      .describe('Which missing days a backfill loads first.'),
    lookback: wholeDays({ example: 'P3D', least: 0, most: 366, because: 'every sync loads these days again' })
      .prefault('P3D')
      .describe('Days before today that sync loads again, because they may still change.'),
    cadence: cadence.prefault({}).describe('How often syncs poll series that have no news.'),
    budget: budget.prefault({}).describe('How many requests this job may spend.'),
    schedule: schedule.optional().describe('When `gmsi work` runs this job. Default: never.'),
    exports: exportsSection,
    alerts: alertsSection,
    fields,
    unknown_fields: choice('keep', 'alert', 'fail')
      .default('keep')
      .describe(
        'What to do about a field that no load of the feed has stored yet. keep: store it in extra · alert: also post an ' +
          'alert, and when a field is gone · fail: also fail each window with such a field, before anything of that page is ' +
          'stored.',
      ),
    service: serviceSection,
  },
  { error: 'a map of keys, such as countries and topics' },
);

/** A job file as parsed: with its defaults, dates as Temporal.PlainDate, durations in days or milliseconds. */
export type JobFile = z.output<typeof jobFileKeys>;
