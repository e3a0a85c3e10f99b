import type { Day } from '../days.ts';
import { served } from '../generate/as-served.ts';
import { EVENT_TYPES, eventsOfDay, reviseEvent, type TickerEvent } from '../generate/events-of-day.ts';
import { readChoice } from '../paging/parameters.ts';
import type { View } from '../view.ts';
import { writeTime } from '../wire-values.ts';
import type { Ticker } from '../world/tickers.ts';
import type { PagedFeed } from './feed.ts';
import { findTicker } from './ticker-headlines.ts';

/** `Combined` is likely, the others are made up. */
export const EVENT_TYPE_CHOICES = ['Combined', ...EVENT_TYPES] as const;

export type EventTypeChoice = (typeof EVENT_TYPE_CHOICES)[number];

/** Historical events of an asset (docs/service.md, "Asset feeds"). */
export const tickerEvents: PagedFeed<'ticker-events'> = {
  kind: 'paged',
  name: 'ticker-events',
  method: 'GET',
  route: '/v1/events/feed/historical/ticker/:ticker',
  series({ ticker: code = '' }, query, view) {
    const ticker = findTicker(code);
    const eventType = readChoice(query, 'event_type', EVENT_TYPE_CHOICES);
    const look = view.settings.records;
    return {
      asked: [code, eventType],
      itemsOfDay: (day) =>
        eventsServed(view, ticker, eventType, day).map((event) => ({
          publishedAt: event.publishedAt,
          id: event.id,
          toWire: () => ({
            ...(look.ids ? { id: event.id } : {}),
            event_date: writeTime(event.publishedAt, 'utc', view.zone),
            event_name: event.name,
            summary: event.summary,
            event_type: event.type,
            direction: event.isBullish ? 'Bullish' : 'Bearish',
            // A number sent as a string, or a word: both are likely.
            impact: String(event.impact),
            topic_name: event.topic.name,
          }),
        })),
    };
  },
};

/** Returns the events of a UTC day as they are served, oldest first. */
export function eventsServed(
  view: View,
  ticker: Ticker,
  eventType: EventTypeChoice,
  day: Day,
): TickerEvent[] {
  const asked = eventsOfDay(view.settings, ticker, day).filter(
    ({ type }) => eventType === 'Combined' || type === eventType,
  );
  return served(asked, view, reviseEvent);
}
