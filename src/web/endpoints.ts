import { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { dayRange, daysIn } from '../plan/days.ts';
import { wantedByJobs } from '../plan/wanted-days.ts';
import type { Secret } from '../secret.ts';
import { countedAs, monthOf } from '../service/budget.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import * as changes from '../warehouse/questions/changes.ts';
import * as contents from '../warehouse/questions/contents.ts';
import * as coverage from '../warehouse/questions/coverage.ts';
import * as headlines from '../warehouse/questions/headlines.ts';
import * as indices from '../warehouse/questions/indices.ts';
import * as runs from '../warehouse/questions/runs.ts';
import * as sentiment from '../warehouse/questions/sentiment.ts';
import {
  by,
  endpoint,
  exactMoment,
  limit,
  pastMoment,
  period,
  several,
  text,
  withoutParameters,
} from './endpoint.ts';
import { jobsEndpoint } from './jobs.ts';

const feed = text(100).describe('A feed, such as gmsi-headlines.');

const coverageEndpoints = [
  endpoint('coverage', 'How many days of each series are covered, and the state of the others', {
    takes: z.object({
      feed,
      match_type: text(100).describe('COMBINED, DOMESTIC or INTERNATIONAL.'),
      ...period,
    }),
    row: coverage.coverageRow,
    ask: coverage.coverageOfSeries,
  }),
  endpoint('coverage/days', 'The covered days of series, as ranges', {
    takes: z.object({
      feed,
      ...period,
      country: several('A country', 100).default(['']),
      topic: several('A topic', 100).default(['']),
      ticker: several('A ticker', 100).default(['']),
      variant: several('Further parameters of the series, as name=value&name=value', 100).default(['']),
      match_type: several('A match type', 3),
      as_of: pastMoment.optional().describe('Only days of windows that had been drained then.'),
    }),
    row: coverage.coveredDaysRow,
    ask: coverage.coveredDays,
  }),
  endpoint('windows', 'The windows of a series that have days of a period, the latest first (500 at most)', {
    takes: z.object({
      feed,
      match_type: text(100).describe('COMBINED, DOMESTIC or INTERNATIONAL.'),
      // Parts of a series that the feed lacks are empty.
      country: text(200).default(''),
      topic: text(200).default(''),
      ticker: text(200).default(''),
      variant: text(500).default(''),
      ...period,
    }),
    row: coverage.windowRow,
    ask: ({ from, to, ...series }) => coverage.windowsOfSeries(series, { from, to }, 500),
  }),
];

const contentsEndpoints = [
  withoutParameters('feeds', contents.loadedFeeds),
  withoutParameters('series', contents.listedSeries),
  endpoint('topics/rules', 'The rules by which the service scores headlines of a topic, by model', {
    takes: z.object({ topic: text(200) }),
    row: contents.ruleRow,
    ask: ({ topic }) => contents.topicRules(topic),
  }),
  endpoint('series/fullest', 'The series of a feed with the most records in its last year', {
    takes: z.object({ feed, limit: limit(10, 100) }),
    row: contents.fullSeriesRow,
    ask: ({ feed, limit }) => contents.fullestSeries(feed, limit),
  }),
  endpoint('loads/known', 'Since when rows of a feed are known, and when a load last changed some', {
    takes: z.object({ feed }),
    row: contents.knownRow,
    ask: ({ feed }) => contents.knownSince(feed),
  }),
  withoutParameters('moments', contents.namedMoments),
  withoutParameters('origin', contents.servedBy),
  endpoint('loads/rescorings', 'The last loads in which the service had given many headlines new scores', {
    takes: z.object(period).describe('Loads that rescored headlines published on these days.'),
    row: runs.rescoringRow,
    ask: (published) => runs.rescorings({ published }),
  }),
  withoutParameters('arrival', runs.arrivalDelays, { isLive: true }),
  withoutParameters('alerts', runs.openAlerts, { rights: 'own' }),
  withoutParameters('fields', runs.fieldChanges, { rights: 'own', isLive: true }),
  withoutParameters('checks', runs.lastChecks),
];

/** Most points of an answer. More would not fit on a screen, and would take too long to sum up. */
const mostPoints = 50_000;
const pointsPerDay = { hour: 24, day: 1, week: 1 / 7, month: 1 / 28 };

const country = several('A country', 100);
const topic = several('A topic', 100);
const asOf = pastMoment.optional().describe('What the warehouse had then, in the versions of then.');
const asked = z.object({
  country,
  topic,
  match_type: several('A match type', 3).default(['COMBINED']),
  ...period,
  as_of: asOf,
});
const overTime = asked.extend({ by }).refine(({ country, topic, match_type, from, to, by }) => {
  const series = country.length * topic.length * match_type.length;
  return series * daysIn(dayRange(from, to)) * pointsPerDay[by] <= mostPoints;
}, `An answer has at most ${mostPoints} points: choose fewer series, days instead of hours, or a shorter period.`);

const model = z.enum(['directional', 'semantic']).default('directional');
const match_type = text(100).default('COMBINED');
const all = 'all by default';
const move = {
  country: country.default([]).describe(`A country, ${all}; give it several times for several.`),
  topic: topic.default([]).describe(`A topic, ${all}; give it several times for several.`),
  match_type,
  model,
  ...period,
  against: z
    .enum(['quarter', 'before', 'year'])
    .default('quarter')
    .describe(
      'What the period is compared with: the 90 days before it, as many days before it, or the same days a year earlier.',
    ),
};

const headline = { country: text(200), topic: text(200), match_type };
const inPeriod = {
  ...headline,
  from: exactMoment.describe('From this moment on …'),
  to: exactMoment.describe('… and before this one.'),
  as_of: asOf,
  find: text(200).optional().describe('A text that the headline or its source contains.'),
};

const sentimentEndpoints = [
  endpoint('sentiment', 'Sentiment of series over time without gaps, from rollups or as it was known', {
    takes: overTime,
    row: sentiment.sentimentRow,
    ask: sentiment.sentimentOverTime,
  }),
  endpoint('sentiment/countries', 'Mean sentiment of topics by country over a period', {
    takes: asked,
    row: sentiment.countryRow,
    ask: sentiment.sentimentByCountry,
  }),
  endpoint('sentiment/topics', 'Mean sentiment of countries by topic over time', {
    takes: overTime,
    row: sentiment.topicRow,
    ask: sentiment.sentimentByTopic,
  }),
  endpoint(
    'sentiment/changes',
    'What moved between two periods: all series together, then what changed most (500 at most)',
    {
      takes: z.object({ ...move, of: z.enum(['series', 'country', 'topic']).default('series') }),
      row: changes.changeRow,
      ask: changes.sentimentChanges,
    },
  ),
  endpoint(
    'sentiment/changes/stories',
    'The stories that moved a mean most (50 up, 50 down), and all others summed up in a last row',
    { takes: z.object({ ...move, country, topic }), row: changes.storyOfMoveRow, ask: changes.storiesOfMove },
  ),
  endpoint('headlines', 'The headlines of a series and a period, the latest first', {
    takes: z.object({
      ...inPeriod,
      after_time: exactMoment.optional().describe('published_at of the last headline of the previous page …'),
      after_id: z.uuid().optional().describe('… and its headline_id.'),
      limit: limit(100),
    }),
    row: headlines.headlineRow,
    ask: headlines.headlinesOf,
  }),
  endpoint('headlines/stories', 'The stories that raise and lower the mean of a series most (50 each)', {
    takes: z.object({ ...inPeriod, model }),
    row: headlines.storyRow,
    ask: headlines.storiesOf,
  }),
  endpoint('headlines/versions', 'All versions of a headline, the first one first', {
    takes: z.object({ ...headline, published_at: exactMoment, headline_id: z.uuid() }),
    row: headlines.versionRow,
    ask: headlines.versionsOf,
  }),
];

const subject = text(200).describe('A country, a country’s name or a ticker, as the feed has it.');
const ofSubject = z
  .object({ subject, ...period, by })
  .refine(
    ({ from, to, by }) => by !== 'hour' || daysIn(dayRange(from, to)) <= 100,
    'By hour, at most 100 days.',
  );

const indexEndpoints = [
  endpoint('feeds/subjects', 'What a feed is about: countries or assets', {
    takes: z.object({ feed: z.enum(indices.subjectFeeds) }),
    row: indices.subjectRow,
    ask: ({ feed }) => indices.feedSubjects(feed),
  }),
  endpoint('index', 'An index over time, by topic and model', {
    takes: ofSubject.safeExtend({ feed: z.enum(indices.indexFeeds) }),
    row: indices.indexRow,
    ask: indices.indexOverTime,
  }),
  endpoint('news/counts', 'How many events and headlines of an asset there are over time', {
    takes: ofSubject,
    row: indices.newsCountRow,
    ask: indices.newsOverTime,
  }),
  endpoint('news', 'Events and headlines of an asset, or macro headlines of a country, the latest first', {
    takes: z.object({
      subject,
      ...period,
      kind: z.enum(indices.newsKinds).optional().describe('Only these; by default all kinds of an asset.'),
      limit: limit(200),
    }),
    row: indices.newsRow,
    ask: indices.feedNews,
  }),
];

interface Server {
  /** Seconds without a heartbeat after which a load or a worker counts as gone. */
  readonly leaseSeconds: number;
  readonly apiKey: Secret | undefined;
  readonly clock: () => Date;
}

/** Returns the endpoints that need no job files. */
export function warehouseEndpoints({ leaseSeconds, apiKey, clock }: Server) {
  const ownKey = apiKey ? countedAs(apiKey) : null;
  return [
    ...contentsEndpoints,
    ...coverageEndpoints,
    ...sentimentEndpoints,
    ...indexEndpoints,
    endpoint('loads', 'The last loads, running ones first', {
      takes: z.object({ limit: limit(50, 500) }),
      row: runs.loadRow,
      isLive: true,
      ask: ({ limit }) => runs.lastLoads(leaseSeconds, limit),
    }),
    endpoint('requests', 'Requests booked in a month, by API key', {
      takes: z.object({
        month: z
          .string()
          .regex(/^(19|20)\d\d-(0[1-9]|1[0-2])$/, 'It must be a month such as 2025-01.')
          .transform((month) => `${month}-01`)
          .optional()
          .describe('The present month (UTC) by default.'),
      }),
      rights: 'own',
      row: runs.requestsRow,
      // By the clock of this process, which books requests as the loads do; a browser's may be of another month.
      ask: ({ month = monthOf(clock()) }) => runs.requestsByKey(month, ownKey),
    }),
    withoutParameters('workers', runs.livingWorkers(leaseSeconds), { rights: 'own', isLive: true }),
  ];
}

/**
 * Returns all endpoints. Their type tells the page each path and the row of its answer.
 * @param cwd the folder whose `jobs/` are shown, and say which windows are wanted
 */
export function allEndpoints(warehouse: Warehouse, of: Server & { readonly cwd: string }) {
  return [
    ...warehouseEndpoints(of),
    jobsEndpoint(warehouse, of),
    endpoint('failures', 'Windows that failed or were refused, by cause (50 causes at most)', {
      takes: z.object({}),
      row: coverage.failureRow,
      isLive: true,
      async ask() {
        const today = Temporal.PlainDate.from(of.clock().toISOString().slice(0, 10));
        const known = await wantedByJobs(warehouse, { ...of, today }).catch((error) => {
          if (error.code === '42501') return { unknown: 'a reader may not see what workers have stored' };
          throw error;
        });
        return coverage.failuresByCause('wanted' in known ? known : {});
      },
    }),
  ];
}
