import { CursorBroken, MalformedPage, PageTooLarge } from './errors.ts';

/** One request to the service: a GET, or a POST if it has a body. */
export interface ServiceRequest {
  /** The feed that the request belongs to, for metrics; absent for countries, topics and other lists. */
  readonly feed?: string;
  /** The path below `/v1`, with or without a leading slash, each segment URL-encoded. */
  readonly path: string;
  /** Names and values, not yet encoded. */
  readonly query: Readonly<Record<string, string>>;
  /** Sent to the address of the live feeds, if that is another one (docs/service.md, "Addresses and key"). */
  readonly isLive?: boolean;
  /** The path is beside `/v1`, not below it. */
  readonly isUnversioned?: boolean;
  /** It has the cursor of a page before. */
  readonly isContinued?: boolean;
  /** Sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/** The most records of a page: ten times the service's maximum (docs/service.md, "Paging"). */
const mostRecords = 10_000;

/** One checked page of a feed: the envelope (docs/service.md, "Page envelope"), or a bare array. */
export interface Page {
  /** As sent. */
  readonly records: readonly unknown[];
  /** The cursor of the next page; `null` if this page was the last. */
  readonly nextToken: string | null;
}

/** The part of a request that decides whether an answer is complete. */
export interface EnvelopeOptions {
  /** The requested page size. A bare array of this length may be incomplete. */
  readonly limit?: number;
  /**
   * The feed has a single answer, probably a bare array (docs/service.md, "Live feeds"), which is read even if it may be
   * incomplete.
   */
  readonly bareArray?: boolean;
}

/**
 * Checks a body against the page envelope (docs/service.md): an array `data`, a boolean `has_more`, and a `next_token` that
 * is a string, null or absent. `has_more: false` ends the feed, whatever `next_token` says; `data: null` is a page without
 * records. A bare array is accepted for any feed: shorter than `limit`, it is the last page, unless its length is round.
 * @throws MalformedPage for any other shape, or a bare array to a request without a `limit`; CursorBroken for `has_more:
 * true` without a token, or a bare array that may be incomplete
 */
export function readEnvelope(body: unknown, options: EnvelopeOptions = {}): Page {
  if (isRecords(body)) return readBareArray(body, options);
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
  if (!hasMore || (options.bareArray && !token)) return { records: data, nextToken: null };
  if (token) return { records: data, nextToken: token };
  throw new CursorBroken('The page has has_more: true, but no next_token, so the rest cannot be requested.');
}

/** @throws PageTooLarge for more than `mostRecords` records */
function isRecords(value: unknown): value is unknown[] {
  if (!Array.isArray(value)) return false;
  if (value.length > mostRecords) throw new PageTooLarge(`The page has more than ${mostRecords} records.`);
  return true;
}

function readBareArray(records: readonly unknown[], options: EnvelopeOptions): Page {
  const { limit, bareArray = false } = options;
  if (limit === undefined && !bareArray) {
    throw new MalformedPage('The service answered with a bare array where a page envelope was expected.');
  }
  if (limit !== undefined && !bareArray && (records.length >= limit || isRound(records.length)))
    throw new CursorBroken(
      `The service answered with a bare array of ${records.length} records; ${limit} were requested. It may be cut off, and has no next_token for the rest.`,
      { hint: 'Request fewer records at once: set a shorter step in the job file.' },
    );
  return { records, nextToken: null };
}

/**
 * Limits that a service sets by itself are round: 100 without a limit in the request (docs/service.md, "Paging"), 50, 250 or
 * 500.
 */
function isRound(records: number): boolean {
  return records > 0 && records % 50 === 0;
}

function nameOf(value: unknown): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `of type ${typeof value}`;
}
