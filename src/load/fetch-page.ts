import type { Feed, ParameterNames, Series } from '../feeds/feed.ts';
import type { Client } from '../service/client.ts';
import { PageSizeRefused, RequestRefused } from '../service/errors.ts';
import type { Page } from '../service/page.ts';

/** The parameters that all pages of a window share. A cursor works only with the same ones. */
export interface WindowRequest {
  readonly feed: Feed;
  readonly series: Series;
  /** `YYYY-MM-DD` */
  readonly startDate: string;
  /** `YYYY-MM-DD`; `null` to send none, so that the answer runs to now. */
  readonly endDate: string | null;
  readonly pageSize: number;
  /** Names of query parameters that the job overrides. */
  readonly parameters: Partial<ParameterNames>;
  /** What a `POST` feed sends besides its parameters. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** Requests one page of a window: the first, or the one after `token`. */
export function fetchPage(
  client: Client,
  request: WindowRequest,
  token: string | null,
  signal: AbortSignal,
): Promise<Page> {
  const { feed, series, body } = request;
  const to = { feed: feed.name, path: feed.path(series), isContinued: token !== null };
  const parameters = parametersOf(request, token);
  const envelope = { limit: request.pageSize };
  const name = request.parameters.limit ?? feed.parameters.limit;
  // In a JSON body the page size is a number.
  const sent =
    feed.method === 'GET'
      ? { ...to, query: parameters }
      : { ...to, query: {}, body: { ...body, ...parameters, [name]: request.pageSize } };
  return client.getPage(sent, signal, envelope).catch(asPageSizeRefused(name, request.pageSize));
}

/** Requests the newest records of a series from the live feed. @param limit how many at most */
export function fetchLive(
  client: Client,
  feed: Feed,
  series: Series,
  limit: number,
  renamed: Partial<ParameterNames>,
  signal: AbortSignal,
): Promise<Page> {
  const live = feed.live!;
  const query = {
    ...live.query,
    ...variantOf(feed, series),
    ...named(feed, renamed, { topic: series.topic, matchType: series.match_type, limit: String(limit) }),
  };
  const envelope = { bareArray: true, limit };
  const to = { feed: feed.name, path: live.path(series), isLive: true };
  const name = renamed.limit ?? feed.parameters.limit;
  return client.getPage({ ...to, query }, signal, envelope).catch(asPageSizeRefused(name, limit));
}

/**
 * Tells a refusal of the page size, which is the same for all windows, from one of the days.
 * @param name of the parameter: the words locate it (`query.limit: …`), or say what it must be
 */
function asPageSizeRefused(name: string, pageSize: number) {
  const limit = name.replace(/\W/g, '\\$&');
  const located = new RegExp(
    `(?:^|; )(?:\\w+\\.)*${limit}:|^\\W*(?:(?:invalid|the|parameter) )*\\W?${limit}\\b(?!.*\\b(?:rate|days?|dates?|month(?:ly)?|quota|requests?)\\b)`,
    'i',
  );
  return (error: unknown): never => {
    const isOfSize =
      error instanceof RequestRefused && [400, 422].includes(error.status) && located.test(error.words);
    throw isOfSize ? new PageSizeRefused(pageSize, error) : error;
  };
}

function parametersOf(
  { feed, series, parameters, ...request }: WindowRequest,
  token: string | null,
): Record<string, string> {
  const values = {
    topic: series.topic,
    matchType: series.match_type,
    limit: String(request.pageSize),
    startDate: request.startDate,
    ...(request.endDate === null ? {} : { endDate: request.endDate }),
    ...(token === null ? {} : { nextToken: token }),
  };
  return { ...(feed.method === 'GET' ? variantOf(feed, series) : {}), ...named(feed, parameters, values) };
}

/** Returns the values by the feed's parameter names, without parameters that the feed does not have. */
function named(
  feed: Feed,
  renamed: Partial<ParameterNames>,
  values: Partial<Record<keyof ParameterNames, string>>,
): Record<string, string> {
  const parameters: Record<string, string> = {};
  for (const [key, name] of Object.entries(feed.parameters) as [keyof ParameterNames, string][]) {
    const value = values[key];
    if (value !== undefined) parameters[renamed[key] ?? name] = value;
  }
  return parameters;
}

function variantOf({ inPath }: Feed, { variant }: Series): Record<string, string> {
  return Object.fromEntries([...new URLSearchParams(variant)].filter(([name]) => !inPath.includes(name)));
}
