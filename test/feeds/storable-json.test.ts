import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deepestKept, storableJson, storableText } from '../../src/feeds/reading/storable-json.ts';

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
