/** What can be wrong with single records of a page. */
export const DRIFT_KINDS = [
  'renamed-field',
  'new-field',
  'vanished-field',
  'nul-character',
  'lone-surrogate',
  'score-as-string',
  'no-time',
  'no-score',
  'not-an-object',
  'bare-nan',
  'bare-infinity',
] as const;

export type DriftKind = (typeof DRIFT_KINDS)[number];

/** One thing that goes wrong with one answer. Defaults of optional fields are in parentheses. */
export type Fault =
  /** A correct answer, `ms` milliseconds late (200). */
  | { readonly kind: 'latency'; readonly ms?: number }
  /** 429; `retryAfter` ('seconds') is the form in which `seconds` (1) are sent. */
  | {
      readonly kind: 'rate-limited';
      readonly retryAfter?: 'seconds' | 'date' | 'none';
      readonly seconds?: number;
    }
  /** A JSON error with `status` (500). */
  | { readonly kind: 'server-error'; readonly status?: 500 | 502 | 503 | 504 }
  /** A gateway's error page in HTML with `status` (502). */
  | { readonly kind: 'html'; readonly status?: 502 | 200 }
  /** The connection is reset before any byte of an answer. */
  | { readonly kind: 'reset' }
  /** Headers with the full content-length, half the body, then the connection is cut. */
  | { readonly kind: 'truncate' }
  /** Headers and half the body, then nothing until the client gives up or the sandbox stops. */
  | { readonly kind: 'hang' }
  /** 200 with JSON that is not the envelope. */
  | { readonly kind: 'malformed' }
  /** The page's first record gets the first of `drifts` (all of `DRIFT_KINDS`), the second record the second, and so on. */
  | { readonly kind: 'drift'; readonly drifts?: readonly DriftKind[] }
  /** `next_token` is the request's own token; waits for a request with a token. */
  | { readonly kind: 'repeat-token' }
  /** `next_token` is the token of the request before (A→B→A); waits for a request whose token followed another one. */
  | { readonly kind: 'cycle-token' }
  /** `has_more` is true and `next_token` null. */
  | { readonly kind: 'missing-token' }
  /** No records, and a token that leads to the requested records. */
  | { readonly kind: 'empty-page' }
  /** The page's first record a second time, at the page's end. */
  | { readonly kind: 'duplicate-record' }
  /** A good key is refused with `status` (401). */
  | { readonly kind: 'auth'; readonly status?: 401 | 403 }
  /** `status` (400) with `detail`. */
  | { readonly kind: 'refuse'; readonly status?: number; readonly detail?: unknown };

export type FaultKind = Fault['kind'];

/** The kinds of feeds that faults distinguish: `plain` ones have no cursor. */
export type FeedKind = 'paged' | 'plain';

/** Faults that change the content of an answer. Only feeds get them. */
export const PAGE_FAULTS: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'drift',
  'repeat-token',
  'cycle-token',
  'missing-token',
  'empty-page',
  'duplicate-record',
]);

/** The page faults that need no cursor, so that every feed can get them. */
export const RECORD_FAULTS: ReadonlySet<FaultKind> = new Set<FaultKind>(['drift', 'duplicate-record']);

/** A request as a matcher sees it: the path without the query, and the decoded query with the fields of a JSON body. */
export interface SeenRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The request's cursor; `null` for a first page. */
  readonly token: string | null;
}

/** A fault for the next `times` (1) requests that `match` (all) accepts and that can have it. */
export type ScriptedFault = Fault & {
  readonly times?: number;
  readonly match?: (request: SeenRequest) => boolean;
};
