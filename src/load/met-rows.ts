import { hash } from 'node:crypto';
import { dayRange, daysIn } from '../plan/days.ts';
import { newsGuard } from '../service/cursor.ts';
import type { MetRow } from '../warehouse/tables/retract.ts';
import type { ClaimedWindow } from '../warehouse/tables/windows.ts';
import type { ReadPage } from './read-page.ts';

/** How many rows a drain remembers: far more than a window usually has, in some 5 MB. */
export const remembered = 100_000;

const hint =
  'Run it again: the window begins at its first page. If this happens again, tell the vendor; if the service really sends so many, raise service.max_pages_without_news in the job file.';

/** The rows that a drain has met. */
export interface MetRows {
  /**
   * Adds a page, before the next one is asked for.
   * @throws CursorWithoutEnd if there is a next page, and too many pages in a row brought nothing new
   */
  take(page: ReadPage & { readonly nextToken: string | null }): void;
  /**
   * Distinct rows so far on each of the window's days (UTC), in order of the days. It counts what the service sent, even if
   * a row does not get into the table. `null` if the drain began without counting.
   */
  readonly perDay: readonly number[] | null;
}

/**
 * The memory of a window's drain. Rows beyond `remembered` are not counted, so that no row counts twice: the count is then a
 * lower bound.
 * @param before for a drain that resumes at its checkpoint: the rows of its earlier pages, which `perDay` has counted
 * already
 */
export function rememberRows(
  window: Pick<ClaimedWindow, 'first_day' | 'last_day'>,
  maxPagesWithoutNews: number,
  before?: { readonly rows: readonly MetRow[]; readonly perDay: readonly number[] | null },
): MetRows {
  const days = dayRange(window.first_day, window.last_day);
  const indexOf = new Map(
    Array.from({ length: daysIn(days) }, (_, index) => [days.from.add({ days: index }).toString(), index]),
  );
  const perDay = before ? before.perDay && [...before.perDay] : new Array<number>(indexOf.size).fill(0);
  const acceptNews = newsGuard(maxPagesWithoutNews, hint);
  // Keeps the first ones, because a service that ignores the cursor sends them again, and the latest, because a cursor can
  // also start to loop late.
  const first = new Set<number>();
  const latest = new Set<number>();

  for (const row of before?.rows ?? []) first.add(digestOf(row.time, row.id));

  /** @returns whether it is new, and whether it counts: only rows that stay remembered count */
  function note(digest: number): { readonly isNew: boolean; readonly counts: boolean } {
    if (first.has(digest) || latest.has(digest)) return { isNew: false, counts: false };
    const counts = first.size < remembered;
    if (!counts && latest.size >= remembered) latest.clear();
    (counts ? first : latest).add(digest);
    return { isNew: true, counts };
  }

  function noteRow(time: string, id: string): boolean {
    const { isNew, counts } = note(digestOf(time, id));
    const day = indexOf.get(time.slice(0, 10));
    if (counts && day !== undefined && perDay) perDay[day]!++;
    return isNew;
  }

  return {
    take({ rows, rejected, nextToken }) {
      let hasNews = false;
      for (const [index, time] of rows.times.entries()) if (noteRow(time, rows.ids[index]!)) hasNews = true;
      for (const { record_hash } of rejected)
        if (note(digestOf('rejected', record_hash)).isNew) hasNews = true;
      acceptNews(hasNews || nextToken === null);
    },
    get perDay() {
      return perDay && [...perDay];
    },
  };
}

/**
 * A row as 48 bits: a set of numbers takes a tenth of the memory of a set of texts. In one of 50,000 windows with 100,000
 * rows, two rows have the same number, and one row too few is counted.
 */
function digestOf(time: string, id: string): number {
  // In the form in which the warehouse writes times, with microseconds.
  const at = time.length === 20 ? `${time.slice(0, 19)}.000000Z` : time;
  return Number.parseInt(hash('md5', `${at} ${id}`, 'hex').slice(0, 12), 16);
}
