import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/service/check-status.ts';
import { cases } from '../support/cases.ts';

const now = Date.UTC(2026, 0, 1, 12);

test.each(cases`
  seconds | {"retry-after": "3"} | 3000
  a fraction of a second | {"retry-after": " 0.5 "} | 500
  a date | {"retry-after": "Thu, 01 Jan 2026 12:00:07 GMT"} | 7000
  a date by the service's own clock | {"retry-after": "Thu, 01 Jan 2026 15:00:07 GMT", "date": "Thu, 01 Jan 2026 15:00:00 GMT"} | 7000
  a date when the answer has a broken one | {"retry-after": "Thu, 01 Jan 2026 12:00:07 GMT", "date": "soon"} | 7000
  an epoch in seconds | {"retry-after": "1767268807"} | 7000
  an epoch in milliseconds | {"retry-after": "1767268807000"} | 7000
  an epoch by the service's own clock | {"retry-after": "1767279607", "date": "Thu, 01 Jan 2026 15:00:00 GMT"} | 7000
  an epoch in the past | {"retry-after": "1767268793"} | nothing
  no wait at all | {"retry-after": "0"} | nothing
  a date in the past | {"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"} | nothing
  a negative wait | {"retry-after": "-5"} | nothing
  nonsense | {"retry-after": "later"} | nothing
  nothing | {} | nothing
`)('retryAfterMs reads %s', (_name, headers, expected) => {
  expect(String(retryAfterMs(JSON.parse(headers!), now) ?? 'nothing')).toBe(expected);
});
