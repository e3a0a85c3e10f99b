import { type Kysely, sql, type Transaction } from 'kysely';
import type { UnlistedName } from '../../config/resolve-series.ts';
import type { Dimension } from '../../feeds/feed.ts';
import type { ListedValues } from '../../feeds/reading/other-series.ts';
import type { Warehouse } from '../connect.ts';
import type { Database } from '../database.ts';

/** The fields of an entry that were not read, unchanged. */
export type Extra = Readonly<Record<string, unknown>>;

export interface Topic {
  /** As used in a feed's query. */
  readonly name: string;
  readonly category: string | null;
  /** As the service sent it; likely an object of texts, `directional` and `semantic_sentiment`. */
  readonly classificationRule: unknown;
  readonly extra: Extra;
}

/** An entry of a list besides the topics. */
export interface ListedCode {
  /** As used in a request. */
  readonly code: string;
  readonly name: string | null;
  readonly extra: Extra;
}

/** The lists that the service keeps. */
export type ListName = 'countries' | 'topics' | 'tickers' | 'sources' | 'languages';

interface Listed {
  readonly code: string;
  readonly name: string | null;
}

/** The lookups as of their last refresh. */
export interface StoredLookups {
  readonly countries: readonly Listed[];
  readonly topics: readonly { readonly name: string; readonly category: string | null }[];
  readonly tickers: readonly Listed[];
  readonly sources: readonly Listed[];
  readonly languages: readonly Listed[];
  readonly unlisted: Readonly<Record<Dimension, readonly UnlistedName[]>>;
  /** When each list was fetched, by the clock of the service, not the database's; `null` if it never was. */
  readonly refreshedAt: Readonly<Record<ListName, Date | null>>;
}

const neverRefreshed = { countries: null, topics: null, tickers: null, sources: null, languages: null };

/** Returns the values that requests use. */
export function listedValues({ countries, topics, tickers }: StoredLookups): ListedValues {
  return {
    country: countries.map(({ code }) => code),
    topic: topics.map(({ name }) => name),
    ticker: tickers.map(({ code }) => code),
  };
}

/** Returns the names that the service lists or has listed before. */
export function knownValues(lookups: StoredLookups): ListedValues {
  const listed = listedValues(lookups);
  const all = (dimension: Dimension) => [
    ...listed[dimension],
    ...lookups.unlisted[dimension].map(({ name }) => name),
  ];
  return { country: all('country'), topic: all('topic'), ticker: all('ticker') };
}

/** Returns what the service listed at the last refresh of each list, in alphabetical order, and what it no longer lists. */
export async function readLookups(db: Kysely<Database>): Promise<StoredLookups> {
  const { rows: listed } = await sql<
    Listed & { list: ListName; category: string | null; refreshed_at: Date }
  >`
    select 'countries' as list, country as code, name, null as category, refreshed_at from gmsi.countries where listed
    union all select 'topics', topic, null, category, refreshed_at from gmsi.topics where listed
    union all select lookup, code, name, null, refreshed_at from gmsi.lookups where listed
    order by code`.execute(db);
  const { rows: unlisted } = await sql<UnlistedName & { dimension: Dimension }>`
    select dimension, name, array(
      select distinct feed from gmsi.series
      where case dimension when 'country' then country when 'topic' then topic else ticker end = name
    ) as feeds
    from (
      select 'country' as dimension, country as name from gmsi.countries where not listed
      union all select 'topic', topic from gmsi.topics where not listed
      union all select 'ticker', code from gmsi.lookups where lookup = 'tickers' and not listed
    ) as gone
    order by name
  `.execute(db);
  const gone = (wanted: Dimension) => unlisted.filter(({ dimension }) => dimension === wanted);
  const inList = (wanted: ListName) => listed.filter(({ list }) => list === wanted);
  const codes = (list: ListName) => inList(list).map(({ code, name }) => ({ code, name }));
  const refreshedAt: Record<ListName, Date | null> = { ...neverRefreshed };
  for (const { list, refreshed_at } of listed) {
    const known = refreshedAt[list];
    if (known === null || refreshed_at < known) refreshedAt[list] = refreshed_at;
  }
  return {
    countries: codes('countries'),
    topics: inList('topics').map(({ code, category }) => ({ name: code, category })),
    tickers: codes('tickers'),
    sources: codes('sources'),
    languages: codes('languages'),
    unlisted: { country: gone('country'), topic: gone('topic'), ticker: gone('ticker') },
    refreshedAt,
  };
}

/** Stores the topics that the service lists. @param at as in `saveCodes` */
export async function saveTopics(warehouse: Warehouse, topics: readonly Topic[], at: Date): Promise<void> {
  await refresh(warehouse, async (trx) => {
    await sql`update gmsi.topics set listed = false`.execute(trx);
    await sql`
      insert into gmsi.topics (refreshed_at, topic, category, classification_rule, extra)
      select ${at}::timestamptz, sent.*
      from unnest(${topics.map((row) => row.name)}::text[], ${topics.map((row) => row.category)}::text[],
                  ${topics.map((row) => json(row.classificationRule))}::jsonb[],
                  ${topics.map((row) => json(row.extra))}::jsonb[]) as sent
      on conflict (topic) do update
        set category = excluded.category, classification_rule = excluded.classification_rule,
            extra = excluded.extra, listed = true, refreshed_at = excluded.refreshed_at
    `.execute(trx);
  });
}

/** Stores one of the other lists. @param at when it was fetched, by the service's clock or this machine's */
export async function saveCodes(
  warehouse: Warehouse,
  list: Exclude<ListName, 'topics'>,
  codes: readonly ListedCode[],
  at: Date,
): Promise<void> {
  const [table, key] =
    list === 'countries'
      ? [sql.table('gmsi.countries'), sql`country`]
      : [sql.table('gmsi.lookups'), sql`lookup, code`];
  const ofList = list === 'countries' ? sql`true` : sql`lookup = ${list}`;
  await refresh(warehouse, async (trx) => {
    await sql`update ${table} set listed = false where ${ofList}`.execute(trx);
    await sql`
      insert into ${table} (refreshed_at, ${key}, name, extra)
      select ${at}::timestamptz, ${list === 'countries' ? sql`` : sql`${list}, `} sent.*
      from unnest(${codes.map((row) => row.code)}::text[], ${codes.map((row) => row.name)}::text[],
                  ${codes.map((row) => json(row.extra))}::jsonb[]) as sent
      on conflict (${key}) do update
        set name = excluded.name, extra = excluded.extra, listed = true, refreshed_at = excluded.refreshed_at
    `.execute(trx);
  });
}

/** Stores a refreshed list. Entries that are no longer listed stay, marked as not listed. */
async function refresh(
  warehouse: Warehouse,
  write: (trx: Transaction<Database>) => Promise<void>,
): Promise<void> {
  await warehouse.transaction().execute(async (trx) => {
    // Two processes that refresh wait for each other; readers do not wait.
    await sql`lock table gmsi.lookups in share row exclusive mode`.execute(trx);
    await write(trx);
  });
}

function json(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}
