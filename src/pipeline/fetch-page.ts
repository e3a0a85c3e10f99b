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
}

/** Asks for one page of a window: the first, or the one that `token` leads to. */
export function fetchPage(
  client: Client,
  request: WindowRequest,
  token: string | null,
  signal: AbortSignal,
): Promise<Page> {
  const { feed, series } = request;
  const names = { ...feed.parameters, ...request.parameters };
  const query = {
    [names.topic]: series.topic,
    [names.matchType]: series.matchType,
    [names.startDate]: request.startDate,
    [names.endDate]: request.endDate,
    [names.limit]: String(request.pageSize),
    ...(token === null ? {} : { [names.nextToken]: token }),
  };
  return client.getPage({ path: feed.path(series), query }, signal);
}
