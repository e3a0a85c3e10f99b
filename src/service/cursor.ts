import { hash } from 'node:crypto';
import { CursorBroken } from './errors.ts';

const hint =
  'Run it again: the window continues after its last good page. If this happens again, tell the vendor.';

/** A longer token does not fit into a request: servers accept 8 or 16 kB of headers and target. */
const longestToken = 8192;

/**
 * Watches the tokens of one window's drain.
 * @param resumedWith the token of the drain's first request; `null` if it begins at the first page
 * @returns a function to call with each next token. @throws CursorBroken if the token has come before, so that the drain would
 * never end; is too long; or contains a NUL or a lone surrogate, which PostgreSQL cannot store
 */
export function cursorGuard(resumedWith: string | null): (nextToken: string) => void {
  // Stores hashes, because there can be many long tokens.
  const seen = new Set<string>();
  if (resumedWith !== null) seen.add(hash('sha1', resumedWith, 'base64'));
  return (nextToken) => {
    if (nextToken.length > longestToken) {
      throw new CursorBroken(
        `The service sent a next_token of ${nextToken.length} characters; the limit is ${longestToken}.`,
      );
    }
    if (nextToken.includes('\0') || !nextToken.isWellFormed()) {
      throw new CursorBroken(
        'The service sent a next_token with a NUL or half a character, which cannot be stored.',
        { hint },
      );
    }
    const digest = hash('sha1', nextToken, 'base64');
    if (seen.has(digest)) {
      throw new CursorBroken(
        `The service sent a next_token for the second time, after ${seen.size} different ones.`,
        { hint },
      );
    }
    seen.add(digest);
  };
}

/** A cursor that never ends and returns nothing new. Following it would waste the month's requests. */
export class CursorWithoutEnd extends CursorBroken {}

/**
 * Counts pages in a row without anything new, whatever their tokens.
 * @param atMost this many pages are too many; empty pages count, because they can also continue for ever
 * @param hint for the error
 * @returns a function to call before each next page is requested. @throws CursorWithoutEnd after too many pages without news
 */
export function newsGuard(atMost: number, hint: string): (hasNews: boolean) => void {
  let without = 0;
  return (hasNews) => {
    without = hasNews ? 0 : without + 1;
    if (without < atMost) return;
    throw new CursorWithoutEnd(
      `The service sent ${atMost} ${atMost === 1 ? 'page' : 'pages in a row'} without a new record, and says that there are more.`,
      { hint },
    );
  };
}
