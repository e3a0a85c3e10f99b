import { z } from 'zod';
import { dayRange, daysIn } from '../plan/days.ts';
import { asOf, feed, limit, period, textUpTo } from '../questions/asking.ts';
import * as briefing from '../questions/briefing.ts';
import * as changes from '../questions/changes.ts';
import * as contents from '../questions/contents.ts';
import * as coverage from '../questions/coverage.ts';
import * as headlines from '../questions/headlines.ts';
import * as indices from '../questions/indices.ts';
import * as runs from '../questions/runs.ts';
import * as sentiment from '../questions/sentiment.ts';
import type { Secret } from '../secret.ts';
import { countedAs, monthOf } from '../service/budget.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import { answerEndpoints } from './answer.ts';
import { endpoint, withoutParameters } from './endpoint.ts';

const coverageEndpoints = [
  endpoint('coverage', 'How many days of each series are covered, and the state of the others', {
    takes: coverage.coverageAsked,
    row: coverage.coverageRow,
    ask: coverage.coverageOfSeries,
  }),
  endpoint('coverage/days', 'The covered days of series, as ranges', {
    takes: coverage.coveredDaysAsked,
    row: coverage.coveredDaysRow,
    ask: coverage.coveredDays,
  }),
  endpoint(
    'coverage/missing',
    'Days between the first and last requested of a series that are not loaded, and why (200 ranges at most)',
    {
      takes: coverage.missingAsked,
      row: coverage.missingRow,
      ask: coverage.missingDays,
    },
  ),
];

const contentsEndpoints = [
  withoutParameters('feeds', contents.loadedFeeds),
  withoutParameters('series', contents.listedSeries),
  endpoint(
    'topics/rules',
    'What a positive score of a topic likely means, and the rule of the service, by model',
    {
      takes: z.object({ topic: textUpTo(200) }),
      row: contents.ruleRow,
      ask: ({ topic }) => contents.topicRules(topic),
    },
  ),
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
    takes: z
      .object({ ...period, as_of: asOf })
      .describe('Loads that rescored headlines published on these days.'),
    row: runs.rescoringRow,
    ask: (published) => runs.rescorings({ published }),
  }),
  withoutParameters('checks', runs.lastChecks),
];

/** Most points of an answer. More would not fit on a screen, and would take too long to sum up. */
const mostPoints = 50_000;
const pointsPerDay = { hour: 24, day: 1, week: 1 / 7, month: 1 / 28 };

const overTime = sentiment.sentimentAsked.refine(({ country, topic, match_type, from, to, by }) => {
  const series = country.length * topic.length * match_type.length;
  return series * daysIn(dayRange(from, to)) * pointsPerDay[by] <= mostPoints;
}, `An answer has at most ${mostPoints} points: choose fewer series, days instead of hours, or a shorter period.`);

const sentimentEndpoints = [
  endpoint('sentiment', 'Sentiment of series over time without gaps, from rollups or as it was known', {
    takes: overTime,
    row: sentiment.sentimentRow,
    ask: sentiment.sentimentOverTime,
  }),
  endpoint(
    'sentiment/changes',
    'What moved between two periods: all series together, then what changed most (500 at most)',
    {
      takes: changes.changesAsked,
      row: changes.changeRow,
      ask: changes.sentimentChanges,
    },
  ),
  endpoint(
    'sentiment/changes/stories',
    'The stories that moved a mean most (50 up, 50 down), and all others summed up in a last row',
    { takes: changes.moveAsked, row: changes.storyOfMoveRow, ask: changes.storiesOfMove },
  ),
  endpoint('headlines', 'The headlines of a series and a period, the latest first', {
    takes: headlines.headlinesAsked,
    row: headlines.headlineRow,
    ask: headlines.headlinesOf,
  }),
  endpoint('headlines/versions', 'All versions of a headline, the first one first', {
    takes: headlines.versionsAsked,
    row: headlines.versionRow,
    ask: headlines.versionsOf,
  }),
];

const briefingEndpoints = [
  endpoint(
    'briefing',
    'The last seven days of each series against the 90 days before, with what moved most and why',
    { takes: briefing.briefingAsked, row: briefing.briefingRow, ask: briefing.briefingOf },
  ),
  endpoint(
    'briefing/rewritten',
    'How much of the past was rewritten in a day, in all and by series (20 at most)',
    {
      takes: briefing.rewrittenAsked,
      row: briefing.rewrittenRow,
      isLive: true,
      ask: briefing.rewritten,
    },
  ),
];

type OverTime = Readonly<Record<'from' | 'to' | 'by', string>>;
const fewHours = [
  ({ from, to, by }: OverTime) => by !== 'hour' || daysIn(dayRange(from, to)) <= 100,
  'By hour, at most 100 days.',
] as const;

const indexEndpoints = [
  endpoint('feeds/subjects', 'What a feed is about: countries or assets', {
    takes: z.object({ feed: z.enum(indices.subjectFeeds) }),
    row: indices.subjectRow,
    ask: ({ feed }) => indices.feedSubjects(feed),
  }),
  endpoint('index', 'An index over time, by topic and model', {
    takes: indices.indexAsked.refine(...fewHours),
    row: indices.indexRow,
    ask: indices.indexOverTime,
  }),
  endpoint('news', 'Events and headlines of an asset, or macro headlines of a country, the latest first', {
    takes: indices.newsAsked,
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
    ...briefingEndpoints,
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
      ask: ({ month = monthOf(clock()) }) => runs.requestsByKey(ownKey, month),
    }),
  ];
}

/**
 * Returns all endpoints. Their type tells the page each path and the row of its answer.
 * @param cwd the folder whose `jobs/` are shown, and say which windows are wanted
 */
export function allEndpoints(warehouse: Warehouse, of: Server & { readonly cwd: string }) {
  return [...warehouseEndpoints(of), ...answerEndpoints(warehouse, of)];
}
