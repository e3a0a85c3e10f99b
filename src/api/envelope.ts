import { CursorBroken, MalformedPage } from './errors.ts';
import type { Page } from './page.ts';

/** What a body may look like beside the envelope. */
export interface EnvelopeOptions {
  /** Live feeds are likely to answer with a bare array, which is one page and the last (service-facts, "Live"). */
  readonly bareArray?: boolean;
}

/**
 * Checks a body against the page envelope of service-document 2.1: an array `data`, a boolean `has_more`, and a
 * `next_token` that is a string, null or absent. `has_more: false` ends the feed, whatever `next_token` says.
 * @throws MalformedPage where it is another shape; CursorBroken for `has_more: true` without a token
 */
export function readPage(body: unknown, bytes: number, options: EnvelopeOptions = {}): Page {
  if (Array.isArray(body)) {
    if (options.bareArray) return { records: body, nextToken: null, bytes };
    throw new MalformedPage('The service answered with a bare array where a page envelope was expected.');
  }
  if (typeof body !== 'object' || body === null) {
    throw new MalformedPage(`The service answered with ${nameOf(body)} where a page envelope was expected.`);
  }
  const { data, has_more: hasMore, next_token: token = null } = body as Record<string, unknown>;
  if (!Array.isArray(data)) {
    throw new MalformedPage(`The page's data is ${nameOf(data)}, not an array.`);
  }
  if (typeof hasMore !== 'boolean') {
    throw new MalformedPage(`The page's has_more is ${nameOf(hasMore)}, not a boolean.`);
  }
  if (token !== null && typeof token !== 'string') {
    throw new MalformedPage(`The page's next_token is ${nameOf(token)}, not a string.`);
  }
  if (!hasMore) return { records: data, nextToken: null, bytes };
  if (!token) {
    throw new CursorBroken(
      'The service says has_more, but sends no next_token: the rest cannot be asked for.',
    );
  }
  return { records: data, nextToken: token, bytes };
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
