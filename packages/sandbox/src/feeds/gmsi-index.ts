import { pairOf } from '../generate/headlines-of-day.ts';
import { round4 } from '../generate/scores.ts';
import { readChoice } from '../paging/parameters.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { type Feed, withLive } from './feed.ts';
import { findPair, headlinesServed, MATCH_TYPES } from './gmsi-headlines.ts';
import { readHours } from './hourly-components.ts';

const MODELS = { directional: 'directional', semantic_sentiment: 'semantic' } as const;
const SENTIMENT_TYPES = Object.keys(MODELS) as (keyof typeof MODELS)[];

/** A headline's score is its positive minus its negative probability. */
const series: Feed['series'] = ({ country: code = '' }, query, view) => {
  const { country, topic } = findPair(code, query.topic);
  const indexType = readChoice(query, 'index_type', MATCH_TYPES);
  const sentimentType = readChoice(query, 'sentiment_type', SENTIMENT_TYPES);
  const model = MODELS[sentimentType];
  const hours = readHours(query, view.now);
  const pair = pairOf(view.settings, country, topic);
  const look = view.settings.records;
  return {
    asked: [code, topic.name, indexType, sentimentType, ...hours.asked],
    itemsOfDay: (day) => {
      const scored = headlinesServed(view, pair, indexType, day).flatMap(
        ({ publishedAt, [model]: scores }) =>
          scores ? [{ publishedAt, score: round4(scores.positive - scores.negative) }] : [],
      );
      return hours.ofDay(scored, day).map((components) => ({
        publishedAt: components.hour,
        id: 'hour',
        toWire: () => ({
          publication_time: writeTime(hours.stampOf(components), look.times, view.zone),
          topic_name: topic.name,
          headline_count: components.count,
          sentiment_sum: writeNumber(components.sum, look),
          sentiment_abs_sum: writeNumber(components.absSum, look),
          sentiment_std: writeNumber(components.std, look),
        }),
      }));
    },
  };
};

/** Hourly sentiment of one country and topic (docs/service.md, "Index feeds"). */
export const gmsiIndex = withLive({
  name: 'gmsi-index',
  route: '/v1/headlines/index/gmsi/historical/:country',
  series,
  hours: 24,
});
