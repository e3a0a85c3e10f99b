import { eventScore } from '../generate/events-of-day.ts';
import { readChoice } from '../paging/parameters.ts';
import { comparePositions } from '../position.ts';
import { invalidParameter } from '../refusal.ts';
import { listOf } from '../service.ts';
import type { View } from '../view.ts';
import { writeNumber, writeTime } from '../wire-values.ts';
import { TICKER_BY_CODE, type Ticker } from '../world/tickers.ts';
import type { FeedItem, PagedFeed } from './feed.ts';
import { hourlyComponents } from './hourly-components.ts';
import { EVENT_TYPE_CHOICES, type EventTypeChoice, eventsServed } from './ticker-events.ts';
import { findTicker } from './ticker-headlines.ts';

/** Event sentiment metrics of an asset (docs/service.md, "Asset feeds"); parameter and fields are made up. */
export const tickerEventMetrics: PagedFeed<'ticker-event-metrics'> = {
  kind: 'paged',
  name: 'ticker-event-metrics',
  method: 'GET',
  route: '/v1/events/index/historical/ticker/:ticker',
  series({ ticker: code = '' }, query, view) {
    const ticker = findTicker(code);
    const eventType = readChoice(query, 'event_type', EVENT_TYPE_CHOICES);
    return {
      asked: [code, eventType],
      itemsOfDay: (day) => metricsOfDay(view, ticker, [eventType], day),
    };
  },
};

/**
 * The custom query. Its body is made up: `{ tickers: [...], start_date, end_date, event_types?, limit?, next_token? }`, with
 * their usual meanings; `next_token` can also be a query parameter.
 */
export const eventMetricsQuery: PagedFeed<'event-metrics-query'> = {
  kind: 'paged',
  name: 'event-metrics-query',
  method: 'POST',
  route: '/v1/events/index/query',
  series(_params, query, view) {
    const tickers = listOf(query.tickers).map((code) => {
      const ticker = TICKER_BY_CODE.get(code);
      if (ticker === undefined) throw invalidParameter('tickers', `Unknown ticker '${code}'`, code);
      return ticker;
    });
    if (tickers.length === 0) throw invalidParameter('tickers', 'Field required', undefined);
    const given = listOf(query.event_types).map((event_types) =>
      readChoice({ event_types }, 'event_types', EVENT_TYPE_CHOICES),
    );
    const eventTypes: EventTypeChoice[] = given.length === 0 ? ['Combined'] : [...new Set(given)];
    return {
      asked: [[...new Set(tickers)].map(({ code }) => code), eventTypes],
      itemsOfDay: (day) =>
        [...new Set(tickers)]
          .flatMap((ticker) => metricsOfDay(view, ticker, eventTypes, day))
          .sort(comparePositions),
    };
  },
};

/** Returns the components of the events' scores, for each hour with events and each requested type. */
function metricsOfDay(
  view: View,
  ticker: Ticker,
  eventTypes: readonly EventTypeChoice[],
  day: number,
): FeedItem[] {
  const look = view.settings.records;
  return eventTypes.flatMap((eventType) => {
    const scored = eventsServed(view, ticker, eventType, day).map((event) => ({
      publishedAt: event.publishedAt,
      score: eventScore(event),
    }));
    return hourlyComponents(scored).map(({ hour, count, sum, absSum, std }) => ({
      publishedAt: hour,
      id: `${ticker.code}-${eventType}`,
      toWire: () => ({
        ticker: ticker.code,
        publication_time: writeTime(hour, 'utc', view.zone),
        event_type: eventType,
        event_count: count,
        sentiment_sum: writeNumber(sum, look),
        sentiment_abs_sum: writeNumber(absSum, look),
        sentiment_std: writeNumber(std, look),
      }),
    }));
  });
}
