import { hash } from 'node:crypto';
import { CursorBroken } from './errors.ts';

/** Longer ones fit into no request: servers take 8 kB of headers and target, or 16. */
const longestToken = 8192;

/** Watches the tokens of one window's drain. */
export interface CursorGuard {
  /** @throws CursorBroken if the token was met before in this drain, so that following it would never end; or is too long */
  accept(nextToken: string): void;
}

/** @param resumedWith the token of the drain's first request; `null` if it begins at the first page */
export function cursorGuard(resumedWith: string | null): CursorGuard {
  // Not the tokens themselves, which can be long and many.
  const met = new Set<string>();
  if (resumedWith !== null) met.add(hash('sha1', resumedWith, 'base64'));
  return {
    accept(nextToken) {
      if (nextToken.length > longestToken) {
        throw new CursorBroken(
          `The service sent a next_token of ${nextToken.length} characters; at most ${longestToken} are followed.`,
        );
      }
      const digest = hash('sha1', nextToken, 'base64');
      if (met.has(digest)) {
        throw new CursorBroken(
          `The service sent a next_token for the second time, after ${met.size} different ones.`,
          {
            hint: 'Run it again: the window goes on after its last good page. If it stays, tell the vendor.',
          },
        );
      }
      met.add(digest);
    },
  };
}

/** A cursor that goes on and on without bringing anything: following it would spend the month's requests on nothing. */
export class CursorWithoutEnd extends CursorBroken {}

/** Counts the pages in a row that bring nothing new, whatever tokens they carry. */
export interface NewsGuard {
  /** @throws CursorWithoutEnd after too many in a row without news; to be called before the next page is asked for */
  accept(hasNews: boolean): void;
}

/**
 * @param atMost pages in a row without news that are too many; empty ones count, since they too can go on for ever
 * @param hint what a person can do then
 */
export function newsGuard(atMost: number, hint: string): NewsGuard {
  let without = 0;
  return {
    accept(hasNews) {
      without = hasNews ? 0 : without + 1;
      if (without < atMost) return;
      throw new CursorWithoutEnd(
        `The service sent ${atMost} ${atMost === 1 ? 'page' : 'pages in a row'} without a record that was not there before, and says that there are more.`,
        { hint },
      );
    },
  };
}
