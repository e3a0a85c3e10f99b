import { inspect } from 'node:util';
import type { Secret } from '../secret.ts';
import { CursorBroken, MalformedPage } from './errors.ts';
import { type KeyFinder, keyFinder, TooManyEscapes } from './find-key.ts';
import type { Page, Records } from './page.ts';
import { RecordTooLarge } from './parse-page.ts';
import { textOf } from './read-body.ts';

/** A shorter key looks like ordinary words: removing "a" from every message would hide nothing. */
export const shortestHidden = 8;

export type Redactor = ReturnType<typeof redactorOf>;

const findsNothing: KeyFinder = { find: () => [], mayBegin: () => false };

/** Deeper than any record that is read; deeper values are removed as a whole. */
const deepest = 1000;

/** Whether a key is long enough to be removed from texts. */
export function isHidden(key: Secret): boolean {
  return key.reveal().length >= shortestHidden;
}

/**
 * Removes the API key from what the service sends, which could echo it in any form. Everything from the service passes
 * through here before it reaches a message, a log, a row or another request. A key that is shorter than `shortestHidden` is
 * not removed.
 */
export function redactorOf(secret: Secret) {
  const { find, mayBegin } = isHidden(secret) ? keyFinder(secret.reveal()) : findsNothing;

  /** `[key]` in place of the key; see `keyFinder` for the forms that are found. */
  function text(from: string): string {
    let shown = '';
    let copied = 0;
    for (const [start, end] of spansOf(from)) {
      shown += `${from.slice(copied, start)}[key]`;
      copied = end;
    }
    return copied === 0 ? from : shown + from.slice(copied);
  }

  /** If it is not clear whether the key is in a text, the whole text may be the key. */
  function spansOf(from: string) {
    try {
      return find(from);
    } catch (error) {
      if (!(error instanceof TooManyEscapes)) throw error;
      return [[0, from.length]] as const;
    }
  }

  /** The same for every text, name and number in a parsed JSON value. */
  function value(from: unknown, depth = 0): unknown {
    if (typeof from === 'string') return text(from);
    if (typeof from === 'number') return find(String(from)).length > 0 ? '[key]' : from;
    if (typeof from !== 'object' || from === null) return from;
    if (depth > deepest) return '[key]';
    if (Array.isArray(from)) return from.map((item) => value(item, depth + 1));
    return Object.fromEntries(
      Object.entries(from).map(([name, item]) => [text(name), value(item, depth + 1)]),
    );
  }

  /** Whether a body's content holds the key. @throws MalformedPage if it would take too long to tell */
  function isIn(content: Uint8Array): boolean {
    const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
    try {
      return mayBegin(bytes) && find(textOf(content)).length > 0;
    } catch (error) {
      if (!(error instanceof TooManyEscapes)) throw error;
      throw new MalformedPage(
        'The answer has more escapes within escapes than can be searched for the API key, which it must not hold.',
      );
    }
  }

  const shows = (from: unknown) =>
    spansOf(inspect(from, { breakLength: Number.POSITIVE_INFINITY })).length > 0;

  /** The same for an error, its stack and its hint; a cause that shows the key is dropped. */
  function error(from: unknown): unknown {
    if (!(from instanceof Error) || !shows(from)) return from;
    for (const name of ['message', 'stack', 'hint', 'words'] as const) {
      const said = (from as unknown as Record<string, unknown>)[name];
      if (typeof said === 'string') Object.defineProperty(from, name, { value: text(said) });
    }
    if (shows(from.cause)) Object.defineProperty(from, 'cause', { value: undefined });
    return from;
  }

  return { isIn, text, value: (from: unknown) => value(from), error };
}

/**
 * A page that echoes the key, with `[key]` in its place, because others read what is stored.
 * @throws CursorBroken if its cursor holds the key: it would be stored and sent in an address, and without the key it is not
 * a cursor
 */
export function withoutKey(page: Page, redactor: Redactor): Page {
  if (page.nextToken !== null && redactor.text(page.nextToken) !== page.nextToken) {
    throw new CursorBroken('The next_token that the service sent holds the API key, and is not followed.', {
      hint: 'Tell the vendor: a cursor must not hold a key. A smaller step in the job file may make one unnecessary.',
    });
  }
  const { records } = page;
  const { text, value } = redactor;
  const withoutKey: Records = {
    length: records.length,
    *[Symbol.iterator]() {
      for (const record of records)
        yield record instanceof RecordTooLarge ? record.redacted(text) : value(record);
    },
  };
  return { ...page, records: withoutKey };
}
