import { describe, expect, it } from 'vitest';
import { catalog } from '../../src/feeds/catalog.ts';
import { feedOfPath } from '../../src/observe/metrics.ts';

const series = {
  feed: '',
  country: 'US',
  topic: 'Tension',
  ticker: 'BZ_COM',
  match_type: 'COMBINED',
  variant: '',
};

describe('the feed of a request', () => {
  it.each([...catalog.values()])('is told by its path, the live one too: $name', (feed) => {
    expect(feedOfPath(`/v1${feed.path(series)}`)).toBe(feed.name);
    expect(feedOfPath(`/behind/a/gateway/v1${feed.path(series)}`)).toBe(feed.name);
    if (feed.live) expect(feedOfPath(`/v1${feed.live.path(series)}`)).toBe(feed.name);
  });

  it.each(['/v1/countries', '/v1/headlines/topics/gmsi', '/v1/tickers'])('is lookups for %s', (path) => {
    expect(feedOfPath(path)).toBe('lookups');
  });
});
