import { describe, expect, test } from 'vitest';
import { readPage } from '../../src/api/envelope.ts';
import { CursorBroken, MalformedPage } from '../../src/api/errors.ts';

describe('readPage', () => {
  test('reads a page that has more', () => {
    expect(readPage({ data: [1, 2], limit: 2, has_more: true, next_token: 'A' }, 40)).toEqual({
      records: [1, 2],
      nextToken: 'A',
      bytes: 40,
    });
  });

  test('follows an empty page that has a token', () => {
    expect(readPage({ data: [], has_more: true, next_token: 'A' }, 1).nextToken).toBe('A');
  });

  test.each([null, undefined, '', 'left over'])('ends at has_more: false, with next_token %j', (token) => {
    expect(readPage({ data: [], has_more: false, next_token: token }, 1).nextToken).toBeNull();
  });

  test.each([null, undefined, ''])('breaks the cursor at has_more: true with next_token %j', (token) => {
    expect(() => readPage({ data: [], has_more: true, next_token: token }, 1)).toThrow(CursorBroken);
  });

  test.each([
    ['null', null],
    ['a text', 'busy'],
    ['an error object', { detail: 'busy' }],
    ['data that is null', { data: null, has_more: false }],
    ['data that is an object', { data: {}, has_more: false }],
    ['no has_more', { data: [] }],
    ['has_more as a text', { data: [], has_more: 'false' }],
    ['a number as token', { data: [], has_more: true, next_token: 7 }],
    ['a bare array', []],
  ])('refuses %s', (_name, body) => {
    expect(() => readPage(body, 1)).toThrow(MalformedPage);
  });

  test('reads a bare array as the only page where that is asked for', () => {
    expect(readPage([1], 3, { bareArray: true })).toEqual({ records: [1], nextToken: null, bytes: 3 });
  });
});
