import type { ReadColumns } from './define-feed.ts';

/** Field names for the time of an event. */
export const eventTimes = ['event_date', 'event_time', 'event_datetime', 'event.date'] as const;

/**
 * Columns that feeds share. The field names of ticker headlines and both indices are our best guess (docs/service.md); the
 * others are common in such services.
 */
export const likely = {
  published_at: [
    'timestamptz',
    ...['publication_time', 'published_at', 'publication_timestamp', 'publication_date', 'published'],
    ...['timestamp', 'datetime', 'date'],
  ],
  topic: ['text', 'topic_name', 'topic', 'topic.name'],
  topic_probability: ['double precision', 'topic_probability', 'topic.probability'],
  event_name: ['text', 'event_name', 'event.name'],
  event_type: ['text', 'event_type', 'type'],
  sentiment_score: ['double precision', 'sentiment_score', 'score'],
} satisfies ReadColumns;

/** What all feeds of headlines have in common. */
export const headlines = {
  columns: {
    headline_id: ['uuid', 'id', 'headline_id', 'uuid', 'guid', 'article_id'],
    published_at: likely.published_at,
    headline: ['text', 'headline', 'title', 'headline_text', 'text', 'headline.text', 'headline.title'],
    language: ['text', 'language', 'lang', 'language_code', 'language.code'],
    source: ['text', 'source', 'source_name', 'publisher', 'source.name', 'publisher.name'],
    url: ['text', 'url', 'link', 'headline_url', 'article_url'],
    model_version: [
      'text',
      ...['model_version', 'model.version', 'sentiment_model_version', 'scoring_model_version'],
    ],
  } satisfies ReadColumns,
  identity: { id: 'headline_id', time: 'published_at', text: 'headline', qualifiers: ['source', 'language'] },
  isPartitioned: true,
} as const;

export const published = { anyOf: ['published_at'], reason: 'no readable publication time' };

/** Columns of every feed with sums of sentiment, besides the count. */
export const componentColumns = {
  sentiment_sum: ['double precision', 'sentiment_sum'],
  sentiment_abs_sum: ['double precision', 'sentiment_abs_sum'],
  sentiment_std: ['double precision', 'sentiment_std'],
} satisfies ReadColumns;
