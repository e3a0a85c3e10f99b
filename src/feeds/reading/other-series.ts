import { oneName } from '../../one-name.ts';
import type { Dimension, Feed, FieldAliases, Series } from '../feed.ts';
import { fieldOf } from './sent-record.ts';

/** The values of each lookup, as requests use them; none if it was never fetched. */
export type ListedValues = Readonly<Record<Dimension, readonly string[]>>;

/** Field names by which a record may name a part of its series. */
export const seriesFields: Readonly<Record<Dimension, readonly string[]>> = {
  country: ['country', 'country_code'],
  topic: ['topic_name', 'topic'],
  ticker: ['ticker', 'ticker_id'],
};

/** Returns why a record is not of the series that was requested; `undefined` if it does not name another one. */
export type OtherSeries = (record: unknown, series: Series) => string | undefined;

/**
 * Compares the country, topic or ticker that a record names with the requested one: a cache that ignores a part of the request
 * would fill one series with another. A value counts only if it is certainly another one: listed, or for a country its code
 * or English name.
 * @param overrides fields that a job reads into columns; they do not name a series
 */
export function otherSeries(feed: Feed, listed: ListedValues, overrides: FieldAliases): OtherSeries {
  const taken = new Set(Object.values(overrides).flat());
  const parts = feed.dimensions.map((dimension) => ({
    dimension,
    fields: seriesFields[dimension].filter((field) => !taken.has(field)),
    spell: speller(dimension, listed[dimension]),
  }));
  return (record, series) => {
    for (const { dimension, fields, spell } of parts) {
      const asked = spell(series[dimension]) ?? series[dimension];
      let other: string | undefined;
      for (const field of fields) {
        const named = spell(fieldOf(record, field));
        if (named === asked) {
          other = undefined;
          break;
        }
        other ??= named;
      }
      if (other !== undefined) return `names the ${dimension} ${other}, not ${asked}`;
    }
    return undefined;
  };
}

/** Returns a function that returns the one spelling of a value; `undefined` if it is not known. */
function speller(dimension: Dimension, listed: readonly string[]) {
  const known = new Map(listed.map((value) => [oneName(value).toLowerCase(), value]));
  const codes = dimension === 'country' ? regionCodes() : new Map<string, string>();
  const spell = (text: string): string | undefined => {
    const lower = oneName(text).toLowerCase();
    const value = known.get(lower);
    return codes.get((value ?? lower).toLowerCase()) ?? value;
  };
  let last: { readonly text: string; readonly spelled: string | undefined } | undefined;
  return (text: unknown): string | undefined => {
    if (typeof text !== 'string') return undefined;
    // Most records name the same series as the one before.
    if (text !== last?.text) last = { text, spelled: spell(text) };
    return last.spelled;
  };
}

/** Returns ISO 3166 codes by their own and their English names, in lower case. Of a country with two codes, the newer one. */
function regionCodes(): Map<string, string> {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = new Map<string, string>();
  for (const text of letters.flatMap((first) => letters.map((second) => first + second))) {
    const name = names.of(text);
    const code = Intl.getCanonicalLocales(`und-${text}`)[0]!.slice('und-'.length);
    if (name === undefined) continue;
    codes.set(text.toLowerCase(), code);
    codes.set(name.toLowerCase(), code);
  }
  return codes;
}
