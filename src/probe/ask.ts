import type { Job } from '../config/job.ts';
import { GmsiError } from '../errors.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import { readTime } from '../feeds/reading/read-time.ts';
import { fetchLive, fetchPage } from '../load/fetch-page.ts';
import type { Client } from '../service/client.ts';
import type { Clock } from '../service/clock.ts';
import { RequestRefused, RetryableError } from '../service/errors.ts';
import type { Page } from '../service/page.ts';
import type { Origin } from '../warehouse/tables/origin.ts';

/** Requests that one probe may send, including failed attempts. */
export const mostRequests = 12;

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
  /** When it arrived, in milliseconds since 1970. */
  readonly at: number;
}

/** The result of one question. Errors that end the whole probe are thrown. */
export type Reply =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** The service refuses to answer; `words` are its own. */
  | { readonly kind: 'refused'; readonly status: number; readonly words: string }
  /** The answer stays unknown. */
  | { readonly kind: 'failed'; readonly reason: string };

/** The feed to probe, and the client to use. */
export interface Probing {
  /** Its requests are capped at `mostRequests`; it has sent none yet. */
  readonly client: Client;
  readonly feed: Feed;
  /** The job whose settings are used, if given. */
  readonly job: Job | undefined;
  readonly origin: Origin;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Asks a feed about one series. */
export type Asker = ReturnType<typeof asker>;

export function asker({ client, feed, job, origin, clock, signal }: Probing) {
  const parameters = job?.service.parameters ?? {};
  const timeNames = timeNamesOf(feed, job);

  async function reply(ask: () => Promise<Page>): Promise<Reply> {
    try {
      const { records, nextToken } = await ask();
      const at = clock.now();
      await origin.check(client.servedBy, client.answeredAt);
      const seen = records.flatMap((record) => seenRecord(record, timeNames) ?? []);
      const answer = { records: seen, count: records.length, nextToken, at };
      return { kind: 'answered', answer };
    } catch (error) {
      if (error instanceof RequestRefused)
        return { kind: 'refused', status: error.status, words: error.words };
      // Once the probe has sent all its requests, the remaining questions stay open; the month's budget ends the probe.
      if (!(error instanceof GmsiError)) throw error;
      const isCapped = error.kind === 'budget' && client.requests >= mostRequests;
      if (error instanceof RetryableError || error.kind === 'skippable' || isCapped)
        return { kind: 'failed', reason: error.message };
      throw error;
    }
  }

  return {
    range(series: Series, { start: startDate, end: endDate, limit: pageSize }: Range) {
      const request = { feed, series, startDate, endDate, pageSize, parameters, body: job?.body };
      return reply(() => fetchPage(client, request, null, signal));
    },
    live(series: Series, limit: number) {
      return reply(() => fetchLive(client, feed, series, limit, parameters, signal));
    },
  };
}

/** The parts of a record that show how the service behaves. */
export interface SeenRecord {
  /** Milliseconds since 1970, a time without a zone taken as UTC. */
  readonly time: number;
  /** As the service sent it. */
  readonly writtenTime: string | number;
  readonly record: unknown;
}

/** The wire names of all columns with times, as the job or the feed knows them, best first. */
function timeNamesOf({ table, fields }: Feed, job: Job | undefined): string[] {
  return Object.keys(table.columns)
    .filter((column) => table.columns[column] === 'timestamptz')
    .flatMap((column) => [...(job?.fields[column] ?? []), ...(fields[column] ?? [])]);
}

/** Returns a record with its first readable time; `undefined` if it has none. */
function seenRecord(record: unknown, timeNames: readonly string[]): SeenRecord | undefined {
  for (const name of timeNames) {
    const writtenTime = valueAt(record, name);
    const time = readTime(writtenTime);
    if (time !== undefined)
      return { time: Date.parse(time), writtenTime: writtenTime as string | number, record };
  }
  return undefined;
}

/** Returns the value of a wire name; `a.b` is the field b of the object a. */
function valueAt(record: unknown, name: string): unknown {
  return name
    .split('.')
    .reduce(
      (value, key) =>
        typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined,
      record,
    );
}
