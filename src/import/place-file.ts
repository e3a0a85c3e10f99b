import { feedNamed } from '../feeds/catalog.ts';
import { addedFields, type Dimension, type Feed, type Series } from '../feeds/feed.ts';
import { type ListedValues, seriesFields } from '../feeds/reading/other-series.ts';
import { fieldOf } from '../feeds/reading/sent-record.ts';
import { nearest } from '../nearest.ts';
import { oneName, sameName } from '../one-name.ts';
import { type DataFile, FileRefused } from './data-file.ts';
import { daysNamed, type NamedDays, periodFolders } from './file-days.ts';

/** The options by which a user describes all files. */
export interface Stated {
  readonly feed: string | undefined;
  readonly country: string | undefined;
  readonly topic: string | undefined;
  readonly ticker: string | undefined;
  readonly matchType: string | undefined;
}

/** Where the records of a file belong, according to its name and the user. */
export interface Placement {
  readonly feed: Feed;
  /** Parts listed in `fromRecords` are empty or incomplete. */
  readonly series: Series;
  /** The parts of the series to read from each record. */
  readonly fromRecords: readonly SeriesPart[];
  /** Fields for every record, from folder names. A record's own field of that name wins. */
  readonly columns: Readonly<Record<string, string>>;
  /** The match type of its folder, if the user says that it is part of another match type. */
  readonly partOf: string | undefined;
  /** The days of its name. */
  readonly days: NamedDays | undefined;
}

type SeriesPart = Dimension | 'match_type' | 'variant';

/** Folder and field names for each part of a series. */
const names: Readonly<Record<Dimension | 'match_type', readonly string[]>> = {
  ...seriesFields,
  match_type: ['match_type', 'index_type'],
};

const option = { country: '--country', topic: '--topic', ticker: '--ticker' } as const;

/** The name of an asset's archive ends with its ticker. */
const tickerArchive = /(?:^|_)([A-Z0-9]+_[A-Z]{2,3})\.zip$/;

/** The name of an archive of the regional macro index, or of the folder it was unpacked to, ends with its country. */
const regionalArchive = /^macro_geopolitical_sentiment_(?:[\da-f-]{36}_)?([^\d_]+?)(?:\.zip)?$/i;

/**
 * Finds where a file belongs. A folder `name=value` sets a part of the series, or else a column; the name of an asset's
 * archive ends with its ticker. Never guesses.
 * @throws FileRefused if a part is missing or contradictory
 */
export function placeFile(
  file: Pick<DataFile, 'parts' | 'archive'>,
  options: Stated,
  listed: ListedValues,
): Placement {
  const { archive } = file;
  const parts = file.parts.map(oneName);
  const stated = Object.fromEntries(
    Object.entries(options).map(([name, value]) => [name, value && oneName(value)]),
  ) as unknown as Stated;
  const folders = foldersOf(parts.slice(0, -1));
  const ticker = folderOf(folders, 'ticker') ?? tickerArchive.exec(archive?.name ?? '')?.[1];
  const region = parts.map((part) => regionalArchive.exec(part)?.[1]).find((name) => name !== undefined);
  const feed = feedOf(folders, region, stated, ticker);
  if (feed.method === 'POST')
    throw new FileRefused(`${feed.name} is your own query, so it cannot be imported`);

  const named = { country: folderOf(folders, 'country'), topic: folderOf(folders, 'topic'), ticker };
  const series = { feed: feed.name, country: '', topic: '', ticker: '', match_type: '', variant: '' };
  const fromRecords: SeriesPart[] = [];
  for (const dimension of feed.dimensions) {
    const [byUser, byName] = [stated[dimension], named[dimension]];
    if (byUser !== undefined && byName !== undefined && byUser !== byName)
      throw contradiction(option[dimension], byUser, byName);
    const value = byUser ?? byName;
    if (value === undefined) fromRecords.push(dimension);
    else series[dimension] = listedValue(dimension, value, listed);
  }
  const matchType = matchTypeOf(feed, stated.matchType, folderOf(folders, 'match_type'));
  if (matchType.value === undefined) fromRecords.push('match_type');
  else series.match_type = matchType.value;
  const isRegional = region !== undefined && 'country_preset' in feed.variants;
  if (isRegional) folders.set('country', region).set('country_preset', region.toLowerCase());
  series.variant = variantOf(feed, (name) => folders.get(name));
  // Neither such an archive nor its records name the model.
  if (!isRegional && unsaidOf(feed, series).length > 0) fromRecords.push('variant');
  return {
    feed,
    series,
    fromRecords,
    partOf: matchType.partOf,
    days: daysNamed(parts.at(-1)!, folders, (name) => partsOfSeries(feed).has(name)),
    columns: columnsOf(feed, folders, series),
  };
}

/** Returns the feed that the user names, else the feed whose parts the folders name. */
function feedOf(
  folders: ReadonlyMap<string, string>,
  region: string | undefined,
  { feed, ...stated }: Stated,
  ticker: string | undefined,
): Feed {
  if (feed !== undefined) return feedNamed(feed);
  if (region !== undefined) return feedNamed('regional-index');
  const kind = folders.has('index_type') ? 'index' : folders.has('match_type') ? 'headlines' : undefined;
  if (kind) {
    if (folderOf(folders, 'country') ?? stated.country) return feedNamed(`gmsi-${kind}`);
    if (ticker ?? stated.ticker) return feedNamed(`ticker-${kind}`);
  }
  throw new FileRefused('has a name that does not say its feed: use --feed');
}

/** @returns no value if it must be read from the records */
function matchTypeOf(feed: Feed, stated: string | undefined, named: string | undefined) {
  const none = { value: undefined, partOf: undefined };
  if (feed.matchTypes.length === 0) return { ...none, value: '' };
  for (const value of [stated, named]) {
    if (value !== undefined && !feed.matchTypes.includes(value))
      throw new FileRefused(`"${value}" is not a match type of ${feed.name}: ${feed.matchTypes.join(', ')}`);
  }
  const isIndex = feed.parameters.matchType === 'index_type';
  if (stated !== undefined && named !== undefined && stated !== named) {
    // The headlines of the parts make up the whole. The sums of an index do not.
    if (isIndex || stated !== feed.matchTypes[0]) throw contradiction('--match-type', stated, named);
    return { value: stated, partOf: named };
  }
  const value = stated ?? named;
  // A headline's own match type says which part it belongs to, not which match type was requested.
  if (value === undefined && !isIndex)
    throw new FileRefused(`has no match type in its name: use --match-type ${feed.matchTypes[0]}`);
  return { ...none, value };
}

function contradiction(flag: string, stated: string, named: string): FileRefused {
  return new FileRefused(`${flag} is ${stated}, but the name of the file says ${named}`);
}

function listedValue(dimension: Dimension, given: string, listed: ListedValues): string {
  const value = oneName(given);
  const values = listed[dimension];
  if (values.length === 0 && (dimension !== 'country' || /^[A-Z]{2}$/.test(value)) && value !== '')
    return value;
  const same = sameName(value, values);
  if (same !== undefined) return same;
  const meant = nearest(value, values);
  throw new FileRefused(
    `the service has no ${dimension} "${value}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
  );
}

function variantOf(feed: Feed, find: (name: string) => string | undefined): string {
  const values = Object.keys(feed.variants)
    .sort()
    .map((name) => [name, find(name)] as const)
    .filter((pair): pair is [string, string] => pair[1] !== undefined);
  for (const [name, value] of values) {
    const known = feed.variants[name]!;
    if (known.length > 0 && !known.includes(value))
      throw new FileRefused(`"${value}" is not a ${name} of ${feed.name}: ${known.join(', ')}`);
  }
  return new URLSearchParams(values).toString();
}

/** Returns the parameters that every series of the feed has and this one still lacks. */
function unsaidOf({ variants }: Feed, { variant }: Series): string[] {
  const said = new URLSearchParams(variant);
  return Object.keys(variants).filter((name) => variants[name]!.length > 0 && !said.has(name));
}

/** Returns the folder names that set a part of a feed's series. */
function partsOfSeries({ dimensions, matchTypes, variants }: Feed): ReadonlySet<string> {
  return new Set([
    ...dimensions.flatMap((dimension) => names[dimension]),
    ...(matchTypes.length > 0 ? names.match_type : []),
    ...Object.keys(variants),
  ]);
}

/**
 * Returns the fields to add to every record: folders that are not part of the series, and the parts of the series that
 * records of a page have themselves (docs/service.md), so that file and page give the same rows.
 */
function columnsOf(
  feed: Feed,
  folders: ReadonlyMap<string, string>,
  { topic, ticker, match_type }: Series,
): Record<string, string> {
  const isNoColumn = partsOfSeries(feed);
  const matchType = feed.parameters.matchType;
  const isRead = Object.values(feed.fields).some((fields) => fields.includes(matchType ?? ''));
  // Records of an index have the requested type; headlines have the part that they belong to.
  const part = matchType === 'index_type' ? match_type : folderOf(folders, 'match_type');
  return {
    ...Object.fromEntries(
      [...folders].filter(([name]) => !isNoColumn.has(name) && !periodFolders.includes(name)),
    ),
    ...(topic && { [addedFields.topic]: topic }),
    ...(ticker && { [addedFields.ticker]: ticker }),
    ...(isRead && part && { [matchType!]: part }),
  };
}

/** Returns a function that completes the series from a record. */
export function seriesReader(
  { feed, series, fromRecords }: Placement,
  listed: ListedValues,
): (record: unknown, place: { readonly line?: number; readonly record?: number }) => Series {
  const known = new Map<string, Series>();
  const unsaid = unsaidOf(feed, series);
  const ofNames = new URLSearchParams(series.variant);
  return (record, place) => {
    const find = (part: string, of: readonly string[]): string => {
      const value = of.map((name) => fieldOf(record, name)).find((it) => typeof it === 'string' && it !== '');
      if (typeof value === 'string') return value;
      const flag = part in option ? `${option[part as Dimension]}, ` : '';
      throw new FileRefused(`has no ${part}: use ${flag}a folder ${of[0]}=… or a column`, place);
    };
    const said = fromRecords.map((part) => {
      if (part === 'variant') return unsaid.map((name) => find(name, [name])).join('&');
      // Only for an index: the match type of a headline has another meaning.
      return find(part, part === 'match_type' ? ['index_type'] : names[part]);
    });
    const key = said.join('\n');
    const before = known.get(key);
    if (before) return before;
    const parts = fromRecords.map((part, at) => [part, checked(part, said[at]!)]);
    const whole: Series = { ...series, ...Object.fromEntries(parts) };
    // A file with countless series must not fill the memory.
    if (known.size < 100_000) known.set(key, whole);
    return whole;

    function checked(part: SeriesPart, value: string): string {
      try {
        if (part === 'variant')
          return variantOf(feed, (name) =>
            unsaid.includes(name) ? (fieldOf(record, name) as string) : (ofNames.get(name) ?? undefined),
          );
        if (part === 'match_type') return matchTypeOf(feed, undefined, value).value!;
        return listedValue(part, value, listed);
      } catch (error) {
        throw error instanceof FileRefused ? new FileRefused(error.message, place) : error;
      }
    }
  };
}

/** Reads `name=value` folders as Hive and Spark write them, with their escapes. */
function foldersOf(parts: readonly string[]): Map<string, string> {
  const pairs = parts.map((part) => /^([^=]+)=(.*)$/s.exec(part)).filter((pair) => pair !== null);
  return new Map(pairs.map(([, name, value]) => [oneName(name!.toLowerCase()), oneName(unescaped(value!))]));
}

function unescaped(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

function folderOf(folders: ReadonlyMap<string, string>, part: Dimension | 'match_type'): string | undefined {
  return names[part].map((name) => folders.get(name)).find((value) => value !== undefined);
}
