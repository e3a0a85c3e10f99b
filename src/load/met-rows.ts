import { microsecondsADay } from '../feeds/reading/read-time.ts';
import { dayRange, daysIn } from '../plan/days.ts';
import { newsGuard } from '../service/cursor.ts';
import type { MetRow } from '../warehouse/tables/retract.ts';
import type { ClaimedWindow } from '../warehouse/tables/windows.ts';
import type { ReadPage } from './read-page.ts';

/** How many rows a drain remembers: far more than a window usually has, in about 10 MB. */
export const remembered = 100_000;

const hint =
  'Run it again: the window begins at its first page. If this happens again, ask the vendor; if the service ' +
  'really repeats so many pages, raise service.max_pages_without_news in the job file.';

/** The rows that a drain has read so far. */
export interface MetRows {
  /**
   * Adds a page, before the next one is requested.
   * @throws CursorWithoutEnd if there is a next page, and too many pages in a row had nothing new
   */
  take(page: Pick<ReadPage, 'rows' | 'rejected'> & { readonly nextToken: string | null }): void;
  /**
   * Distinct rows so far on each of the window's days (UTC), in order of the days. Counts rows that the service sent, even if
   * the table does not get them. `null` if the drain began without counting.
   */
  readonly perDay: readonly number[] | null;
}

/**
 * Returns the memory of a window's drain. Counts only rows that it can remember, because a forgotten one would count
 * twice. Beyond those, the count is a lower bound.
 * @param before the rows of earlier pages if the drain resumes at its checkpoint; `perDay` has counted them already
 */
export function rememberRows(
  window: Pick<ClaimedWindow, 'first_day' | 'last_day'>,
  maxPagesWithoutNews: number,
  before?: { readonly rows: readonly MetRow[]; readonly perDay: readonly number[] | null },
): MetRows {
  const days = dayRange(window.first_day, window.last_day);
  const begins = Date.parse(days.from.toString()) * 1000;
  const perDay = before ? before.perDay && [...before.perDay] : new Array<number>(daysIn(days)).fill(0);
  const acceptNews = newsGuard(maxPagesWithoutNews, hint);
  // A service that ignores the cursor repeats the first rows; a cursor that starts to loop late repeats the latest ones.
  const first = new Set<string>();
  const latest = new Set<string>();

  for (const row of before?.rows ?? []) first.add(rowKey(row.time, row.id));

  /** @returns whether the row is new, and whether it counts: only rows in `first` count, because they stay remembered */
  function note(key: string): { readonly isNew: boolean; readonly counts: boolean } {
    if (first.has(key) || latest.has(key)) return { isNew: false, counts: false };
    const counts = first.size < remembered;
    if (!counts && latest.size >= remembered) latest.clear();
    (counts ? first : latest).add(key);
    return { isNew: true, counts };
  }

  function noteRow(time: number, id: string): boolean {
    const { isNew, counts } = note(rowKey(time, id));
    const day = Math.floor((time - begins) / microsecondsADay);
    if (counts && perDay && day in perDay) perDay[day]!++;
    return isNew;
  }

  return {
    take({ rows, rejected, nextToken }) {
      let hasNews = false;
      for (let index = 0; index < rows.length; index++) {
        if (noteRow(rows.times[index]!, rows.ids[index]!)) hasNews = true;
      }
      for (const { record_hash } of rejected) {
        if (note(record_hash).isNew) hasNews = true;
      }
      acceptNews(hasNews || nextToken === null);
    },
    get perDay() {
      return perDay && [...perDay];
    },
  };
}

const rowKey = (time: number, id: string) => `${time} ${id}`;
