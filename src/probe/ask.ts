import type { Job } from '../config/job.ts';
import { GmsiError } from '../errors.ts';
import type { Feed, Series } from '../feeds/feed.ts';
import { isJsonObject } from '../feeds/reading/read-fields.ts';
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
  /** The times of its records, in milliseconds since 1970; a time without a zone is taken as UTC. */
  readonly times: readonly number[];
  /** Records of the page, also those without a readable time. */
  readonly count: number;
  readonly nextToken: string | null;
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

export function asker({ client, feed, job, origin, signal }: Probing) {
  const parameters = job?.service.parameters ?? {};
  const timeNames = timeNamesOf(feed, job);

  async function reply(ask: () => Promise<Page>): Promise<Reply> {
    try {
      const { records, nextToken } = await ask();
      await origin.check(client.servedBy, client.answeredAt);
      const times = records.flatMap((record) => timeOf(record, timeNames) ?? []);
      return { kind: 'answered', answer: { times, count: records.length, nextToken } };
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

/** The wire names of all columns with times, as the job or the feed knows them, best first. */
function timeNamesOf({ table, fields }: Feed, job: Job | undefined): string[] {
  return Object.keys(table.columns)
    .filter((column) => table.columns[column] === 'timestamptz')
    .flatMap((column) => [...(job?.fields[column] ?? []), ...(fields[column] ?? [])]);
}

/** Returns the first readable time of a record. @param names `a.b` is the field b of the object a */
function timeOf(record: unknown, names: readonly string[]): number | undefined {
  for (const name of names) {
    const value = name
      .split('.')
      .reduce<unknown>((object, key) => (isJsonObject(object) ? object[key] : undefined), record);
    const time = readTime(value);
    if (time !== undefined) return Date.parse(time);
  }
  return undefined;
}
