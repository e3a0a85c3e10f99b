import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { ServiceUnavailable } from '../../src/service/errors.ts';
import { redactorOf } from '../../src/service/redact.ts';

const key = 'k3y/0f+some=0ne&"<';
const redact = redactorOf(new Secret(key));

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
  ])('is taken out: %s', (_, written) => {
    const shown = redact.text(`before ${written} after`);
    expect(redact.isIn(Buffer.from(`before ${written} after`))).toBe(true);
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
    expect(redact.isIn(Buffer.from(text))).toBe(false);
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
