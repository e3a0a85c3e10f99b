import type { FieldAliases } from './feed.ts';
import { likelyNames } from './likely-names.ts';
import type { RecordShape } from './reading/read-record.ts';

/**
 * Hourly components of sentiment, as both headline indices send them: the mean is sum / count (docs/service.md, "Index
 * feeds"). An hour is identified by its time and topic alone, so that changed components are a new version of it.
 * @param topicColumn where the record's own topic goes
 */
export function hourlyIndexShape(topicColumn: 'topic' | 'topic_name') {
  const columns = {
    entry_id: 'uuid',
    published_at: 'timestamptz',
    [topicColumn]: 'text',
    headline_count: 'double precision',
    sentiment_sum: 'double precision',
    sentiment_abs_sum: 'double precision',
    sentiment_std: 'double precision',
    extra: 'jsonb',
  } as const;
  const fields: FieldAliases = {
    published_at: likelyNames.publicationTime,
    [topicColumn]: likelyNames.topic,
    headline_count: likelyNames.headlineCount,
    sentiment_sum: likelyNames.sentimentSum,
    sentiment_abs_sum: likelyNames.sentimentAbsSum,
    sentiment_std: likelyNames.sentimentStd,
  };
  return {
    columns,
    fields,
    identity: { column: 'entry_id', of: ['published_at', topicColumn] },
    differences: [],
    required: [
      { anyOf: ['published_at'], reason: 'no readable publication time' },
      { anyOf: ['headline_count', 'sentiment_sum', 'sentiment_abs_sum'], reason: 'no sentiment components' },
    ],
  } satisfies RecordShape;
}
