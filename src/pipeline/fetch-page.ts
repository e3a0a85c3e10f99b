import type { Client } from '../api/client.ts';
import type { Page } from '../api/page.ts';
import type { Feed, ParameterNames, Series } from '../feeds/feed.ts';

/** What stays the same from a window's first page to its last; a cursor is bound to it. */
export interface WindowRequest {
  readonly feed: Feed;
  readonly series: Series;
  /** `YYYY-MM-DD`, as sent. */
  readonly startDate: string;
  readonly endDate: string;
  readonly pageSize: number;
  /** Names of query parameters that the job overrides. */
  readonly parameters: Partial<ParameterNames>;
  /** What a `POST` feed sends besides its parameters. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/** Asks for one page of a window: the first, or the one that `token` leads to. */
export function fetchPage(
  client: Client,
  request: WindowRequest,
  token: string | null,
  signal: AbortSignal,
): Promise<Page> {
  const { feed, series, body } = request;
  const path = feed.path(series);
  const parameters = parametersOf(request, token);
  if (feed.method === 'GET') return client.getPage({ path, query: parameters }, signal);
  // The page size is a number there, as it would be in any JSON.
  const limit = { [nameOf(request, 'limit')]: request.pageSize };
  return client.getPage({ path, query: {}, body: { ...body, ...parameters, ...limit } }, signal);
}

function parametersOf(request: WindowRequest, token: string | null): Record<string, string> {
  const { feed, series } = request;
  const values: Record<keyof ParameterNames, string | null> = {
    topic: series.topic,
    matchType: series.matchType,
    startDate: request.startDate,
    endDate: request.endDate,
    limit: String(request.pageSize),
    nextToken: token,
  };
  const parameters: Record<string, string> =
    feed.method === 'GET' ? Object.fromEntries(new URLSearchParams(series.variant)) : {};
  for (const key of Object.keys(feed.parameters) as (keyof ParameterNames)[]) {
    const value = values[key];
    if (value !== null) parameters[nameOf(request, key)] = value;
  }
  return parameters;
}

function nameOf({ feed, parameters }: WindowRequest, key: keyof ParameterNames): string {
  return parameters[key] ?? feed.parameters[key]!;
}
