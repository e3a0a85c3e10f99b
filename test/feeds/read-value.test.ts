import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { valueReaders } from '../../src/feeds/reading/read-fields.ts';
import { readTime } from '../../src/feeds/reading/read-time.ts';
import { deepestKept, storableJson, storableText } from '../../src/feeds/reading/storable-json.ts';
import { cases } from '../support/cases.ts';

describe('a time', () => {
  test.each(cases`
    2026-05-21T13:00:00Z | 2026-05-21T13:00:00 | 2026-05-21 13:00:00 | 2026-05-21t13:00:00z | 2026-05-21T13:00:00Z
    2026-05-21T13:00:00Z | 2026-05-21 13:00:00 UTC | 2026-05-21T13:00 | 2026-05-21T13:00:00+00:00 | 1779368400
    2026-05-21T13:00:00Z | 2026-05-21T13:00:00-00:00 | 2026-05-21T13:00:00.000
    2026-05-21T00:00:00Z | 2026-05-21
    2026-05-21T07:30:00Z | 2026-05-21T13:00:00+0530
    2026-05-22T04:00:00Z | 2026-05-21T23:00:00-05
    2026-05-21T13:00:00.500000Z | 2026-05-21T13:00:00.5
    2026-05-21T13:00:00.123456Z | 2026-05-21T13:00:00.123456 | 2026-05-21T14:00:00.123456789+01:00
    2026-05-21T13:00:00.123000Z | 1779368400123
    2026-05-21T13:00:00.000001Z | 1779368400.000001
    2024-02-29T23:59:59Z | 2024-02-29T23:59:59Z
    1900-01-01T00:00:00Z | 1900-01-01T00:00:00
    2000-02-29T00:00:00Z | 2000-02-29
    2017-01-01T00:00:00Z | 2016-12-31T23:59:60Z
    2027-01-01T00:30:00Z | 2026-12-31T23:30:00-01:00
    2023-05-01T00:00:00Z | 20230501
    2023-05-01T14:00:00Z | 2023050114
    2023-05-01T14:30:00Z | 202305011430 | 202305011430.0
    2023-05-01T14:30:15Z | 20230501143015
  `)('%s is read from %s, and so from its other forms', (expected, ...forms) => {
    for (const sent of forms) expect(readTime(sent), sent).toBe(expected);
  });

  test.each([
    [1779368400, '2026-05-21T13:00:00Z'],
    [1779368400123, '2026-05-21T13:00:00.123000Z'],
    [1779368400.25, '2026-05-21T13:00:00.250000Z'],
    [915148800000, '1999-01-01T00:00:00Z'],
    [2023050114, '2023-05-01T14:00:00Z'],
    [202305011430, '2023-05-01T14:30:00Z'],
    [20230501143015, '2023-05-01T14:30:15Z'],
  ])('is read from the number %d', (sent, expected) => {
    expect(readTime(sent)).toBe(expected);
  });

  test.each(cases`
    no such day | 2026-02-30 | 2026-02-29T00:00:00 | 1900-02-29 | 2026-04-31 | 2026-13-01 | 2026-00-10 | 2026-05-00
    no such hour | 2026-05-21T24:00:00 | 2026-05-21T13:60:00 | 2026-05-21T13:00:61 | 0000-00-00T00:00:00
    no such zone | 2026-05-21T13:00:00+16:00 | 2026-05-21T13:00:00+01:60
    not a form | 2026-05-21T13 | 26-05-21 | 21/05/2026 | yesterday | 202605 | 2023050114.5
    no such digits | 20260230 | 2023130114 | 202305311460 | 20230501146015
    out of range | 1899-12-31T23:59:59 | 2101-01-01 | 2100-12-31T23:30:00-01:00 | 0050-01-01T00:00:00+01:00
  `)('is not read from what is %s', (_, ...forms) => {
    for (const sent of forms) expect(readTime(sent), sent).toBeUndefined();
  });

  test('is not read from other numbers and values', () => {
    const numbers = [
      0,
      -1779368400,
      5e9,
      1e300,
      2023050124,
      202302301430,
      Number.NaN,
      Number.POSITIVE_INFINITY,
    ];
    for (const sent of [...numbers, '2026-05-21T13:00:00\n', true, ['2026-05-21'], { $date: '2026-05-21' }])
      expect(readTime(sent), String(sent)).toBeUndefined();
  });

  test('is the same instant that JavaScript reads, whatever the zone it is written in', () => {
    const instants = fc.date({
      min: new Date('1901-01-01T00:00:00Z'),
      max: new Date('2099-12-31T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(instants, fc.integer({ min: -14 * 60, max: 14 * 60 }), (instant, offset) => {
        const local = new Date(instant.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, '0');
        const minutes = String(Math.abs(offset) % 60).padStart(2, '0');
        const read = readTime(`${local}${offset < 0 ? '-' : '+'}${hours}:${minutes}`);
        expect(new Date(read ?? 'unread').getTime()).toBe(instant.getTime());
      }),
    );
  });
});

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

function nested(levels: number): unknown {
  let value: unknown = 'core';
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

describe('JSON for jsonb', () => {
  test('is the value itself for every value that jsonb can hold', () => {
    const storable = fc.jsonValue({ stringUnit: 'grapheme' });
    fc.assert(
      fc.property(storable, (value) => {
        expect(storableJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  test('never holds a NUL or a lone surrogate, and changes nothing else', () => {
    const pieces = fc.array(
      fc.constantFrom('\0', '\ud800', '\udfff', '\\', '\\u0000', '\\ud800', '"', '\u0001', '🥖', 'a'),
    );
    fc.assert(
      fc.property(pieces, pieces, (key, text) => {
        const kept = JSON.parse(storableJson({ [key.join('')]: [text.join('')] }));
        expect(kept).toEqual({ [storableText(key.join(''))]: [storableText(text.join(''))] });
        expect(JSON.stringify(kept)).not.toMatch(/(?<!\\)(\\\\)*\\u(0000|d[89a-f])/);
      }),
    );
  });

  test('writes what is no finite number as a text, however deep', () => {
    expect(
      storableJson({ a: Number.NaN, b: [{ c: Number.POSITIVE_INFINITY }, Number.NEGATIVE_INFINITY, 1] }),
    ).toBe('{"a":"NaN","b":[{"c":"Infinity"},"-Infinity",1]}');
  });

  test('keeps a key `__proto__` beside numbers that have to be replaced', () => {
    expect(storableJson(JSON.parse('{"__proto__":{"a":1e999},"constructor":1}'))).toBe(
      '{"__proto__":{"a":"Infinity"},"constructor":1}',
    );
  });

  test('keeps values nested as deep as can be held', () => {
    expect(JSON.parse(storableJson(nested(deepestKept)))).toEqual(nested(deepestKept));
  });

  test.each([deepestKept + 1, 100_000])('says where a value nested %i levels deep was cut', (levels) => {
    expect(storableJson(nested(levels))).toContain(`"nested deeper than ${deepestKept} levels"`);
  });
});
