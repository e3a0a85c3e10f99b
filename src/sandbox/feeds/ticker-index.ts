import { type Day, MS_PER_DAY } from '../days.ts';
import { scoreOf } from '../generate/ticker-headlines-of-day.ts';
import { readChoice, readFlag } from '../paging/parameters.ts';
import { comparePositions } from '../position.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { TICKER_TOPICS } from '../world/tickers.ts';
import type { Feed, LiveFeed, PagedFeed } from './feed.ts';
import { emptyHour, type HourlyComponents, hourlyComponents } from './hourly-components.ts';
import {
  findTicker,
  readTopicPreset,
  TICKER_MATCH_TYPES,
  tickerHeadlinesServed,
} from './ticker-headlines.ts';

const HOUR = 3_600_000;

/**
 * A record for each hour and topic, of all headlines of the ticker. Made up: hours without headlines are left out unless
 * `sparse` is false, and times are the beginnings of hours unless `align_to_period_end` is true. In both cases, a record
 * belongs to the day on which its hour begins.
 */
const series: Feed['series'] = ({ ticker: code = '' }, query, view) => {
  const ticker = findTicker(code);
  const indexType = readChoice(query, 'index_type', TICKER_MATCH_TYPES);
  const topics = readTopicPreset(query);
  const isSparse = readFlag(query, 'sparse', true);
  const shift = readFlag(query, 'align_to_period_end', false) ? HOUR : 0;
  const look = view.settings.records;
  return {
    asked: [code, indexType, topics, isSparse, shift],
    itemsOfDay: (day) => {
      const headlines = tickerHeadlinesServed(view, ticker, indexType, day);
      const items = TICKER_TOPICS[ticker.assetClass].flatMap((topic, place) => {
        if (topics?.includes(topic.name) === false) return [];
        const ofTopic = headlines.filter((headline) => headline.topic === topic);
        const scored = ofTopic.map(({ publishedAt, scores }) => ({ publishedAt, score: scoreOf(scores) }));
        const hours = isSparse
          ? hourlyComponents(scored)
          : everyHour(hourlyComponents(scored), day, view.now);
        return hours.map(({ hour, count, sum, absSum, std }) => ({
          publishedAt: hour,
          id: `topic-${place}`,
          toWire: () => ({
            ticker: ticker.code,
            publication_time: writeTime(hour + shift, look.tickerTimes, view.zone),
            topic_name: topic.name,
            headline_count: count,
            sentiment_sum: writeNumber(sum, look),
            sentiment_abs_sum: writeNumber(absSum, look),
            sentiment_std: writeNumber(std, look),
          }),
        }));
      });
      return items.sort(comparePositions);
    },
  };
};

/** Hourly sentiment of an asset (docs/service.md, "Asset feeds"). */
export const historicalTickerIndex: PagedFeed = {
  kind: 'paged',
  name: 'ticker-index',
  method: 'GET',
  route: '/v1/headlines/index/ticker/historical/:ticker',
  series,
};

/** The same records of the last 2 hours (docs/service.md, "Live feeds"). */
export const liveTickerIndex: LiveFeed = {
  kind: 'live',
  name: 'ticker-index-live',
  route: '/v1/headlines/index/ticker/live/:ticker',
  hours: ({ live }) => live.tickerHours,
  series,
};

/** The hours of a day that have begun, empty if they had no headlines. */
function everyHour(components: readonly HourlyComponents[], day: Day, now: number): HourlyComponents[] {
  const known = new Map(components.map((it) => [it.hour, it]));
  return Array.from({ length: 24 }, (_, i) => day * MS_PER_DAY + i * HOUR)
    .filter((hour) => hour <= now)
    .map((hour) => known.get(hour) ?? emptyHour(hour));
}
