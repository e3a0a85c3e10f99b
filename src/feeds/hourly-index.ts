import type { ReadColumns } from './define-feed.ts';
import type { Series } from './feed.ts';
import { componentColumns, likely, published } from './likely-columns.ts';

/**
 * Hourly components of sentiment, as all headline indices send them: the mean is sum / count (docs/service.md, "Index
 * feeds"). An hour is identified by its time and topic, never by its values, so that changed components are a new version
 * of it.
 * @param topicColumn the column for the record's own topic
 * @param apart further columns that identify an hour
 */
export function hourlyIndex(topicColumn: 'topic' | 'topic_name', apart: ReadColumns = {}) {
  return {
    parameters: { matchType: 'index_type' },
    columns: {
      published_at: likely.published_at,
      [topicColumn]: likely.topic,
      ...apart,
      headline_count: ['bigint', 'headline_count', 'count'] as const,
      ...componentColumns,
    },
    // The service's defaults are unknown, so these are sent only if a job names them.
    variants: { sparse: [], align_to_period_end: [] },
    identity: { of: ['published_at', topicColumn, ...Object.keys(apart)] },
    required: [
      published,
      { anyOf: ['headline_count', 'sentiment_sum', 'sentiment_abs_sum'], reason: 'no sentiment components' },
    ],
    isPartitioned: true,
  };
}

/** Returns true if the hours of the series are stamped at their end. */
export function isStampedAtEnd({ variant }: Pick<Series, 'variant'>): boolean {
  return new URLSearchParams(variant).get('align_to_period_end') === 'true';
}
