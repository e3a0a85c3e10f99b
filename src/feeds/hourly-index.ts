import { componentColumns, likely } from './likely-columns.ts';

/**
 * Hourly components of sentiment, as both headline indices send them: the mean is sum / count (docs/service.md, "Index
 * feeds"). An hour is identified by its time and topic alone, so that changed components are a new version of it.
 * @param topicColumn where the record's own topic goes
 */
export function hourlyIndex(topicColumn: 'topic' | 'topic_name') {
  return {
    columns: {
      published_at: likely.published_at,
      [topicColumn]: likely.topic,
      headline_count: ['double precision', 'headline_count', 'count'] as const,
      ...componentColumns,
    },
    identity: { of: ['published_at', topicColumn] },
    required: [
      { anyOf: ['published_at'], reason: 'no readable publication time' },
      { anyOf: ['headline_count', 'sentiment_sum', 'sentiment_abs_sum'], reason: 'no sentiment components' },
    ],
  };
}
