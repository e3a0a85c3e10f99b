import { inspect } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { ServiceUnavailable } from '../../src/service/errors.ts';
import { redactorOf } from '../../src/service/redact.ts';
import { aKey, decodings, encoded } from '../support/encodings.ts';

const key = 'k3y/0f+some=0ne&"<';
const redact = redactorOf(new Secret(key));

test('the key is removed with any invisible character in it', () => {
  const chars = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code))
    .filter((char) => /[\p{Cc}\p{Cf}]/u.test(char));
  expect(chars.length).toBeGreaterThan(200);
  for (const char of chars)
    expect(redact.text(`a ${key.slice(0, 2)}${char}${key.slice(2)} z`)).toBe('a [key] z');
});

describe('the key in what the service says', () => {
  test.each([
    ['as it is', key],
    ['as JSON', JSON.stringify(key)],
    ['as JSON with slashes escaped', String.raw`k3y\/0f+some=0ne&\"<`],
    ['as JSON in JSON', JSON.stringify(JSON.stringify(key))],
    ['as Python writes JSON', String.raw`k3y/0f+some=0ne&\u0022\u003c`],
    ['in a URL', encodeURIComponent(key)],
    ['in a URL in a URL', encodeURIComponent(encodeURIComponent(key))],
    ['in a URL, in lower case', encodeURIComponent(key).toLowerCase()],
    ['in HTML', 'k3y/0f+some=0ne&amp;&quot;&lt;'],
    ['in HTML in HTML', 'k3y/0f+some=0ne&amp;amp;&amp;quot;&amp;lt;'],
    ['in HTML, by numbers', [...key].map((char) => `&#${char.charCodeAt(0)};`).join('')],
    [
      'in HTML, by numbers without semicolons',
      [...key].map((char) => `&#x00${char.charCodeAt(0).toString(16)}`).join(''),
    ],
    ['in HTML, its first character by a long number', `&#000000000107;${key.slice(1)}`],
    ['in a URL in JSON in HTML', '&quot;k3y\\u00252F0f%2Bsome%3D0ne%26%22%3C&quot;'],
    ['in base64', Buffer.from(key).toString('base64')],
    ['in base64, as part of something', Buffer.from(`{"x-api-key":"${key}"}`).toString('base64')],
    ['in base64 of URLs', Buffer.from(`?${key}`).toString('base64url')],
    ['in base64 in a URL', encodeURIComponent(Buffer.from(`user:${key}`).toString('base64'))],
    ['in hexadecimal digits', Buffer.from(key).toString('hex').toUpperCase()],
    ['with invisible characters', [...key].join('\u200b')],
    ['with others', [...key].join('\u00ad\u{e0041}\u0000')],
    ['with escaped ones', [...key].join('\\u200b&shy;')],
    ['but for its end', `${key.slice(0, 13)}…`],
  ])('is taken out: %s', (_, written) => {
    const shown = redact.text(`before ${written} after`);
    expect(shown).toMatch(/^before .*\[key\].* after$/);
    for (const so of decodings(shown).flatMap(decodings)) expect(so).not.toContain(key.slice(0, 13));
    expect(redact.isIn(Buffer.from(written))).toBe(true);
    // A body is searched in parts of 32 KiB.
    for (let before = 32 * 1024 - 100; before < 32 * 1024; before += 3)
      expect(redact.isIn(Buffer.from(' '.repeat(before) + written))).toBe(true);
  });

  test.each([
    '',
    'k3y',
    'k3y/0f+some',
    'a key & "value"',
    '100 % of \\u0041 &amp; &#65; \\\\',
    'aGVsbG8='.repeat(9),
  ])('is not found in %j', (text) => {
    expect(redact.text(text)).toBe(text);
    expect(redact.isIn(Buffer.from(text))).toBe(false);
  });

  test('is removed however each of its characters is escaped, up to two levels, and also from the decoded text', () => {
    const around = fc.string({ unit: 'grapheme', maxLength: 8 });
    const written = fc
      .tuple(aKey, fc.integer({ min: 0, max: 2 }))
      .chain(([key, depth]) => fc.tuple(fc.constant(key), encoded(key, depth), around, around));
    fc.assert(
      fc.property(written, ([key, echo, before, after]) => {
        const redactor = redactorOf(new Secret(key));
        const shown = redactor.text(`${before}${echo}${after}`);
        expect(shown).toContain('[key]');
        expect(redactor.isIn(Buffer.from(`${before}${echo}${after}`))).toBe(true);
        for (const so of decodings(shown)) expect(so.includes(key)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  test('is taken out of names, texts and numbers of a value, and of nothing else', () => {
    const digits = '1234567890123';
    const value = { a: [1, key, { [`x ${key}`]: null }], b: true, ['__proto__']: key };
    expect(redact.value(value)).toEqual({
      a: [1, '[key]', { 'x [key]': null }],
      b: true,
      ['__proto__']: '[key]',
    });
    expect(redactorOf(new Secret(digits)).value([Number(digits), 12])).toEqual(['[key]', 12]);
    const deep = JSON.parse(`${'['.repeat(5000)}1${']'.repeat(5000)}`);
    expect(String(redact.value(deep))).toBe('[key]');
  });

  test('is taken out of an error, its stack, its hint and its cause', () => {
    const cause = Object.assign(new Error('broken'), { received: key });
    const error = redact.error(new ServiceUnavailable(`says ${key}`, { hint: `about ${key}`, cause }));
    expect(inspect(error, { depth: 9 })).not.toContain(key);
    expect(error).toMatchObject({ message: 'says [key]', hint: 'about [key]' });
  });

  test('is left if it is shorter than 8 characters, since it could be part of any word', () => {
    expect(redactorOf(new Secret('a')).text('a banana')).toBe('a banana');
    expect(redactorOf(new Secret('abcdefg')).text('abcdefg')).toBe('abcdefg');
    expect(redactorOf(new Secret('abcdefgh')).text('abcdefgh')).toBe('[key]');
  });
});
