/** One request to the service: a GET, or with a body a POST. */
export interface ServiceRequest {
  /** The path below `/v1`, with or without a leading slash, each segment URL-encoded. */
  readonly path: string;
  /** Names and values, not yet encoded. */
  readonly query: Readonly<Record<string, string>>;
  /** Goes to the address of the live feeds, where that is another one (service-document 4.2). */
  readonly isLive?: boolean;
  /** Sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>>;
}

/** Most records of a page, whatever was asked for: ten times what the service sends at most (service-document 8). */
export const mostRecords = 10_000;

/** Records as they were sent, a `RecordTooLarge` in the place of one that is too large; of a large page parsed as they are asked for. */
export type Records = Iterable<unknown> & { readonly length: number };

/** One page of a feed, already checked: the envelope of service-document 2.1, or a bare array. */
export interface Page {
  readonly records: Records;
  /** The cursor of the next page; `null` where this page was the last. */
  readonly nextToken: string | null;
  /** More records may exist, and no token leads to them; only where one answer is all that a feed gives. */
  readonly isCutOff: boolean;
  /** Size of the body as received (compressed, where it was), in bytes. */
  readonly bytes: number;
  /** Only of a large page: whoever has it calls this once its records are committed or given up, for others wait for that. */
  readonly release?: () => void;
}

/**
 * Where each request is written down before it is sent, so that no crash can make a request unbooked.
 * Implemented over the warehouse's `api_usage`; `api` itself never imports the warehouse.
 */
export interface RequestBudget {
  /** Books one request; throws `BudgetSpent` where the month's budget is used up. */
  book(signal: AbortSignal): Promise<void>;
}
