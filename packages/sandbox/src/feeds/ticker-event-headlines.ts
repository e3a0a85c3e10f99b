import { served } from '../generate/as-served.ts';
import { eventHeadlinesOfDay, reviseEventHeadline } from '../generate/event-headlines-of-day.ts';
import { readChoice } from '../paging/parameters.ts';
import { writeTime } from '../wire-values.ts';
import type { PagedFeed } from './feed.ts';
import { EVENT_TYPE_CHOICES } from './ticker-events.ts';
import { findTicker } from './ticker-headlines.ts';

/** The headlines about the events of an asset (docs/service.md, "Asset feeds"); parameter and fields are made up. */
export const tickerEventHeadlines: PagedFeed<'ticker-event-headlines'> = {
  kind: 'paged',
  name: 'ticker-event-headlines',
  method: 'GET',
  route: '/v1/event_headlines/feed/historical/ticker/:ticker',
  series({ ticker: code = '' }, query, view) {
    const ticker = findTicker(code);
    const eventType = readChoice(query, 'event_type', EVENT_TYPE_CHOICES);
    const { settings, zone } = view;
    const look = settings.records;
    return {
      asked: [code, eventType],
      itemsOfDay: (day) =>
        served(eventHeadlinesOfDay(settings, ticker, day), view, reviseEventHeadline)
          .filter(({ event }) => eventType === 'Combined' || event.type === eventType)
          .map(({ event, ...headline }) => ({
            publishedAt: headline.publishedAt,
            id: headline.id,
            toWire: () => ({
              ...(look.ids ? { id: headline.id, event_id: event.id } : {}),
              ticker: ticker.code,
              event_name: event.name,
              event_date: writeTime(event.publishedAt, 'utc', zone),
              event_type: event.type,
              publication_time: writeTime(headline.publishedAt, 'utc', zone),
              headline: headline.text,
              source: headline.source,
              language: headline.language,
              topic_name: event.topic.name,
            }),
          })),
    };
  },
};
