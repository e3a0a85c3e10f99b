import { isMap } from '../config/field-types.ts';
import { storableJson } from '../feeds/reading/storable-json.ts';
import type { Extra, ListedCode, ListName, Topic } from '../warehouse/tables/lookups.ts';
import { serviceWords } from './check-status.ts';
import type { Client } from './client.ts';
import { cursorGuard, newsGuard } from './cursor.ts';
import { CursorBroken, LookupUnreadable, PageTooLarge } from './errors.ts';

type CodeList = Exclude<ListName, 'topics'>;

/** The lists of codes (docs/service.md, "Lookups"). Their shapes are unknown; these fields may have a code or its name. */
const codeLists = {
  countries: {
    path: '/countries',
    codes: ['code', 'country_code', 'iso2', 'iso_code', 'alpha_2', 'alpha2', 'iso', 'country', 'id'],
    names: ['name', 'country_name', 'label', 'title', 'country'],
  },
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
} as const satisfies Record<CodeList, unknown>;

/** The most entries of a lookup, which are all in memory at once. */
const mostEntries = 100_000;

type LookupClient = Pick<Client, 'getJson'>;

/**
 * Reads `GET /countries`, `/ticker`, `/sources` or `/taxonomy/languages`. Their shapes are not documented (docs/service.md,
 * "Lookups"): entries may be strings or objects, in a bare array or under a name, on one page or several. An entry listed
 * twice counts once.
 * @throws LookupUnreadable for any other shape, or an empty list
 */
export async function fetchCodes(
  client: LookupClient,
  list: CodeList,
  signal: AbortSignal,
): Promise<ListedCode[]> {
  const { path, codes, names } = codeLists[list];
  const entries = await fetchEntries(client, path, list, signal);
  const read = entries.map((entry): ListedCode => {
    const { code, take, rest } = codeOf(entry, codes, path);
    return { code, name: take(names, isText) ?? null, extra: rest() };
  });
  return withoutDoubles(read, ({ code }) => code);
}

/** Reads `GET /headlines/topics/gmsi`, with the shapes and errors of `fetchCodes`. */
export async function fetchTopics(client: LookupClient, signal: AbortSignal): Promise<Topic[]> {
  const path = '/headlines/topics/gmsi';
  const entries = await fetchEntries(client, path, 'topics', signal);
  const names = ['name', 'topic', 'topic_name', 'label', 'title'];
  const rules = ['classification_rule', 'classification_rules', 'classificationRule', 'rule'];
  const topics = entries.map((entry): Topic => {
    const { code: name, take, rest } = codeOf(entry, names, path);
    const category = take(['category', 'category_name', 'group'], isText) ?? null;
    return { name, category, classificationRule: take(rules, isPresent) ?? null, extra: rest() };
  });
  return withoutDoubles(topics, ({ name }) => name);
}

/** This many pages in a row without a new entry are an error: lookups have one page or a few. */
const pagesWithoutNews = 3;

async function fetchEntries(
  client: LookupClient,
  path: string,
  field: string,
  signal: AbortSignal,
): Promise<unknown[]> {
  const accept = cursorGuard(null);
  const acceptNews = newsGuard(pagesWithoutNews, 'Run it again. If this happens again, tell the vendor.');
  const seen = new Set<string>();
  const entries: unknown[] = [];
  let token: string | null = null;
  for (;;) {
    const query: Record<string, string> = token === null ? {} : { next_token: token };
    const body = await client
      .getJson({ path, query, isContinued: token !== null }, signal)
      .catch((error: unknown) => {
        if (!(error instanceof PageTooLarge)) throw error;
        throw new LookupUnreadable(`GET ${path} lists too much. ${error.message}`, { hint, cause: error });
      });
    const before = seen.size;
    const sent = entriesOf(body, path, field);
    if (entries.length + sent.length > mostEntries) {
      throw new LookupUnreadable(`GET ${path} lists more than ${mostEntries} entries.`, { hint });
    }
    for (const entry of sent) {
      const text = textOf(entry, path);
      if (!seen.has(text)) entries.push(JSON.parse(storableJson(entry)));
      seen.add(text);
    }
    token = nextToken(body);
    if (token === null && entries.length > 0) return entries;
    // An empty list must not replace the stored one.
    if (token === null) throw new LookupUnreadable(`GET ${path} lists nothing.`);
    accept(token);
    acceptNews(seen.size > before);
  }
}

function textOf(entry: unknown, path: string): string {
  try {
    return JSON.stringify(entry);
  } catch {
    throw new LookupUnreadable(`GET ${path} lists an entry that is nested too deeply.`, { hint });
  }
}

function entriesOf(body: unknown, path: string, field: string): unknown[] {
  if (Array.isArray(body)) return body;
  if (isMap(body)) {
    for (const name of ['data', field, 'results', 'items']) {
      const entries = body[name];
      if (Array.isArray(entries)) return entries;
      if (entries === null) return [];
    }
  }
  const shape = isMap(body) ? `an object with ${fieldsOf(body)}` : `a ${typeof body}`;
  throw new LookupUnreadable(`GET ${path} answered with ${shape}, in which no list was found.`, { hint });
}

function nextToken(body: unknown): string | null {
  if (!isMap(body) || body.has_more === false) return null;
  if (isText(body.next_token)) return body.next_token;
  if (body.has_more === true)
    throw new CursorBroken('A lookup has has_more: true, but no next_token.', { hint });
  return null;
}

/**
 * Returns the code of an entry, which is a text or in one of `fields`. `take` takes the first of several other fields with a
 * usable value; `rest` returns the fields that were not taken.
 */
function codeOf(entry: unknown, fields: readonly string[], path: string) {
  const left = new Map<string, unknown>(isMap(entry) ? Object.entries(entry) : []);
  const take = <T>(names: readonly string[], wanted: (value: unknown) => value is T): T | undefined => {
    const name = names.find((one) => wanted(left.get(one)));
    if (name === undefined) return undefined;
    const value = left.get(name) as T;
    left.delete(name);
    return value;
  };
  const code = isText(entry) ? entry : take(fields, isText);
  if (code === undefined) {
    const known = fieldsOf(Object.fromEntries(left));
    throw new LookupUnreadable(`GET ${path} lists an entry without a code or name (it has ${known}).`, {
      hint,
    });
  }
  return { code, take, rest: (): Extra => Object.fromEntries(left) };
}

/** Far longer than any code or topic, and short enough for a database index and a URL. */
const longestCode = 500;

function withoutDoubles<T>(entries: readonly T[], keyOf: (entry: T) => string): T[] {
  const byKey = new Map<string, T>();
  for (const entry of entries) {
    const key = keyOf(entry);
    if (key.length > longestCode || key.includes('\0')) {
      throw new LookupUnreadable('A lookup lists an entry that is neither a code nor a name.', { hint });
    }
    if (!byKey.has(key)) byKey.set(key, entry);
  }
  return [...byKey.values()];
}

const hint = 'This version does not know the shape of the lookup; please report it.';

function fieldsOf(fields: object): string {
  return serviceWords(Object.keys(fields).join(', '));
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}

function isPresent(value: unknown): value is NonNullable<unknown> {
  return value !== undefined && value !== null;
}
