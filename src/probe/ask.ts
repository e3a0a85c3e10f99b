import type { Client } from '../api/client.ts';
import { CursorBroken, RequestRefused, RetryableError } from '../api/errors.ts';
import type { Page } from '../api/page.ts';
import type { Feed, ParameterNames, Series } from '../feeds/feed.ts';
import { fetchLive, fetchPage } from '../pipeline/fetch-page.ts';
import type { Origin } from '../pipeline/origin.ts';
import type { RecordFields, SeenRecord } from './read-answer.ts';
import { RequestCapReached } from './request-cap.ts';

/** Days as sent, `YYYY-MM-DD`, and how many records at most. */
export interface Range {
  readonly start: string;
  readonly end: string;
  readonly limit: number;
}

export interface Answer {
  readonly records: readonly SeenRecord[];
  /** Records of the page, also those without a readable time. */
  readonly count: number;
  readonly nextToken: string | null;
  /** When it came, in milliseconds since 1970. */
  readonly at: number;
}

/** What came of one question; anything that ends the probe as a whole is thrown. */
export type Reply =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** The service will not answer this; `words` are its own. */
  | { readonly kind: 'refused'; readonly status: number; readonly words: string }
  /** It cannot be known what it would answer. */
  | { readonly kind: 'failed'; readonly reason: string };

/** Asks a feed about one series. */
export interface Asker {
  range(series: Series, range: Range, token?: string): Promise<Reply>;
  live(series: Series, limit: number): Promise<Reply>;
}

export interface AskSetting {
  readonly client: Client;
  readonly feed: Feed;
  readonly parameters: Partial<ParameterNames>;
  readonly body: Readonly<Record<string, unknown>> | undefined;
  readonly fields: RecordFields;
  readonly origin: Origin;
  readonly now: () => number;
  readonly signal: AbortSignal;
}

export function asker(setting: AskSetting): Asker {
  const { client, feed, parameters, body, fields, origin, now, signal } = setting;

  async function reply(ask: () => Promise<Page>): Promise<Reply> {
    try {
      const { records: sent, nextToken, release } = await ask();
      // A probe asks for one page after the other, so that none waits for the memory of this one.
      release?.();
      const records = [...sent];
      const at = now();
      await origin.check(client.servedBy);
      const answer = { records: fields.see(records), count: records.length, nextToken, at };
      return { kind: 'answered', answer };
    } catch (error) {
      if (error instanceof RequestRefused)
        return { kind: 'refused', status: error.status, words: error.words };
      const isForThisOne =
        error instanceof RetryableError ||
        error instanceof CursorBroken ||
        error instanceof RequestCapReached;
      if (isForThisOne) return { kind: 'failed', reason: error.message };
      throw error;
    }
  }

  return {
    range(series, { start: startDate, end: endDate, limit: pageSize }, token) {
      const request = { feed, series, startDate, endDate, pageSize, parameters, body };
      return reply(() => fetchPage(client, request, token ?? null, signal));
    },
    live(series, limit) {
      const live = { ...feed, live: { ...feed.live!, limit } };
      return reply(() => fetchLive(client, live, series, parameters, signal));
    },
  };
}
