import { scoreOf } from '../generate/ticker-headlines-of-day.ts';
import { readChoice } from '../paging/parameters.ts';
import { comparePositions } from '../position.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { TICKER_TOPICS } from '../world/tickers.ts';
import { type Feed, withLive } from './feed.ts';
import { readHours } from './hourly-components.ts';
import {
  findTicker,
  readTopicPreset,
  TICKER_MATCH_TYPES,
  tickerHeadlinesServed,
} from './ticker-headlines.ts';

/** A record for each hour and topic. */
const series: Feed['series'] = ({ ticker: code = '' }, query, view) => {
  const ticker = findTicker(code);
  const indexType = readChoice(query, 'index_type', TICKER_MATCH_TYPES);
  const topics = readTopicPreset(query);
  const hours = readHours(query, view.now);
  const look = view.settings.records;
  return {
    asked: [code, indexType, topics, ...hours.asked],
    itemsOfDay: (day) => {
      const headlines = tickerHeadlinesServed(view, ticker, indexType, day);
      const items = TICKER_TOPICS[ticker.assetClass].flatMap((topic, place) => {
        if (topics?.includes(topic.name) === false) return [];
        const ofTopic = headlines.filter((headline) => headline.topic === topic);
        const scored = ofTopic.map(({ publishedAt, scores }) => ({ publishedAt, score: scoreOf(scores) }));
        return hours.ofDay(scored, day).map((components) => ({
          publishedAt: components.hour,
          id: `topic-${place}`,
          toWire: () => ({
            ticker: ticker.code,
            publication_time: writeTime(hours.stampOf(components), 'utc', view.zone),
            topic_name: topic.name,
            index_type: indexType,
            headline_count: components.count,
            sentiment_sum: writeNumber(components.sum, look),
            sentiment_abs_sum: writeNumber(components.absSum, look),
            sentiment_std: writeNumber(components.std, look),
          }),
        }));
      });
      return items.sort(comparePositions);
    },
  };
};

/** Hourly sentiment of an asset (docs/service.md, "Asset feeds"). */
export const tickerIndex = withLive({
  name: 'ticker-index',
  route: '/v1/headlines/index/ticker/historical/:ticker',
  series,
  hours: 2,
});
