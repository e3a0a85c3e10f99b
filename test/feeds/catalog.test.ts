import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { catalog, feedNamed } from '../../src/feeds/catalog.ts';
import { gmsiHeadlines } from '../../src/feeds/gmsi-headlines.ts';

describe('the catalog', () => {
  test('gives a feed by its name', () => {
    expect(feedNamed('gmsi-headlines')).toBe(gmsiHeadlines);
  });

  test('names the nearest feed for a name that it does not know', () => {
    expect(() => feedNamed('gmsi-headline')).toThrow(ConfigError);
    expect(() => feedNamed('gmsi-headline')).toThrow(
      expect.objectContaining({
        kind: 'fatal',
        hint: expect.stringContaining('Did you mean gmsi-headlines?'),
      }),
    );
  });

  test('says what to use instead of a feed that the service has removed', () => {
    expect(() => feedNamed('asset-headlines')).toThrow(
      expect.objectContaining({ kind: 'fatal', hint: expect.stringContaining('ticker-headlines') }),
    );
  });

  test('takes no name of Object.prototype for a feed', () => {
    expect(() => feedNamed('constructor')).toThrow(ConfigError);
  });

  test.each([...catalog.values()])(
    '$name has aliases for every column but extra and an identity of its own making, none of them twice',
    (feed) => {
      expect(Object.keys(feed.fields)).toEqual(
        Object.keys(feed.table.columns).filter((column) => column !== 'extra' && column !== 'entry_id'),
      );
      const aliases = Object.values(feed.fields).flat();
      expect(aliases.filter((alias, index) => aliases.indexOf(alias) !== index)).toEqual([]);
    },
  );

  test.each([...catalog.values()])('$name has its key among its columns', (feed) => {
    expect(Object.keys(feed.table.columns)).toEqual(expect.arrayContaining([...feed.table.key]));
  });
});
