import { KeyRefused, RateLimited, RedirectRefused, RequestRefused, ServiceUnavailable } from './errors.ts';
import type { Headers, HttpAnswer } from './http.ts';
import { serviceWords } from './service-words.ts';

/** Facts for the message of an error. */
interface RequestFacts {
  /** The path sent, without its query. */
  readonly path: string;
  /** Removes the key from the service's text, which could echo it. */
  readonly redact: (text: string) => string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** Accepts a 2xx and turns every other answer into its error. */
export function checkStatus(answer: HttpAnswer, { path, redact, now }: RequestFacts): void {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return;
  if (status < 400) throw new RedirectRefused(path, status, redirectTarget(headers.location, redact));

  const words = serviceWords(answer.content.toString(), redact);
  const { retryAfterMs, said } = waitOf(headers, now, redact);
  if (status === 401 || status === 403) throw new KeyRefused(status, words);
  if (status === 429) {
    throw new RateLimited(`The service limits the rate (429): ${words}${said}`, { retryAfterMs });
  }
  if (status >= 500 || status === 408 || status === 425) {
    const what = `The service answered ${path} with ${status}: ${words}${said}`;
    throw new ServiceUnavailable(what, { retryAfterMs });
  }
  throw new RequestRefused(path, status, words, looksForeign(answer));
}

/** Statuses for something that does not exist. */
const notThere = new Set([404, 405, 410, 421, 426]);

/** True for a refusal that is not JSON, or that a web server sends for any unknown path. */
function looksForeign({ status, content }: HttpAnswer): boolean {
  return notThere.has(status) || !/^\s*[{[]/.test(content.toString());
}

/** Returns the address without its query, which could contain anything and does not help. */
function redirectTarget(
  location: string | string[] | undefined,
  redact: (text: string) => string,
): string | undefined {
  if (typeof location !== 'string') return undefined;
  return serviceWords(redact(location).replace(/[?#].*$/s, ''), redact);
}

/** The longest wait in milliseconds, even if Retry-After is longer. */
const longestWait = 3_600_000;

/** Returns how long to wait before the next request, and a note for the error if Retry-After was longer. */
function waitOf(headers: Headers, now: number, redact: (text: string) => string) {
  const asked = retryAfterMs(headers, now);
  if (asked === undefined || asked <= longestWait) return { retryAfterMs: asked, said: '' };
  const value = serviceWords(String(headers['retry-after']), redact).slice(0, 40);
  return { retryAfterMs: longestWait, said: ` (Retry-After: ${value}; trying again after an hour)` };
}

/**
 * Returns the wait from `Retry-After` (seconds or a date) in milliseconds; `undefined` if the header is missing, unreadable or
 * in the past. A date counts from the answer's own `Date`, so that a wrong clock on this machine does not matter.
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
