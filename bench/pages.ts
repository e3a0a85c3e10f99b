import { startSandbox } from '#sandbox';
import type { Row, Series } from '../src/feeds/feed.ts';
import { gmsiHeadlines } from '../src/feeds/gmsi-headlines.ts';

/** The rows of one window's pages, in the order in which the service sends them. */
export type WindowOfPages = readonly (readonly Row[])[];

export const series: Series = {
  feed: 'gmsi-headlines',
  country: 'US',
  topic: 'Inflation-Food',
  ticker: '',
  match_type: 'COMBINED',
  variant: '',
};
export const pageSize = 1000;

/** Reads full pages of made-up headlines, so that what is timed later begins with rows. */
export async function someWindows(windows: number, pagesEach: number): Promise<WindowOfPages[]> {
  await using sandbox = await startSandbox({ limits: null, volume: 12 });
  const reader = gmsiHeadlines.reader();
  const some: WindowOfPages[] = [];
  for (let window = 0; window < windows; window++) {
    const pages: (readonly Row[])[] = [];
    for (let token: string | null = ''; token !== null && pages.length < pagesEach; ) {
      const year = 2025 - window;
      const query = new URLSearchParams({
        topic: series.topic,
        start_date: `${year}-01-01`,
        end_date: `${year}-03-30`,
        limit: `${pageSize}`,
        ...(token && { next_token: token }),
      });
      const response = await fetch(`${sandbox.url}/v1${gmsiHeadlines.path(series)}?${query}`, {
        headers: { 'x-api-key': 'sandbox-key' },
      });
      const page = (await response.json()) as { data: unknown[]; next_token: string | null };
      pages.push(page.data.map((record) => reader.read(record).row!));
      token = page.next_token;
    }
    if (pages.some((rows) => rows.length !== pageSize)) throw new Error('a page is not full');
    some.push(pages);
  }
  return some;
}
