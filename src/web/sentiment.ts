import { z } from 'zod';
import { dayRange, daysIn } from '../plan/days.ts';
import { sentimentChanges, storiesOfMove } from '../warehouse/questions/changes.ts';
import { headlinesOf, storiesOf, versionsOf } from '../warehouse/questions/headlines.ts';
import {
  type SentimentAsked,
  sentimentByCountry,
  sentimentByTopic,
  sentimentOverTime,
} from '../warehouse/questions/sentiment.ts';
import {
  by,
  endpoint,
  exactMoment,
  exactTime,
  pastMoment,
  period,
  score,
  several,
  text,
} from './endpoint.ts';
import { mostPoints, pointsIn } from './most-points.ts';

const country = several('A country', 100);
const topic = several('A topic', 100);
const matchType = several('A match type', 3).default(['COMBINED']);
const asOf = pastMoment.optional().describe('What the warehouse had then, in the versions of then.');

const asked = z.object({ country, topic, match_type: matchType, ...period, as_of: asOf });
const state = z.string();
const count = z.int().nullable();
const ofAll = {
  state: state.describe(
    'What is loaded, over all series of the row: covered, settling, partial or not loaded.',
  ),
  directional_count: count.describe('Headlines with a score; null if nothing is loaded.'),
  directional_sum: score,
  directional: score.describe('Their mean; null if there are none.'),
  semantic_count: count,
  semantic_sum: score,
  semantic: score,
  headlines: count,
};

type Taken = z.output<typeof asked> & { readonly by?: SentimentAsked['by'] };

function toAsk({ country, topic, match_type, from, to, as_of, by = 'day' }: Taken): SentimentAsked {
  const lists = { countries: country, topics: topic, matchTypes: match_type };
  return { ...lists, from, to, by, asOf: as_of ?? null };
}

const all = 'all by default';
const move = {
  country: country.default([]).describe(`A country, ${all}; give it several times for several.`),
  topic: topic.default([]).describe(`A topic, ${all}; give it several times for several.`),
  match_type: text(100).default('COMBINED'),
  model: z.enum(['directional', 'semantic']).default('directional'),
  ...period,
  against: z
    .enum(['quarter', 'before', 'year'])
    .default('quarter')
    .describe(
      'What the period is compared with: the 90 days before it, as many days before it, or the same days a year earlier.',
    ),
};

function toMove({ country, topic, match_type, ...others }: z.output<z.ZodObject<typeof move>>) {
  return { ...others, countries: country, topics: topic, matchType: match_type };
}

const overTime = asked.extend({ by }).refine(({ country, topic, match_type, from, to, by }) => {
  const days = daysIn(dayRange(from, to));
  return pointsIn(country.length * topic.length * match_type.length, days, by) <= mostPoints;
}, `An answer has at most ${mostPoints} points: choose fewer series, days instead of hours, or a shorter period.`);

const headline = {
  country: text(200),
  topic: text(200),
  match_type: text(100).default('COMBINED'),
};
const find = text(200).optional().describe('A text that the headline or its source contains.');

export const sentimentEndpoints = [
  endpoint('sentiment', 'Sentiment of series over time without gaps, from rollups or as it was known', {
    takes: overTime,
    row: z.object({
      country: z.string(),
      topic: z.string(),
      match_type: z.string(),
      at: z.string(),
      state: state.describe(
        'What is loaded of these days: covered, settling, partial or not loaded, as in gmsi.sentiment_by_day. Not loaded: all that follows is null. With as_of, days that were loaded again since then do not count as loaded.',
      ),
      directional_count: count.describe('Headlines with a score.'),
      directional_sum: score.describe(
        'Sum of their scores. A mean over several rows is the sum of sums divided by the sum of counts.',
      ),
      directional: score.describe('Their mean; null if there are none.'),
      directional_error: score.describe(
        'Standard error of the mean, as if headlines were independent; null for fewer than two scores.',
      ),
      semantic_count: count,
      semantic_sum: score,
      semantic: score,
      semantic_error: score,
      headlines: count.describe('All headlines, with or without a score.'),
    }),
    ask: (taken) => sentimentOverTime(toAsk(taken)),
  }),
  endpoint('sentiment/countries', 'Mean sentiment of topics by country over a period', {
    takes: asked,
    row: z.object({ country: z.string(), ...ofAll }),
    ask: (taken) => sentimentByCountry(toAsk(taken)),
  }),
  endpoint('sentiment/topics', 'Mean sentiment of countries by topic over time', {
    takes: overTime,
    row: z.object({ topic: z.string(), at: z.string(), ...ofAll }),
    ask: (taken) => sentimentByTopic(toAsk(taken)),
  }),
  endpoint(
    'sentiment/changes',
    'What moved between two periods: all series together, then what changed most (500 at most)',
    {
      takes: z.object({ ...move, of: z.enum(['series', 'country', 'topic']).default('series') }),
      row: z.object({
        country: z.string().nullable(),
        topic: z.string().nullable().describe('Neither country nor topic: all series together.'),
        mean: score,
        headlines: z.int().describe('With a score.'),
        mean_before: score,
        headlines_before: z.int(),
        change: score,
        contribution: score.describe(
          'Part of the change of all series together, which is the sum of all parts: the share of all headlines times the distance of their mean from the earlier mean of all, for the later period minus the same for the earlier one.',
        ),
        z: score.describe(
          'The change in standard errors, which follow from how daily means scatter; null for fewer than 7 days with headlines.',
        ),
        state: state.describe(
          'What is loaded of the period, over all series of the row: covered, settling, partial or not loaded.',
        ),
        state_before: state,
        before_from: z.string().describe('First day (UTC) of the earlier period …'),
        before_to: z.string().describe('… and its last day, inclusive.'),
      }),
      ask: ({ of, ...taken }) => sentimentChanges({ ...toMove(taken), of }),
    },
  ),
  endpoint(
    'sentiment/changes/stories',
    'The stories that moved a mean most (50 up, 50 down), and all others summed up in a last row',
    {
      takes: z.object({ ...move, country, topic }),
      row: z.object({
        headline: z.string().nullable().describe('As its latest headline puts it.'),
        source: z.string().nullable(),
        url: z.string().nullable(),
        last_at: exactTime,
        others: z
          .int()
          .nullable()
          .describe('Of how many further stories the row is the sum; null if it is of one.'),
        mean: score,
        headlines: z.int().describe('Headlines of the period that say the same (gmsi.story_key).'),
        mean_before: score,
        headlines_before: z.int(),
        contribution: z
          .number()
          .describe('To the change of the mean, which is the sum of all contributions.'),
      }),
      ask: (taken) => storiesOfMove(toMove(taken)),
    },
  ),
  endpoint('headlines', 'The headlines of a series and a period, the latest first', {
    takes: z.object({
      ...headline,
      from: exactMoment.describe('From this moment on …'),
      to: exactMoment.describe('… and before this one.'),
      as_of: asOf,
      find,
      after_time: exactMoment.optional().describe('published_at of the last headline of the previous page …'),
      after_id: z.uuid().optional().describe('… and its headline_id.'),
      limit: z.coerce.number().pipe(z.int().min(1).max(1000)).default(100),
    }),
    row: z.object({
      headline_id: z.string(),
      published_at: exactTime,
      headline: z.string().nullable(),
      language: z.string().nullable(),
      source: z.string().nullable(),
      url: z.string().nullable(),
      topic_probability: score,
      directional_score: score,
      semantic_score: score,
      first_seen_at: exactTime,
      changed_at: exactTime,
      retracted_at: exactTime.nullable(),
      reason: z.string().nullable().describe('Why it was retracted: retracted or moved.'),
      moved_from: exactTime
        .nullable()
        .describe('Its first publication time, if the service has corrected it since.'),
      earlier: z.int(),
      later: z.int(),
    }),
    ask: ({ match_type, as_of, find, after_time, after_id, ...others }) =>
      headlinesOf({
        ...others,
        find: find ?? null,
        matchType: match_type,
        asOf: as_of ?? null,
        after: after_time && after_id ? { published_at: after_time, headline_id: after_id } : null,
      }),
  }),
  endpoint('headlines/stories', 'The stories that raise and lower the mean of a series most (50 each)', {
    takes: z.object({
      ...headline,
      from: exactMoment.describe('From this moment on …'),
      to: exactMoment.describe('… and before this one.'),
      as_of: asOf,
      find,
      model: z.enum(['directional', 'semantic']).default('directional'),
    }),
    row: z.object({
      headline: z.string().nullable().describe('As its latest headline puts it.'),
      source: z.string().nullable(),
      url: z.string().nullable(),
      last_at: exactTime,
      headlines: z.int().describe('Headlines that say the same (gmsi.story_key).'),
      directional: score,
      semantic: score,
      contribution: z.number().describe('To the mean, which is the sum of all contributions.'),
    }),
    ask: ({ match_type, as_of, find, ...others }) =>
      storiesOf({ ...others, matchType: match_type, asOf: as_of ?? null, find: find ?? null }),
  }),
  endpoint('headlines/versions', 'All versions of a headline, the first one first', {
    takes: z.object({ ...headline, published_at: exactMoment, headline_id: z.uuid() }),
    row: z.object({
      known_from: exactTime,
      known_to: exactTime.nullable(),
      headline: z.string().nullable(),
      directional_score: score,
      semantic_score: score,
      topic_probability: score,
      retracted_at: exactTime.nullable(),
      reason: z.string().nullable(),
    }),
    ask: ({ match_type, ...key }) => versionsOf({ ...key, matchType: match_type }),
  }),
];
