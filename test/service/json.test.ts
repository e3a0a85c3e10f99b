import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/service/json.ts';

describe('a body', () => {
  test('of plain JSON is what JSON.parse makes of it, but for integers that JavaScript cannot hold', () => {
    const safe = fc.jsonValue({ stringUnit: 'binary' });
    fc.assert(
      fc.property(safe, fc.constantFrom(undefined, 1), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        fc.pre(!/\d{16}(?![\d.e])/.test(text.replace(/"(?:[^"\\]|\\.)*"|\.\d+/g, '')));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each([
    ['[NaN,Infinity,-Infinity]', ['NaN', 'Infinity', '-Infinity']],
    ['NaN', 'NaN'],
    [
      '{"a": NaN, "b": "NaN \\" NaN", "c": "\\\\", "d": -Infinity}',
      { a: 'NaN', b: 'NaN " NaN', c: '\\', d: '-Infinity' },
    ],
    ['{"NaN":1,"Infinity War":[Infinity]}', { NaN: 1, 'Infinity War': ['Infinity'] }],
  ])('with what Python writes for numbers that JSON has not, %s, keeps them as texts', (text, expected) => {
    expect(parseJson(text)).toEqual(expected);
  });

  test.each([
    ['9007199254740993', '9007199254740993'],
    ['{"id":12345678901234567890}', { id: '12345678901234567890' }],
    ['[ -9007199254740993 , 9007199254740992]', ['-9007199254740993', '9007199254740992']],
    ['{"id":\n1779368400123456789}', { id: '1779368400123456789' }],
    [
      '{"a":"1 12345678901234567","id":12345678901234567}',
      { a: '1 12345678901234567', id: '12345678901234567' },
    ],
  ])('with integers that JavaScript would round, %s, keeps their digits', (text, expected) => {
    expect(parseJson(text)).toEqual(expected);
  });

  test.each([
    ['[9007199254740991,-9007199254740991]', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
    ['[0.12345678901234567,-0.1234567890123456789]', [0.12345678901234566, -0.12345678901234568]],
    ['[12345678901234567.5,12345678901234567e-3,1E+12]', [12345678901234568, 12345678901234.566, 1e12]],
    ['["12345678901234567","a: 12345678901234567, NaN"]', ['12345678901234567', 'a: 12345678901234567, NaN']],
    ['1e999', Number.POSITIVE_INFINITY],
  ])('with other long numbers or digits in texts, %s, is left as it is', (text, expected) => {
    expect(parseJson(text)).toEqual(expected);
  });

  test('keeps every integer, however long and wherever it stands', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.string(), (integer, text) => {
        const body = `{${JSON.stringify(text)}:[${integer}],"text":${JSON.stringify(`${text} ${integer}`)}}`;
        const parsed = parseJson(body) as Record<string, unknown>;
        expect(String((parsed[text] as unknown[])[0])).toBe(String(integer));
        expect(parsed.text).toBe(`${text} ${integer}`);
      }),
    );
  });

  test.each([
    [''],
    ['<html>Bad gateway</html>'],
    ['<html>NaN</html>'],
    ['{"data":[{"a":1'],
    ['{"data":["NaN'],
    ['{"id":12345678901234567'],
    ['[nan]'],
    ['[-NaN]'],
    ['[1NaN]'],
    ['[NaNa]'],
    ['[00012345678901234567]'],
    ['[+12345678901234567]'],
    ['NaN 1'],
    ["{'a': NaN}"],
  ])('that is not JSON, %j, is undefined', (text) => {
    expect(parseJson(text)).toBeUndefined();
  });

  test('cannot reach Object.prototype', () => {
    const parsed = parseJson('{"__proto__":{"polluted":NaN}}');
    expect(Object.keys(parsed as object)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  test('is read in a time that grows with its length only, whatever its texts are made of', () => {
    const text = '\\u0421\\"'.repeat(500_000);
    expect((parseJson(`["${text}",NaN]`) as string[])[1]).toBe('NaN');
  });
});
