import { isMap } from '../config/field-types.ts';
import { dateOf } from './clock.ts';
import { KeyRefused, RateLimited, RedirectRefused, RequestRefused, ServiceUnavailable } from './errors.ts';
import type { Headers, HttpAnswer } from './http.ts';

/** Facts for the message of an error. */
interface RequestFacts {
  /** The path sent, without its query. */
  readonly path: string;
  /** Removes the key from the service's text, which could echo it. */
  readonly redact: (text: string) => string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** A page was requested. */
  readonly isPage: boolean;
}

/** 202: the answer is not ready. 206: it is a part. */
const notWhole = new Set([202, 206]);

/** Accepts a whole 2xx and turns every other answer into its error. */
export function checkStatus(answer: HttpAnswer, { path, redact, now, isPage }: RequestFacts): void {
  const { status, headers } = answer;
  if (status >= 200 && status < 300 && !notWhole.has(status)) return;
  if (status >= 300 && status < 400)
    throw new RedirectRefused(path, status, redirectTarget(headers.location, redact));

  const words = serviceWords(answer.content.toString(), redact);
  const wait = { retryAfterMs: retryAfterMs(headers, now) };
  if (status === 401) throw new KeyRefused(status, words);
  if (status === 429 || ((status === 402 || status === 403) && headers['retry-after'] !== undefined)) {
    throw new RateLimited(`The service limits the rate (${status}): ${words}`, wait);
  }
  if (status >= 500 || status < 300 || status === 408 || status === 425) {
    throw new ServiceUnavailable(`The service answered ${path} with ${status}: ${words}`, wait);
  }
  // A web server says no more than this of an unknown path.
  const mayMeanNoData = isPage && status === 404 && isJson(answer) && !/^not found\.?$/i.test(words);
  throw new RequestRefused(path, status, words, { isForeign: looksForeign(answer), mayMeanNoData });
}

/** Statuses for something that does not exist. */
const notThere = new Set([404, 405, 410, 421, 426]);

/** True for a refusal that is not JSON, or that a web server sends for any unknown path. */
function looksForeign(answer: HttpAnswer): boolean {
  return notThere.has(answer.status) || !isJson(answer);
}

function isJson({ content }: HttpAnswer): boolean {
  return /^\s*[{[]/.test(content.toString());
}

/** Returns the address without its query, which could contain anything and does not help. */
function redirectTarget(location: Headers[string], redact: (text: string) => string): string | undefined {
  if (typeof location !== 'string') return undefined;
  return serviceWords(redact(location).replace(/[?#].*$/s, ''), redact);
}

/** The longest wait in milliseconds, even if Retry-After is longer. */
export const longestWait = 3_600_000;

/**
 * Returns the wait from `Retry-After` (seconds or a date) in milliseconds; `undefined` if the header is missing, unreadable or
 * in the past. A date counts from the answer's own `Date`, so that a wrong clock on this machine does not matter.
 */
export function retryAfterMs(headers: Headers, now: number): number | undefined {
  const value = headers['retry-after'];
  if (typeof value !== 'string') return undefined;
  const isNumber = /^\s*\d+(\.\d+)?\s*$/.test(value);
  const ms = isNumber ? Number(value) * 1000 : Date.parse(value) - (dateOf(headers) ?? now);
  return ms > 0 ? Math.min(Math.ceil(ms), longestWait) : undefined;
}

const longest = 300;
/** How much of a body is searched; the message is at its beginning. */
const lookedAt = 4000;
/** Where services put their message, best first; FastAPI uses `detail`. */
export const wordFields =
  'detail message error msg errors title reason note information warning warnings'.split(' ');

/**
 * Returns the message of a refusal for a person: the text of `{"detail": …}`, FastAPI's list of `{loc, msg}`, `{"message"}`,
 * `{"error"}`, a page's title, or the body itself. One line of at most 300 characters, without control characters, so that it
 * can neither fill nor forge a log. Error bodies are not documented (docs/service.md, "Errors").
 * @param redact removes the key
 */
export function serviceWords(sent: string, redact: (text: string) => string = (text) => text): string {
  // Redacts before cutting, so that no part of the key remains at an edge, and again after decoding.
  const body = redact(sent);
  const words = clean(redact(jsonWords(body) ?? htmlWords(body) ?? body.slice(0, lookedAt)));
  if (words === '') return 'no further words';
  return words.length > longest ? `${words.slice(0, longest - 1).toWellFormed()}…` : words;
}

/**
 * Returns the words of a 200 that is a text, or an object such as `{"message": "quota exceeded"}` without a list that could be
 * the records; `undefined` for any other body. `remarksOf` reads what is beside a list.
 * @param json the parsed body; `undefined` if it is not JSON
 */
export function noteIn(body: string, json: unknown, redact: (text: string) => string): string | undefined {
  if (json === undefined) return /^\s*[^\s<[{]/.test(body) ? serviceWords(body, redact) : undefined;
  if (!isMap(json) || json.data === null || recordListsOf(json).length > 0) return undefined;
  const ofWords = Object.entries(json).filter(([name]) => isOneOf(wordFields, name));
  const words = wordsOf(Object.fromEntries(ofWords), 0);
  return words && serviceWords(words, redact);
}

/** Returns the lists of an object, except lists of messages. */
export function recordListsOf(json: Readonly<Record<string, unknown>>): [name: string, list: unknown[]][] {
  return Object.entries(json).filter(
    (member): member is [string, unknown[]] => Array.isArray(member[1]) && !isOneOf(wordFields, member[0]),
  );
}

export const isOneOf = (names: readonly string[], name: string) => names.includes(name.toLowerCase());

function jsonWords(body: string): string | undefined {
  try {
    return wordsOf(JSON.parse(body), 0);
  } catch {
    return undefined;
  }
}

export function wordsOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || depth > 4) return undefined;
  if (Array.isArray(value)) {
    const words = value.slice(0, 10).map((item) => wordsOf(item, depth + 1));
    return words.filter((word) => word !== undefined).join('; ') || undefined;
  }
  const fields = new Map(
    Object.entries(value).map(([name, field]) => [name.toLowerCase(), field as unknown]),
  );
  const loc = fields.get('loc');
  for (const name of wordFields) {
    const words = wordsOf(fields.get(name), depth + 1);
    if (words) return Array.isArray(loc) ? `${loc.join('.')}: ${words}` : words;
  }
  return undefined;
}

function htmlWords(body: string): string | undefined {
  const start = body.slice(0, lookedAt);
  if (!/^\s*</.test(start)) return undefined;
  const title = /<(?:title|h1)\b[^>]*>([^<]+)/i.exec(start)?.[1];
  return title?.trim() || 'an HTML page without a title';
}

function clean(text: string): string {
  return text
    .slice(0, lookedAt)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
}
