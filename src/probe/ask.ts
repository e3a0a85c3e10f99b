import { GmsiError } from '../errors.ts';
import type { Feed, FieldAliases, ParameterNames, Series } from '../feeds/feed.ts';
import { readTime } from '../feeds/reading/read-time.ts';
import { fetchLive, fetchPage } from '../load/fetch-page.ts';
import type { Origin } from '../load/resolve-load.ts';
import type { RequestBudget } from '../rate/budget.ts';
import type { Client } from '../service/client.ts';
import { CursorBroken, RequestRefused, RetryableError } from '../service/errors.ts';
import type { Page } from '../service/page.ts';

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

/** The result of one question. Errors that end the whole probe are thrown. */
export type Reply =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** The service refuses to answer; `words` are its own. */
  | { readonly kind: 'refused'; readonly status: number; readonly words: string }
  /** The answer stays unknown. */
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
      // A probe asks for one page after the other, so no other page waits for this one's memory.
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

/** The requests that this run may send are used up; the remaining questions stay open. */
class RequestCapReached extends GmsiError {
  override readonly kind = 'skippable';

  constructor(most: number) {
    super(`all ${most} requests are used up`);
  }
}

/** Books at most `most` requests, retries included. */
export function capRequests(budget: RequestBudget, most: number): RequestBudget {
  let left = most;
  return {
    async book(signal) {
      if (left === 0) throw new RequestCapReached(most);
      // Before the booking, since another request may ask meanwhile.
      left--;
      await budget.book(signal);
    },
  };
}

/** The parts of a record that say something about the service. */
export interface SeenRecord {
  /** Milliseconds since 1970, a time without a zone taken as UTC. */
  readonly time: number;
  /** As it was sent. */
  readonly writtenTime: string | number;
  readonly record: unknown;
}

/** Finds the fields of a feed's records under the names that the job or the feed knows. */
export interface RecordFields {
  /** Records in the order received; those without a readable time are left out. */
  see(records: readonly unknown[]): SeenRecord[];
  /** The wire names under which an id may be, best first. */
  readonly idNames: readonly string[];
}

export function recordFields({ table, fields }: Feed, overrides: FieldAliases): RecordFields {
  const namesOf = (type: string) =>
    Object.keys(table.columns)
      .filter((column) => table.columns[column] === type)
      .flatMap((column) => [...(overrides[column] ?? []), ...(fields[column] ?? [])]);
  const timeNames = namesOf('timestamptz');
  return {
    idNames: namesOf('uuid'),
    see(records) {
      return records.flatMap((record) => {
        for (const name of timeNames) {
          const writtenTime = valueAt(record, name);
          const time = readTime(writtenTime);
          if (time !== undefined)
            return [{ time: Date.parse(time), writtenTime: writtenTime as string | number, record }];
        }
        return [];
      });
    },
  };
}

/** The value under a wire name, in which `a.b` reaches into an object. */
export function valueAt(record: unknown, name: string): unknown {
  return name
    .split('.')
    .reduce(
      (value, key) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
      record,
    );
}
