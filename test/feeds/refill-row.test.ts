import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FieldAliases, Row } from '../../src/feeds/feed.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';
import { gmsiIndex } from '../../src/feeds/gmsi-index.ts';
import { aRecord, without } from './a-record.ts';

const aliases: FieldAliases = {
  headline_id: ['ref'],
  headline: ['caption'],
  source: ['press.name'],
  topic_probability: ['tp'],
  directional_positive: ['dir.up'],
  directional_negative: ['dir.down'],
  semantic_score: ['net_semantic'],
};

/** A row as a reader without the aliases makes it, and what a reader with them makes of it. */
function refill(record: Record<string, unknown>, overrides: FieldAliases = aliases) {
  const row = gmsiHeadlines.reader().read(record).row!;
  return { row, result: gmsiHeadlines.reader(overrides).refill(row) };
}

/** A record in which the value of each wire name, if it is there at all, has its old or its new name. */
const names = [
  ['id', ['ref']],
  ['headline', ['caption']],
  ['source', ['press', 'name']],
  ['topic_probability', ['tp']],
  ['directional_positive', ['dir', 'up']],
  ['directional_negative', ['dir', 'down']],
  ['semantic_score', ['net_semantic']],
] as const;
// JSON has no -0.
const noughtIsNought = (value: number) => value + 0;
const probability = fc.double({ min: 0, max: 1, noNaN: true }).map(noughtIsNought);
const values = {
  id: fc.oneof(fc.uuid({ version: 4 }), fc.integer({ min: 1 }), fc.string({ minLength: 1 })),
  headline: fc.string(),
  source: fc.string(),
  topic_probability: fc.oneof(probability, fc.constant('n/a')),
  directional_positive: probability,
  directional_negative: fc.oneof(probability, probability.map(String)),
  semantic_score: fc.double({ min: -1, max: 1, noNaN: true }).map(noughtIsNought),
} as const;
const record = fc
  .record({
    sent: fc.record(values, { requiredKeys: [] }),
    renamed: fc.array(fc.constantFrom(...names.map(([name]) => name))),
    empty: fc.array(fc.constantFrom(...names.map(([name]) => name))),
    // So that no record is rejected.
    semantic_positive: probability,
    more: fc.dictionary(fc.constantFrom('a', 'b'), fc.jsonValue(), { maxKeys: 2 }),
  })
  .map(({ sent, renamed, empty, semantic_positive, more }) => {
    const made: Record<string, unknown> = {
      publication_time: '2026-05-21T13:00:00',
      semantic_positive,
      ...more,
    };
    for (const [name, [outer, inner]] of names) {
      if (!(name in sent)) continue;
      const value = empty.includes(name) ? null : sent[name];
      if (!renamed.includes(name)) made[name] = value;
      else if (inner === undefined) made[outer] = value;
      else made[outer] = { ...(made[outer] as object), [inner]: value };
    }
    return made;
  });

describe('a row that is filled from its extra', () => {
  test('is what a reader that had known the names from the start had made of the record', () => {
    fc.assert(
      fc.property(record, (sent) => {
        const { row, result } = refill(sent);
        const anew = gmsiHeadlines.reader(aliases).read(sent).row!;
        if (anew.headline_id !== row.headline_id) {
          expect(result).toEqual({ outcome: 'another identity' });
        } else {
          const filled = result.outcome === 'refilled' ? result.row : row;
          expect(comparable(filled)).toEqual(comparable(anew));
        }
      }),
      { numRuns: 200 },
    );
  });

  test('has no more to fill', () => {
    fc.assert(
      fc.property(record, (sent) => {
        const { result } = refill(sent);
        if (result.outcome !== 'refilled') return;
        expect(gmsiHeadlines.reader(aliases).refill(result.row)).toEqual({ outcome: 'unchanged' });
      }),
    );
  });

  test('names the columns that got a value, computed ones included', () => {
    const sent = without(aRecord({ dir: { up: 0.7 }, tp: 0.5 }), 'directional_positive', 'topic_probability');
    expect(refill(sent).result).toMatchObject({
      outcome: 'refilled',
      filled: ['topic_probability', 'directional_positive', 'directional_score'],
      row: { directional_score: 0.7 - 0.1, topic_probability: 0.5, extra: null },
    });
  });
});

test('an aggregate is left alone if aliases would make it known by something else', () => {
  const sent = { publication_time: '2026-05-21T13:00:00', subject: 'Inflation', sentiment_sum: 1, n: 4 };
  const row = gmsiIndex.reader().read(sent).row!;
  expect(gmsiIndex.reader({ topic_name: ['subject'] }).refill(row)).toEqual({ outcome: 'another identity' });
  expect(gmsiIndex.reader({ headline_count: ['n'] }).refill(row)).toMatchObject({
    row: { entry_id: row.entry_id, headline_count: 4 },
  });
});

function comparable(row: Row): object {
  return { ...row, extra: row.extra === null ? null : JSON.parse(row.extra as string) };
}
