import { describe, expect, test } from 'vitest';
import { CursorBroken, CutOff, MalformedPage, PageTooLarge } from '../../src/service/errors.ts';
import { readEnvelope } from '../../src/service/page.ts';

describe('readPage', () => {
  test('reads a page that has more', () => {
    expect(readEnvelope({ data: [1, 2], limit: 2, has_more: true, next_token: 'A' }, 40)).toEqual({
      records: [1, 2],
      nextToken: 'A',
      isCutOff: false,
      bytes: 40,
    });
  });

  test('follows an empty page that has a token', () => {
    expect(readEnvelope({ data: [], has_more: true, next_token: 'A' }, 1).nextToken).toBe('A');
  });

  test.each([null, undefined, '', 'left over'])('ends at has_more: false, with next_token %j', (token) => {
    expect(readEnvelope({ data: [], has_more: false, next_token: token }, 1).nextToken).toBeNull();
  });

  test.each([null, undefined, ''])('breaks the cursor at has_more: true with next_token %j', (token) => {
    expect(() => readEnvelope({ data: [], has_more: true, next_token: token }, 1)).toThrow(CursorBroken);
  });

  test('reads data that is null as a page without records, the last one or not', () => {
    expect(readEnvelope({ data: null, has_more: false }, 1)).toMatchObject({ records: [], nextToken: null });
    expect(readEnvelope({ data: null, has_more: true, next_token: 'A' }, 1)).toMatchObject({
      ...{ records: [], nextToken: 'A' },
    });
  });

  test('refuses more records than any page should hold, whatever was asked for', () => {
    const records = (length: number) => Array.from({ length }, () => ({}));
    expect(readEnvelope({ data: records(10_000), has_more: false }, 1, { limit: 100 }).records).toHaveLength(
      10_000,
    );
    for (const body of [records(10_001), { data: records(10_001), has_more: false }]) {
      expect(() => readEnvelope(body, 1, { limit: 100, bareArray: true })).toThrow(PageTooLarge);
    }
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
  ])('refuses %s', (_name, body) => {
    expect(() => readEnvelope(body, 1)).toThrow(MalformedPage);
  });
});

describe('readPage, given the page size that was asked for', () => {
  test.each([0, 1, 999])('reads a bare array of %i records as the last page', (length) => {
    const records = Array.from({ length }, (_, index) => ({ index }));
    expect(readEnvelope(records, 3, { limit: 1000 })).toEqual({
      records,
      nextToken: null,
      isCutOff: false,
      bytes: 3,
    });
  });

  test.each([2, 3])(
    'never takes a bare array of %i records for complete where 2 were asked for',
    (length) => {
      const attempt = () => readEnvelope(Array.from({ length }), 3, { limit: 2 });
      expect(attempt).toThrow(CutOff);
      expect(attempt).toThrow(`bare array of ${length} records`);
    },
  );

  test('takes an envelope at its word, however long it is', () => {
    const whole = { data: [1, 2], has_more: false, next_token: null };
    expect(readEnvelope(whole, 1, { limit: 2 })).toMatchObject({ records: [1, 2], isCutOff: false });
  });
});

describe('readPage of a feed with a single answer', () => {
  const live = { bareArray: true, limit: 2 };

  test('reads a bare array, and says whether it may be cut off', () => {
    expect(readEnvelope([1], 3, live)).toEqual({ records: [1], nextToken: null, isCutOff: false, bytes: 3 });
    expect(readEnvelope([1, 2], 3, live)).toEqual({
      records: [1, 2],
      nextToken: null,
      isCutOff: true,
      bytes: 3,
    });
  });

  test('reads an envelope, whose has_more says whether it is cut off', () => {
    const answer = (rest: object) => readEnvelope({ data: [1, 2], ...rest }, 3, live);
    expect(answer({ has_more: false })).toMatchObject({ records: [1, 2], nextToken: null, isCutOff: false });
    expect(answer({ has_more: true })).toMatchObject({ records: [1, 2], nextToken: null, isCutOff: true });
    expect(answer({ has_more: true, next_token: 'A' })).toMatchObject({ nextToken: 'A', isCutOff: false });
  });
});
