import { createWriteStream } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import { stringify } from 'csv-stringify/sync';
import { ZipFile } from 'yazl';
import { dayOf, formatDay } from './days.ts';
import type { FeedName } from './feeds/catalog.ts';
import { REGIONAL_TOPICS } from './feeds/macro-indices.ts';
import { identityOf, idOf } from './generate/id.ts';
import { type SandboxOptions, type SandboxSettings, settingsFrom } from './options.ts';
import type { Query } from './service.ts';
import { truthOfFeed } from './truth.ts';
import type { WireRecord } from './wire-record.ts';
import { COUNTRY_BY_CODE } from './world/countries.ts';

export interface WrittenArchive {
  readonly path: string;
  readonly files: number;
  readonly records: number;
}

/** A file of an archive: its folders, and the request for its records. */
interface Part {
  readonly folders: Readonly<Record<string, string>>;
  readonly feed: FeedName;
  readonly query: Query;
  /** Columns that are not written, some because folders say them. */
  readonly without: readonly string[];
  /** The only topic whose records are written. */
  readonly topic?: string;
  /** The name of a file with all years. */
  readonly name?: string;
}

/** The comment of the ZIP file, by which an import knows that its data are made up. */
const comment = 'gmsi-sandbox: made-up data';

/**
 * Writes bulk archives like the vendor's (docs/service.md, "Bulk archives"), with everything that the service would serve
 * now: headlines and index of each ticker, the regional macro index of each country, and one archive each of GMSI headlines
 * and the GMSI index. Layouts are a guess. A file contains a year, except in the regional macro index.
 */
export async function writeArchives(
  folder: string,
  options: SandboxOptions = {},
  { stop, onArchive = () => {} }: { stop?: AbortSignal; onArchive?: (written: WrittenArchive) => void } = {},
): Promise<WrittenArchive[]> {
  const settings = settingsFrom(options);
  const { tickers, countries, topics } = settings.archive;
  await mkdir(folder, { recursive: true });
  const pairs = countries.flatMap((country) => topics.map((topic) => ({ country, topic })));
  const written: WrittenArchive[] = [];
  const add = async (name: string, subject: string, parts: Part[]) => {
    stop?.throwIfAborted();
    const one = await write(settings, folder, name, subject, parts);
    written.push(one);
    onArchive(one);
  };
  for (const ticker of tickers) {
    await add('asset_headlines', `_${ticker}`, headlinesOf(ticker));
    await add('asset_index', `_${ticker}`, indexOf(settings, ticker));
  }
  for (const country of countries) {
    const name = COUNTRY_BY_CODE.get(country)?.name ?? country;
    await add('macro_geopolitical_sentiment', `_${name}`, regionalIndexOf(name));
  }
  if (pairs.length > 0) {
    await add('gmsi_headlines', '', pairs.map(headlinesOfPair));
    await add('gmsi_index', '', pairs.flatMap(indexOfPair));
  }
  return written;
}

function headlinesOf(ticker: string): Part[] {
  return ['EXPLICIT', 'IMPLICIT'].map((match_type) => ({
    folders: { match_type },
    feed: 'ticker-headlines',
    query: { ticker, match_type },
    without: ['match_type'],
  }));
}

function indexOf(settings: SandboxSettings, ticker: string): Part[] {
  return ['COMBINED', 'EXPLICIT', 'IMPLICIT'].flatMap((index_type) => {
    const query = { ticker, index_type };
    const records = truthOfFeed(settings, 'ticker-index', { ...query, ...daysOf(settings) });
    const topics = [...new Set(records.map(({ wire }) => String(wire.topic_name)))].sort();
    return topics.map((topic) => ({
      folders: { index_type, topic },
      topic,
      feed: 'ticker-index' as const,
      query,
      without: ['ticker', 'topic_name', 'index_type'],
    }));
  });
}

/** Uses the first model, because an archive does not say its model. */
function regionalIndexOf(country: string): Part[] {
  return REGIONAL_TOPICS.flatMap(({ name: topic }, at) =>
    ['DOMESTIC', 'INTERNATIONAL'].map((index_type) => ({
      folders: { topic_name: topic, index_type },
      topic,
      feed: 'regional-index' as const,
      query: { model: 'macro_1', country_preset: country.toLowerCase(), index_type },
      without: ['topic_name', 'country', 'sentiment_avg', 'sentiment_std'],
      name: `part-${String(at).padStart(5, '0')}`,
    })),
  );
}

function headlinesOfPair({ country, topic }: { country: string; topic: string }): Part {
  return {
    folders: { country, topic_name: topic, match_type: 'COMBINED' },
    feed: 'gmsi-headlines',
    query: { country, topic, match_type: 'COMBINED' },
    without: ['topic_name'],
  };
}

function indexOfPair({ country, topic }: { country: string; topic: string }): Part[] {
  return ['directional', 'semantic_sentiment'].map((sentiment_type) => ({
    folders: { country, topic_name: topic, index_type: 'COMBINED', sentiment_type },
    feed: 'gmsi-index',
    query: { country, topic, index_type: 'COMBINED', sentiment_type },
    without: ['topic_name'],
  }));
}

async function write(
  settings: SandboxSettings,
  folder: string,
  name: string,
  ending: string,
  parts: readonly Part[],
): Promise<WrittenArchive> {
  const now = settings.clock();
  // The UUID of its version, made from the seed and the day.
  const version = idOf(identityOf(`${settings.seed} ${name}${ending}`), dayOf(now.getTime()), 0);
  const path = join(folder, `${name}_${version}${ending}.zip`);
  const zip = new ZipFile();
  const counts = { files: 0, records: 0 };
  const served = servedOnce(settings);
  const done = pipeline(zip.outputStream, createWriteStream(path));
  for (const part of parts) {
    const all = daysOf(settings);
    const files: [string, Days][] = part.name ? [[`${part.name}-${version}.c000`, all]] : yearsOf(all);
    for (const [stem, days] of files) {
      const records = served(part, days).filter(
        (record) => part.topic === undefined || record.topic_name === part.topic,
      );
      const folders = Object.entries(part.folders).map(([key, value]) => `${key}=${escaped(value)}`);
      const csv = gzipSync(csvOf(records, part.without));
      zip.addBuffer(csv, [...folders, `${stem}.csv.gz`].join('/'), { mtime: now, compress: false });
      counts.files++;
      counts.records += records.length;
    }
  }
  zip.end({ comment, forceZip64Format: false });
  await done;
  return { path, ...counts };
}

type Days = { readonly from: string; readonly to: string };

/** Returns a function that keeps answers, because the files of an index's topics come from the same one. */
function servedOnce(settings: SandboxSettings) {
  const answers = new Map<string, readonly WireRecord[]>();
  return ({ feed, query, topic }: Part, days: Days): readonly WireRecord[] => {
    const question = { ...query, ...days };
    const key = JSON.stringify([feed, question]);
    const answer = answers.get(key) ?? truthOfFeed(settings, feed, question).map(({ wire }) => wire);
    if (topic !== undefined) answers.set(key, answer);
    return answer;
  };
}

/** Escapes a value in the name of a folder, as Spark does. */
function escaped(value: string): string {
  return value.replace(
    /["#%'*/:=?\\{}[\]^]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

/** Writes every field that any record has; lists and objects as JSON. */
function csvOf(records: readonly WireRecord[], without: readonly string[]): string {
  const names = new Set(records.flatMap((record) => Object.keys(record)));
  const columns = [...names].filter((name) => !without.includes(name));
  return stringify(records as WireRecord[], {
    header: true,
    columns: columns.length > 0 ? columns : ['publication_time'],
  });
}

function daysOf({ archive, clock }: SandboxSettings): Days {
  const today = dayOf(clock().getTime());
  return {
    from: archive.from ?? `${Number(formatDay(today).slice(0, 4)) - 1}-01-01`,
    to: archive.to ?? formatDay(today - 1),
  };
}

function yearsOf({ from, to }: Days): [year: string, days: Days][] {
  const first = Number(from.slice(0, 4));
  const last = Number(to.slice(0, 4));
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const year = String(first + index);
    const [begins, ends] = [`${year}-01-01`, `${year}-12-31`];
    return [year, { from: from > begins ? from : begins, to: to < ends ? to : ends }];
  });
}
