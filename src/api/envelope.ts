import { CursorBroken, CutOff, MalformedPage } from './errors.ts';
import { mostRecords, type Page, type Records } from './page.ts';
import { RecordsAsText, tooManyRecords } from './parse-page.ts';

/** What was asked for, as far as it decides whether an answer is whole. */
export interface EnvelopeOptions {
  /** The page size that was asked for: a bare array as long as this may be cut off. */
  readonly limit?: number;
  /**
   * One answer is all there is, likely a bare array (service-facts.md, "Live"): one that may be cut off is read all
   * the same, and says so in `isCutOff`.
   */
  readonly bareArray?: boolean;
}

/**
 * Checks a body against the page envelope of service-document 2.1: an array `data`, a boolean `has_more`, and a
 * `next_token` that is a string, null or absent. `has_more: false` ends the feed, whatever `next_token` says;
 * `data: null` is a page without records. A bare array is read as well, whatever the feed is expected to send: shorter than `limit`, it is the last page.
 * @throws MalformedPage where it is another shape, or a bare array to a request without a `limit`; CursorBroken for
 *   `has_more: true` without a token; CutOff for a bare array that may not be all, and has no token either
 */
export function readPage(body: unknown, bytes: number, options: EnvelopeOptions = {}): Page {
  if (isRecords(body)) return readBareArray(body, bytes, options);
  if (typeof body !== 'object' || body === null) {
    throw new MalformedPage(`The service answered with ${nameOf(body)} where a page envelope was expected.`);
  }
  const { data: sent, has_more: hasMore, next_token: token = null } = body as Record<string, unknown>;
  const data = sent === null ? [] : sent;
  if (!isRecords(data)) {
    throw new MalformedPage(`The page's data is ${nameOf(data)}, not an array.`);
  }
  if (typeof hasMore !== 'boolean') {
    throw new MalformedPage(`The page's has_more is ${nameOf(hasMore)}, not a boolean.`);
  }
  if (token !== null && typeof token !== 'string') {
    throw new MalformedPage(`The page's next_token is ${nameOf(token)}, not a string.`);
  }
  if (!hasMore) return { records: data, nextToken: null, isCutOff: false, bytes };
  if (token) return { records: data, nextToken: token, isCutOff: false, bytes };
  if (options.bareArray) return { records: data, nextToken: null, isCutOff: true, bytes };
  throw new CursorBroken('The service says has_more, but sends no next_token: the rest cannot be asked for.');
}

/** @throws PageTooLarge for more records than any page should hold */
function isRecords(value: unknown): value is Records {
  if (!Array.isArray(value) && !(value instanceof RecordsAsText)) return false;
  if (value.length > mostRecords) throw tooManyRecords();
  return true;
}

function readBareArray(records: Records, bytes: number, options: EnvelopeOptions): Page {
  const { limit, bareArray = false } = options;
  if (limit === undefined && !bareArray) {
    throw new MalformedPage('The service answered with a bare array where a page envelope was expected.');
  }
  const isCutOff = limit !== undefined && records.length >= limit;
  if (isCutOff && !bareArray) throw new CutOff(records.length);
  return { records, nextToken: null, isCutOff, bytes };
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
