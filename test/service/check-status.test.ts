import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { retryAfterMs, serviceWords } from '../../src/service/check-status.ts';
import { cases } from '../support/cases.ts';

describe('serviceWords', () => {
  test.each([
    ['{"detail": "unknown topic"}', 'unknown topic'],
    [
      '{"detail": [{"loc": ["query", "topic"], "msg": "field required"}, {"loc": ["query", "limit"], "msg": "too large"}]}',
      'query.topic: field required; query.limit: too large',
    ],
    ['{"message": "Forbidden"}', 'Forbidden'],
    ['{"error": "bad token"}', 'bad token'],
    ['{"error": {"code": 7, "message": "bad token"}}', 'bad token'],
    ['"quota spent"', 'quota spent'],
    ['start_date is too old', 'start_date is too old'],
    ['<!doctype html><html><head><title>502 Bad\n Gateway</title></head></html>', '502 Bad Gateway'],
    ['<html><body><h1>Service Unavailable</h1></body></html>', 'Service Unavailable'],
    ['<html><body>busy</body></html>', 'an HTML page without a title'],
    ['', 'no further words'],
    ['{"code": 7}', '{"code": 7}'],
  ])('finds what %s says', (body, words) => {
    expect(serviceWords(body)).toBe(words);
  });

  test('takes out what could forge a line of a log or colour a terminal', () => {
    expect(serviceWords('a\r\nERROR b\u001b[31m\u0000c\u202ed')).toBe('a ERROR b [31m c d');
  });

  test('is one short line, whatever the body', () => {
    const body = fc.oneof(fc.string({ unit: 'binary', maxLength: 1000 }), fc.json({ maxDepth: 8 }));
    fc.assert(
      fc.property(body, (text) => {
        const words = serviceWords(text);
        expect(words.length).toBeGreaterThan(0);
        expect(words.length).toBeLessThanOrEqual(300);
        expect(words).not.toMatch(/\p{Cc}/u);
      }),
    );
  });

  test('survives an error nested ten thousand deep', () => {
    expect(serviceWords(`${'{"error":'.repeat(10_000)}1${'}'.repeat(10_000)}`)).toContain('error');
  });
});

const now = Date.UTC(2026, 0, 1, 12);

test.each(cases`
  seconds | {"retry-after": "3"} | 3000
  a fraction of a second | {"retry-after": " 0.5 "} | 500
  a date | {"retry-after": "Thu, 01 Jan 2026 12:00:07 GMT"} | 7000
  a date by the service's own clock | {"retry-after": "Thu, 01 Jan 2026 15:00:07 GMT", "date": "Thu, 01 Jan 2026 15:00:00 GMT"}
      | 7000
  a date when the answer has a broken one | {"retry-after": "Thu, 01 Jan 2026 12:00:07 GMT", "date": "soon"} | 7000
  more than an hour | {"retry-after": "86400"} | 3600000
  no wait at all | {"retry-after": "0"} | nothing
  a date in the past | {"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"} | nothing
  a negative wait | {"retry-after": "-5"} | nothing
  nonsense | {"retry-after": "later"} | nothing
  nothing | {} | nothing
`)('retryAfterMs reads %s', (_name, headers, expected) => {
  expect(String(retryAfterMs(JSON.parse(headers!), now) ?? 'nothing')).toBe(expected);
});
