import { z } from 'zod';
import { dayRange, daysIn } from '../plan/days.ts';
import { headlinesOf, storiesOf, versionsOf } from '../warehouse/questions/headlines.ts';
import {
  type SentimentAsked,
  sentimentByCountry,
  sentimentByTopic,
  sentimentChanges,
  sentimentOverTime,
} from '../warehouse/questions/sentiment.ts';
import {
  by,
  day,
  endpoint,
  exactMoment,
  exactTime,
  moment,
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
const means = { directional: score, semantic: score, headlines: z.int() };

type Taken = z.output<typeof asked> & { readonly by?: SentimentAsked['by'] };

function toAsk({ country, topic, match_type, from, to, as_of, by = 'day' }: Taken): SentimentAsked {
  const lists = { countries: country, topics: topic, matchTypes: match_type };
  return { ...lists, from, to, by, asOf: as_of ?? null };
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
    row: z.object({ country: z.string(), ...means }),
    ask: (taken) => sentimentByCountry(toAsk(taken)),
  }),
  endpoint('sentiment/topics', 'Mean sentiment of countries by topic over time', {
    takes: overTime,
    row: z.object({ topic: z.string(), at: z.string(), ...means }),
    ask: (taken) => sentimentByTopic(toAsk(taken)),
  }),
  endpoint(
    'sentiment/changes',
    'What changed against the 90 days or 12 weeks before, the most unusual first (500 at most)',
    {
      takes: z.object({
        match_type: text(100).default('COMBINED'),
        model: z.enum(['directional', 'semantic']).default('directional'),
        to: day.describe('Last day (UTC) of the period.'),
        days: z.enum(['1', '7']).default('7').describe('Its length.'),
        of: z.enum(['series', 'country', 'topic']).default('series'),
      }),
      row: z.object({
        country: z.string().nullable(),
        topic: z.string().nullable(),
        mean: z.number(),
        headlines: z.int(),
        usual: score.describe('Mean of the means of the periods before.'),
        periods: z.int().describe('Periods before with headlines.'),
        z: score.describe('null if less than half of the periods before had headlines.'),
        state: state.describe(
          'What is loaded of the period, over all series of the row: covered, settling or partial.',
        ),
        usual_state: state.describe(
          'The same of the periods before, all together; not loaded if nothing is.',
        ),
      }),
      ask: ({ match_type, days, ...others }) =>
        sentimentChanges({ ...others, matchType: match_type, days: days === '1' ? 1 : 7 }),
    },
  ),
  endpoint('headlines', 'The headlines of a series and a period, the latest first', {
    takes: z.object({
      ...headline,
      from: moment.describe('From this moment on …'),
      to: moment.describe('… and before this one.'),
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
      from: moment.describe('From this moment on …'),
      to: moment.describe('… and before this one.'),
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
