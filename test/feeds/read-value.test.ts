import { describe, expect, test } from 'vitest';
import { valueReaders } from '../../src/feeds/reading/read-fields.ts';

describe('a number', () => {
  test.each([
    [0.91, 0.91],
    ['0.91', 0.91],
    [' -1 ', -1],
    ['+.5', 0.5],
    ['5.', 5],
    ['1e-3', 0.001],
    ['1E2', 100],
  ])('is read from %j', (sent, expected) => {
    expect(valueReaders['double precision'](sent)).toBe(expected);
  });

  test('is not read from anything else', () => {
    const texts = ['NaN', 'Infinity', '-inf', '1e999', '0x10', ' ', '0,5', '85%', 'High', '1_000'];
    for (const sent of [...texts, Number.NaN, Number.POSITIVE_INFINITY, true, [0.5], {}])
      expect(valueReaders['double precision'](sent), String(sent)).toBeUndefined();
  });
});

describe('a text', () => {
  test.each([
    ['Инфляция 🥖', 'Инфляция 🥖'],
    ['a\0b', 'a\ufffdb'],
    ['a\ud83db', 'a\ufffdb'],
    ['\udc00', '\ufffd'],
    [' ', ' '],
    [7, '7'],
    [false, 'false'],
  ])('is read from %j', (sent, expected) => {
    expect(valueReaders.text(sent)).toBe(expected);
  });

  test('is not read from objects and lists', () => {
    expect(valueReaders.text(['en'])).toBeUndefined();
    expect(valueReaders.text({ code: 'en' })).toBeUndefined();
  });
});

describe('an id', () => {
  test('is read from texts and numbers with all their digits', () => {
    expect(valueReaders.uuid('9007199254740993')).toBe('9007199254740993');
    expect(valueReaders.uuid(42)).toBe('42');
  });

  test('is not read from anything else', () => {
    expect(valueReaders.uuid(true)).toBeUndefined();
    expect(valueReaders.uuid(Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(valueReaders.uuid({ $oid: 'a' })).toBeUndefined();
  });
});
