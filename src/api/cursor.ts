import { CursorBroken } from './errors.ts';

/** Watches the tokens of one window's drain. */
export interface CursorGuard {
  /** @throws CursorBroken where the token was met before in this drain: following it would never end */
  accept(nextToken: string): void;
}

/** @param resumedWith the token of the drain's first request; `null` where it begins at the first page */
export function cursorGuard(resumedWith: string | null): CursorGuard {
  const met = new Set<string>();
  if (resumedWith !== null) met.add(resumedWith);
  return {
    accept(nextToken) {
      if (met.has(nextToken)) {
        throw new CursorBroken(
          `The service sent a next_token for the second time, after ${met.size} different ones.`,
          {
            hint: 'Run it again: the window goes on after its last good page. If it stays, tell the vendor.',
          },
        );
      }
      met.add(nextToken);
    },
  };
}
