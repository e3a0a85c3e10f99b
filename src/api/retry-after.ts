import type { Headers } from './http.ts';

/**
 * The wait that an answer asks for, in milliseconds: `Retry-After` in seconds or as a date. `undefined` where the
 * header is missing, unreadable or already over. A date counts from the answer's own `Date`, so that a wrong
 * clock on this machine changes nothing.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers['retry-after'];
  if (typeof value !== 'string') return undefined;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(value)
    ? Number(value) * 1000
    : Date.parse(value) - dateOf(headers, now);
  return ms > 0 ? Math.ceil(ms) : undefined;
}

function dateOf(headers: Headers, now: number): number {
  const sent = typeof headers.date === 'string' ? Date.parse(headers.date) : Number.NaN;
  return Number.isNaN(sent) ? now : sent;
}
