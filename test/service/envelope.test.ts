import { describe, expect, test } from 'vitest';
import { CursorBroken, MalformedPage, PageTooLarge } from '../../src/service/errors.ts';
import { readEnvelope } from '../../src/service/page.ts';

const more = { has_more: true, next_token: 'A' };
const over = { has_more: false };
/** Of a feed with a single answer. */
const live = { bareArray: true, limit: 2 };
const records = (length: number) => Array.from({ length }, (_, index) => ({ index }));

describe('an answer', () => {
  test.each([
    ['a page that has more', { data: [1, 2], limit: 2, ...more }, undefined, [1, 2], 'A'],
    ['an empty page that has a token', { data: [], ...more }, undefined, [], 'A'],
    ['the last page', { data: [1], ...over, next_token: null }, undefined, [1], null],
    ['the last page, without a token', { data: [1], ...over }, undefined, [1], null],
    ['the last page, with a token left over', { data: [], ...over, next_token: 'old' }, undefined, [], null],
    ['data that is null', { data: null, ...over }, undefined, [], null],
    ['data that is null, and has more', { data: null, ...more }, undefined, [], 'A'],
    ['an envelope, however long it is', { data: [1, 2], ...over }, { limit: 2 }, [1, 2], null],
    ['a bare array that is shorter than was asked for', [1], { limit: 2 }, [1], null],
    ['an empty bare array', [], { limit: 2 }, [], null],
    ['a live bare array', [1], live, [1], null],
    ['a live envelope', { data: [1, 2], ...over }, live, [1, 2], null],
    ['a live envelope that has a token', { data: [1, 2], ...more }, live, [1, 2], 'A'],
  ] as const)('%s is read', (_, body, asked, data, nextToken) => {
    expect(readEnvelope(body, asked)).toEqual({ records: data, nextToken });
  });

  test.each([
    ['a bare array as long as its limit', [1, 2]],
    ['an envelope that has more and no token', { data: [1, 2], has_more: true }],
  ])('of a live feed is read, though it may be cut off: %s', (_, body) => {
    expect(readEnvelope(body, live)).toMatchObject({ records: [1, 2], nextToken: null });
  });

  test.each([null, undefined, ''])('breaks the cursor at has_more: true with next_token %j', (token) => {
    expect(() => readEnvelope({ data: [], has_more: true, next_token: token })).toThrow(CursorBroken);
  });

  test.each([2, 3])('is not whole as a bare array of %i records where 2 were asked for', (length) => {
    const attempt = () => readEnvelope(records(length), { limit: 2 });
    expect(attempt).toThrow(CursorBroken);
    expect(attempt).toThrow(`bare array of ${length} records`);
  });

  test.each([50, 100, 250, 500])(
    'is not whole as a bare array of %i records where 1,000 were asked for, unless the feed has one answer',
    (length) => {
      const attempt = () => readEnvelope(records(length), { limit: 1000 });
      expect(attempt).toThrow(CursorBroken);
      expect(attempt).toThrow(`bare array of ${length} records; 1000 were requested`);
      const answer = readEnvelope(records(length), { limit: 1000, bareArray: true });
      expect(answer.records).toHaveLength(length);
      expect(readEnvelope(records(length + 1), { limit: 1000 }).records).toHaveLength(length + 1);
    },
  );

  test('has no more records than any page should hold, whatever was asked for', () => {
    const asked = { limit: 100, bareArray: true };
    expect(readEnvelope({ data: records(10_000), ...over }, asked).records).toHaveLength(10_000);
    for (const body of [records(10_001), { data: records(10_001), ...over }])
      expect(() => readEnvelope(body, asked)).toThrow(PageTooLarge);
  });

  test.each([
    ['null', null],
    ['a text', 'busy'],
    ['an error object', { detail: 'busy' }],
    ['data that is an object', { data: {}, has_more: false }],
    ['no has_more', { data: [] }],
    ['has_more as a text', { data: [], has_more: 'false' }],
    ['a number as token', { data: [], has_more: true, next_token: 7 }],
    ['a bare array', []],
  ])('is none if it is %s', (_name, body) => {
    expect(() => readEnvelope(body)).toThrow(MalformedPage);
  });
});
