import { CursorBroken, MalformedPage } from './errors.ts';
import { TooManyEscapes } from './find-key.ts';
import type { Page, Records } from './page.ts';
import { RecordsAsText, RecordTooLarge } from './parse-page.ts';
import type { Redactor } from './redact.ts';

/** Whether a body holds the key. @throws MalformedPage where that would take too long to tell */
export function isIn(redactor: Redactor, body: string): boolean {
  try {
    return redactor.isIn(body);
  } catch (error) {
    if (!(error instanceof TooManyEscapes)) throw error;
    throw new MalformedPage(
      'The answer has more escapes within escapes than can be searched for the API key, which it must not hold.',
    );
  }
}

/**
 * A page that echoes the key, without it: `[key]` stands in its place, for what is stored is read by others.
 * @throws CursorBroken where its cursor holds the key: it would be stored and sent in an address, and without the key it is
 *   no cursor
 */
export function withoutKey(page: Page, redactor: Redactor): Page {
  if (page.nextToken !== null && redactor.text(page.nextToken) !== page.nextToken) {
    throw new CursorBroken('The next_token that the service sent holds the API key, and is not followed.', {
      hint: 'Tell the vendor: a cursor must not hold a key. A smaller step in the job file may make one unnecessary.',
    });
  }
  return { ...page, records: new RecordsWithoutKey(page.records, redactor) };
}

class RecordsWithoutKey implements Records {
  readonly length: number;
  readonly #records: Records;
  readonly #redactor: Redactor;

  constructor(records: Records, redactor: Redactor) {
    this.length = records.length;
    this.#records = records;
    this.#redactor = redactor;
  }

  *[Symbol.iterator](): Iterator<unknown> {
    const { text, value } = this.#redactor;
    const records = this.#records instanceof RecordsAsText ? this.#records.redacted(text) : this.#records;
    for (const record of records) yield record instanceof RecordTooLarge ? record : value(record);
  }
}
