import { z } from 'zod';
import { catalog } from '../feeds/catalog.ts';
import { describeFeed } from './describe-feed.ts';
import { exportsSection } from './exports-schema.ts';
import { cronExpression, day, dayOrReach, timeZone, wholeDays, wholeNumber } from './field-types.ts';
import { serviceSection } from './service-schema.ts';

/**
 * The job file, as written. It is published as jobs/job.schema.json, with every default. Each `error` names what is
 * expected; see problems.ts for how it is shown.
 */

const selection = (one: string, example: string) =>
  z.union([z.literal('all'), z.array(selected(one)).min(1, { error: `all, or at least one ${one}` })], {
    error: `all, or a list such as ${example}`,
  });

const selected = (one: string) =>
  z
    .string({ error: `a ${one}, as text` })
    .min(1, { error: `a ${one}, as text` })
    .refine((name) => name !== 'all', { error: `a ${one}; all stands alone, not in a list` });

/** Requests a calendar month per key; only likely (docs/service.md, "Limits"). */
export const likelyQuota = 250_000;

const budget = z
  .strictObject(
    {
      requests_per_month: wholeNumber(1)
        .default(likelyQuota)
        .describe(
          'Requests per calendar month (UTC) that the API key may come to. The usual quota is 250000.',
        ),
      reserve: wholeNumber(0)
        .default(0)
        .describe('Requests of these that a backfill leaves for others, such as sync.'),
    },
    { error: 'a map such as { requests_per_month: 200000, reserve: 20000 }' },
  )
  .superRefine((value, context) => {
    if (value.reserve < value.requests_per_month) return;
    const message = 'a reserve smaller than requests_per_month: nothing would be left to run on';
    context.addIssue({ code: 'custom', path: ['reserve'], input: value.reserve, message });
  });

const cadence = z.strictObject(
  {
    adaptive: z
      .boolean({ error: 'true or false' })
      .default(false)
      .describe('Whether syncs leave out series that have had no news for long. Off, every sync polls all.'),
    longest: wholeDays({ example: 'P7D', least: 1, most: 366, because: 'news would be seen a year late' })
      .prefault('P7D')
      .describe('The longest time between two polls of a quiet series.'),
    max_uncovered: wholeDays({
      example: 'P14D',
      least: 2,
      most: 366,
      because: 'days must be covered some time',
    })
      .prefault('P14D')
      .describe(
        'How old the first uncovered day of a series may get, with a sync a day; more than lookback.',
      ),
  },
  { error: 'a map such as { adaptive: true, longest: P7D, max_uncovered: P14D }' },
);

const schedule = z.strictObject(
  {
    sync: cronExpression().exactOptional().describe('When `gmsi work` runs an incremental load.'),
    backfill: cronExpression().exactOptional().describe('When `gmsi work` drains what is still missing.'),
    timezone: timeZone().prefault('UTC').describe('The time zone of these expressions, by its IANA name.'),
  },
  { error: 'a map such as { sync: "15 * * * *", timezone: UTC }' },
);

const wireNames = 'the name of a field of the service, or a list of such names';

const fields = z
  .record(
    z.string(),
    z.union(
      [
        z.string().transform((name) => [name]),
        z.array(z.string({ error: 'the name of a field of the service' })).min(1, { error: wireNames }),
      ],
      { error: wireNames },
    ),
    { error: 'a map of columns to names of fields of the service' },
  )
  .prefault({})
  .describe(
    'Names under which the service may send a column, tried before the built-in ones; a.b reaches into an object.',
  );

/** The feed of a job file that names none. */
export const usualFeed = 'gmsi-headlines';

const lastDay = 'a calendar day such as 2025-12-31, or today';

const parameterValue = 'a value (text, a number, true or false), or a list of values that are each asked for';

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
    'Further query parameters, such as event_type: Combined. Of a list each value is asked for; each combination is kept apart in the warehouse.',
  );

const expectedAddress = 'the https:// address of a webhook';

/** `alerts:` of a job file: where to report problems. */
const alertsSection = z
  .strictObject(
    {
      webhook_url: z
        .string({ error: expectedAddress })
        .refine(isWebAddress, { error: expectedAddress })
        // The keyword of JSON Schema for secrets: whoever knows the address can post to it.
        .meta({ writeOnly: true })
        .exactOptional()
        .describe(
          'Where alerts are posted as JSON that Slack understands. A secret: better set in GMSI_ALERT_WEBHOOK_URL, which is used if this is left out.',
        ),
      max_lag: wholeDays({ example: 'P5D', least: 2, most: 366, because: 'a year late is too late' })
        .exactOptional()
        .describe(
          'How long ago the end of the newest covered day may lie, of any series, before the job counts as late; longer than lookback by 2 days at least. Never, if left out.',
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
      .describe('What to load; docs/feeds.md says what each feed is and costs.')
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
        'Which coverage, COMBINED if left out: DOMESTIC or INTERNATIONAL of a country, EXPLICIT or IMPLICIT of a ticker. Sent to an index as index_type.',
      ),
    parameters,
    body: z
      .record(z.string(), z.unknown(), { error: 'a map, sent as JSON' })
      .exactOptional()
      .describe(
        'What feed event-metrics-query sends as JSON; the dates, the page size and the cursor are added. Another body is a new series.',
      ),
    start_date: day('a calendar day such as 2016-01-01').describe(
      'The first day wanted, such as 2016-01-01.',
    ),
    end_date: z
      .union([z.literal('today'), day(lastDay, ['today'])], {
        error: lastDay,
      })
      .prefault('today')
      .describe('The last day wanted, itself included: a day such as 2025-12-31, or today.'),
    history_limit: dayOrReach()
      .exactOptional()
      .describe(
        'How far back the service answers: a day such as 2020-01-01, or how long before today, such as P5Y. Days before it are not asked for. Counts more than what a probe has learned.',
      ),
    step: wholeDays({ example: 'P90D', least: 1, most: 90, because: 'the service takes no longer range' })
      .prefault('P90D')
      .describe(
        'The longest window that is asked for at once, at most P90D. Shorter ones cost more requests.',
      ),
    order: z
      .enum(['newest-first', 'oldest-first'], { error: 'newest-first or oldest-first' })
      .default('newest-first')
      .describe('Which missing days a backfill drains first.'),
    lookback: wholeDays({
      example: 'P3D',
      least: 0,
      most: 366,
      because: 'every sync drains these days again',
    })
      .prefault('P3D')
      .describe('Days before today that sync drains again, because they may still change.'),
    cadence: cadence.prefault({}).describe('How often syncs poll series that have no news.'),
    budget: budget.prefault({}).describe('How many requests this job may spend.'),
    schedule: schedule.optional().describe('When `gmsi work` runs this job; never, if left out.'),
    exports: exportsSection,
    alerts: alertsSection,
    fields,
    service: serviceSection,
  },
  { error: 'a map of keys, such as countries and topics' },
);

/** A job file as parsed: with its defaults, dates as Temporal.PlainDate, durations in days or milliseconds. */
export type JobFile = z.output<typeof jobFileKeys>;
