import type { Country, Extra, ListedCode, OtherList, Topic } from '../warehouse/tables/lookups.ts';
import type { Client } from './client.ts';
import { cursorGuard, newsGuard } from './cursor.ts';
import { CursorBroken, LookupUnreadable, PageTooLarge } from './errors.ts';
import { serviceWords } from './service-words.ts';

/** The lists besides countries and topics (docs/service.md, "Lookups"); their shapes are not known. */
const otherLists = {
  tickers: {
    path: '/ticker',
    codes: ['ticker', 'ticker_id', 'code', 'symbol', 'id'],
    names: ['name', 'ticker_name', 'label'],
  },
  sources: {
    path: '/sources',
    codes: ['source', 'code', 'id', 'name'],
    names: ['name', 'source_name', 'label'],
  },
  languages: {
    path: '/taxonomy/languages',
    codes: ['code', 'language', 'language_code', 'id'],
    names: ['name', 'language_name', 'label'],
  },
} as const satisfies Record<OtherList, unknown>;

/** The most entries of a lookup, which are all in memory at once. */
const mostEntries = 100_000;

type LookupClient = Pick<Client, 'getJson'>;

/**
 * Reads `GET /countries`. Its shape is not documented (docs/service.md, "Lookups"): entries may be strings or objects, in a
 * bare array or under a name, on one page or several. An entry listed twice counts once.
 * @throws LookupUnreadable for any other shape, or an empty list
 */
export async function fetchCountries(client: LookupClient, signal: AbortSignal): Promise<Country[]> {
  const path = '/countries';
  const entries = await fetchEntries(client, path, 'countries', signal);
  if (entries.length === 0) throw listsNothing(path);
  return readCountries(entries, path);
}

/**
 * Asks `GET /countries/search` for countries by their name; the result may be empty. Its shape and the name of its
 * `parameter` are not documented (docs/service.md, "Lookups").
 */
export async function searchCountries(
  client: LookupClient,
  { words, parameter }: { words: string; parameter: string },
  signal: AbortSignal,
): Promise<Country[]> {
  const path = '/countries/search';
  return readCountries(await fetchEntries(client, path, 'countries', signal, { [parameter]: words }), path);
}

function readCountries(entries: readonly unknown[], path: string): Country[] {
  const countries = entries.map((entry): Country => {
    if (isText(entry)) return { code: entry, name: null, extra: {} };
    const fields = objectOf(entry, path);
    const take = fieldTaker(fields);
    const code = take(
      ['code', 'country_code', 'iso2', 'iso_code', 'alpha_2', 'alpha2', 'iso', 'country', 'id'],
      isText,
    );
    if (code === undefined) throw unreadableEntry(path, fields, 'a country code');
    const name = take(['name', 'country_name', 'label', 'title', 'country'], isText) ?? null;
    return { code, name, extra: take.rest() };
  });
  return withoutDoubles(countries, (country) => country.code);
}

/** Reads `GET /headlines/topics/gmsi`, with the shapes and errors of `fetchCountries`. */
export async function fetchTopics(client: LookupClient, signal: AbortSignal): Promise<Topic[]> {
  const path = '/headlines/topics/gmsi';
  const listed = await fetchEntries(client, path, 'topics', signal);
  if (listed.length === 0) throw listsNothing(path);
  const topics = listed.map((entry): Topic => {
    if (typeof entry === 'string')
      return { name: entry, category: null, classificationRule: null, extra: {} };
    const fields = objectOf(entry, path);
    const take = fieldTaker(fields);
    const name = take(['name', 'topic', 'topic_name', 'label', 'title'], isText);
    if (name === undefined) throw unreadableEntry(path, fields, "a topic's name");
    const category = take(['category', 'category_name', 'group'], isText) ?? null;
    const rule =
      take(['classification_rule', 'classification_rules', 'classificationRule', 'rule'], isPresent) ?? null;
    return { name, category, classificationRule: rule, extra: take.rest() };
  });
  return withoutDoubles(topics, (topic) => topic.name);
}

/** Reads `GET /ticker`, `/sources` or `/taxonomy/languages`, with the shapes and errors of `fetchCountries`. */
export async function fetchCodes(
  client: LookupClient,
  list: OtherList,
  signal: AbortSignal,
): Promise<ListedCode[]> {
  const { path, codes, names } = otherLists[list];
  const listed = await fetchEntries(client, path, list, signal);
  if (listed.length === 0) throw listsNothing(path);
  const entries = listed.map((entry): ListedCode => {
    if (isText(entry)) return { code: entry, name: null, extra: {} };
    const fields = objectOf(entry, path);
    const take = fieldTaker(fields);
    const code = take(codes, isText);
    if (code === undefined) throw unreadableEntry(path, fields, 'a code');
    return { code, name: take(names, isText) ?? null, extra: take.rest() };
  });
  return withoutDoubles(entries, ({ code }) => code);
}

/** After this many pages in a row without a new entry, it is not a list: lists have one page or a few. */
const pagesWithoutNews = 3;

async function fetchEntries(
  client: LookupClient,
  path: string,
  field: string,
  signal: AbortSignal,
  asked: Readonly<Record<string, string>> = {},
): Promise<unknown[]> {
  const guard = cursorGuard(null);
  const news = newsGuard(pagesWithoutNews, 'Run it again. If it stays, tell the vendor.');
  const met = new Set<string>();
  const entries: unknown[] = [];
  let token: string | null = null;
  for (;;) {
    const query: Record<string, string> = token === null ? { ...asked } : { ...asked, next_token: token };
    const body = await client.getJson({ path, query }, signal).catch((error: unknown) => {
      if (!(error instanceof PageTooLarge)) throw error;
      throw new LookupUnreadable(`GET ${path} lists too much. ${error.message}`, { hint, cause: error });
    });
    const before = met.size;
    for (const entry of entriesOf(body, path, field)) {
      const text = textOf(entry, path);
      if (!met.has(text)) entries.push(entry);
      met.add(text);
      if (met.size > mostEntries) {
        throw new LookupUnreadable(`GET ${path} lists more than ${mostEntries} entries.`, { hint });
      }
    }
    token = nextToken(body);
    if (token === null) return entries;
    guard.accept(token);
    news.accept(met.size > before);
  }
}

function textOf(entry: unknown, path: string): string {
  try {
    return JSON.stringify(entry);
  } catch {
    throw new LookupUnreadable(`GET ${path} lists an entry that is nested too deeply.`, { hint });
  }
}

/** An empty list is refused: no job could name anything in it, and it must not replace the stored list. */
function listsNothing(path: string): LookupUnreadable {
  return new LookupUnreadable(`GET ${path} lists nothing.`);
}

function entriesOf(body: unknown, path: string, field: string): unknown[] {
  if (Array.isArray(body)) return body;
  if (isObject(body)) {
    for (const name of ['data', field, 'results', 'items']) {
      const entries = body[name];
      if (Array.isArray(entries)) return entries;
      if (entries === null) return [];
    }
  }
  const shape = isObject(body) ? `an object with ${fieldsOf(body)}` : `a ${typeof body}`;
  throw new LookupUnreadable(`GET ${path} answered with ${shape}, in which no list was found.`, { hint });
}

function nextToken(body: unknown): string | null {
  if (!isObject(body) || body.has_more === false) return null;
  if (isText(body.next_token)) return body.next_token;
  if (body.has_more === true)
    throw new CursorBroken('A lookup says has_more, but sends no next_token.', { hint });
  return null;
}

function objectOf(entry: unknown, path: string): object {
  if (isObject(entry)) return entry;
  throw new LookupUnreadable(`GET ${path} lists an entry that is neither a text nor an object.`, { hint });
}

/** Takes the first of several fields that has a usable value; the fields that were not taken are the rest. */
function fieldTaker(entry: object) {
  const left = new Map<string, unknown>(Object.entries(entry));
  const take = <T>(names: readonly string[], wanted: (value: unknown) => value is T): T | undefined => {
    for (const name of names) {
      const value = left.get(name);
      if (wanted(value)) {
        left.delete(name);
        return value;
      }
    }
    return undefined;
  };
  return Object.assign(take, { rest: (): Extra => Object.fromEntries(left) });
}

/**
 * The longest entry: far longer than any code or topic, and short enough for an index of the warehouse and for an address.
 */
const longestCode = 500;

function withoutDoubles<T>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map<string, T>();
  for (const entry of entries) {
    const key = keyOf(entry);
    if (key.length > longestCode || key.includes('\0')) {
      throw new LookupUnreadable('A lookup lists an entry that can be no code and no name.', { hint });
    }
    if (!byKey.has(keyOf(entry))) byKey.set(keyOf(entry), entry);
  }
  return [...byKey.values()];
}

const hint = 'The lookup has a shape that this version does not know; please report it.';

function unreadableEntry(path: string, entry: object, missing: string): LookupUnreadable {
  return new LookupUnreadable(`GET ${path} lists an entry without ${missing} (it has ${fieldsOf(entry)}).`, {
    hint,
  });
}

function fieldsOf(fields: object): string {
  return serviceWords(Object.keys(fields).join(', '));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isPresent(value: unknown): value is NonNullable<unknown> {
  return value !== undefined && value !== null;
}
