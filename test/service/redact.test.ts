import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { ServiceUnavailable } from '../../src/service/errors.ts';
import { redactorOf } from '../../src/service/redact.ts';

const key = 'k3y/0f+some=0ne&"<';
const redact = redactorOf(new Secret(key));
const hexOf = (char: string) => char.charCodeAt(0).toString(16);

describe('the key in what the service says', () => {
  test.each([
    ['as it is', key],
    ['as JSON', JSON.stringify(key)],
    ['as JSON with slashes escaped', String.raw`k3y\/0f+some=0ne&\"<`],
    ['in a URL', encodeURIComponent(key)],
    ['in a form', new URLSearchParams({ key }).toString()],
    ['in base64', Buffer.from(key).toString('base64')],
    ['in base64, at the beginning of something', Buffer.from(`${key}:user`).toString('base64')],
    ['in base64, as part of something', Buffer.from(`{"x-api-key":"${key}"}`).toString('base64')],
    ['in base64, at the end of something', Buffer.from(`u:${key}`).toString('base64')],
    ['in base64 of URLs', Buffer.from(key).toString('base64url')],
    ['in a URL, in lower case', encodeURIComponent(key).toLowerCase()],
    ['in a URL of a URL', encodeURIComponent(encodeURIComponent(key))],
    ['in HTML', 'k3y/0f+some=0ne&amp;&quot;&lt;'],
    ['in HTML, with numbers', 'k3y&#47;0f&#x2B;some&#061;0ne&#x26;&#34;&#x3c;'],
    ['in HTML, with names', 'k3y&sol;0f&plus;some&equals;0ne&amp;amp;&quot;&lt;'],
    ['as JSON in which more is escaped', String.raw`k3y\u002F0f\u002bsome\u003d0ne\u0026\"\u003c`],
    ['as JSON in which all is escaped', key.replaceAll(/./g, (char) => `\\u00${hexOf(char)}`)],
    ['as JSON in JSON', String.raw`k3y\/0f\\u002bsome\\u003d0ne\\u0026\\\"\\u003c`],
    ['as JavaScript', String.raw`k3y/0f\x2bsome\x3d0ne\x26\x22\x3c`],
    ['in base64 in a URL', encodeURIComponent(Buffer.from(key).toString('base64'))],
  ])('is taken out: %s', (_, written) => {
    const shown = redact.text(`before ${written} after`);
    expect(redact.isIn(`before ${written} after`)).toBe(true);
    expect(shown).toMatch(/^before .*\[key\].* after$/);
    expect(redact.text(shown)).toBe(shown);
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
    expect(redact.isIn(text)).toBe(false);
  });

  test('is taken out of the texts and names of JSON, at any depth, once it is parsed', () => {
    const written = key.replaceAll(/./g, (char) => `\\u00${hexOf(char)}`);
    const deep = 20_000;
    const body = `${'['.repeat(deep)}{"a ${written}": "${written} b", "n": 1, "__proto__": "${written}"}${']'.repeat(deep)}`;
    const { json, isEchoed } = redact.json(JSON.parse(body));
    expect(isEchoed).toBe(true);
    let at = json;
    while (Array.isArray(at)) at = at[0];
    expect(Object.entries(at as object)).toEqual([
      ['n', 1],
      ['__proto__', '[key]'],
      ['a [key]', '[key] b'],
    ]);
    expect(redact.json(JSON.parse(`"${written}"`))).toEqual({ json: '[key]', isEchoed: true });
    expect(redact.json({ a: [null, 'k3y'] })).toEqual({ json: { a: [null, 'k3y'] }, isEchoed: false });
  });

  test('is found in a token that is base64 of JSON in which it is escaped', () => {
    const token = (text: string) => Buffer.from(JSON.stringify({ after: 5, text })).toString('base64url');
    expect(redact.isInToken(token('k3y/0f+some=0ne&amp;\\"\\u003c'))).toBe(true);
    expect(redact.isInToken(token('k3y'))).toBe(false);
  });

  test('costs a hostile text no more than its length', () => {
    const hostile = ['\\', '%25', '&amp;', '&#0', '&'].map((part) => `k3y${part.repeat(200_000)}`).join('');
    const before = process.cpuUsage();
    expect(redact.text(hostile)).toBe(hostile);
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000);
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
