import type { RequestRefused } from '../api/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { ClaimedWindow } from '../warehouse/queries/claims.ts';
import {
  answeredAround,
  answeredFrom,
  refusedAcross,
  refuseUpTo,
  splitRefused,
} from '../warehouse/queries/refusals.ts';
import { seriesIn, type WindowScope } from '../warehouse/queries/window-scope.ts';
import type { Day } from '../warehouse/tables/database.ts';
import { dayRange, daysIn } from '../window/day-range.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** What a refusal turned out to mean. */
export type Refusal =
  | { readonly beyondLookBack: false }
  /** `marked`: windows that are now refused without having been asked for. */
  | { readonly beyondLookBack: true; readonly marked: number; readonly firstDay: Day };

interface Refused {
  readonly window: ClaimedWindow;
  readonly status: number;
  /** What the service said. */
  readonly words: string;
}

/** Tells a service that does not answer windows older than its look-back from one that refuses a single window. */
export interface LookBack {
  refused(window: ClaimedWindow, error: RequestRefused): Promise<Refusal>;
  /**
   * Once nothing else is open: finds the first day that the service answers by halving what is not known, and makes
   * the days from there on, which were refused together with older ones, windows of their own.
   * @returns true where there is something to drain again
   */
  narrow(): Promise<boolean>;
  /** True once windows were refused: the newest ones will tell what it means. */
  readonly wantsNewestFirst: boolean;
}

/**
 * Judged by evidence, not by the words: two windows of different series (or of the only series) were refused with the
 * same status, younger windows of these series were answered, and none as old as them ever was in the whole feed.
 * Then every window that begins as early is refused, too, and is not worth a request.
 * @param known a day that has been found too old already
 */
export function watchLookBack(
  warehouse: Warehouse,
  scope: WindowScope,
  loadId: number,
  known?: Day,
): LookBack {
  const suspects: Refused[] = [];
  const onlySeries = seriesIn(scope) === 1;
  /** Refusals that nothing younger was answered for: either broken windows, or the answers are still on their way. */
  const unexplained: Refused[] = [];
  let boundary = known;

  async function isSuspect(window: ClaimedWindow): Promise<boolean> {
    const around = await withWarehouseRetries(() =>
      answeredAround(warehouse, { feed: scope.feed, ...window }),
    );
    return around.younger && !around.asOld;
  }

  async function suspectEarlierOnes(): Promise<void> {
    for (const earlier of unexplained.splice(0)) {
      ((await isSuspect(earlier.window)) ? suspects : unexplained).push(earlier);
    }
  }

  function isConfirmed({ window, status }: Refused): boolean {
    return suspects.some(
      (other) =>
        other.status === status &&
        other.window.window_id !== window.window_id &&
        (onlySeries || seriesName(other.window) !== seriesName(window)),
    );
  }

  /** Takes the youngest of the windows that were refused alike for the boundary. */
  async function draw(status: number, words: string): Promise<{ marked: number; firstDay: Day }> {
    const alike = suspects.filter((one) => one.status === status).map((one) => one.window.first_day);
    const firstDay = [...alike, boundary ?? ''].sort().at(-1)!;
    boundary = firstDay;
    const by = { loadId, error: `older than the service answers: ${words}` };
    const marked = await withWarehouseRetries(() => refuseUpTo(warehouse, scope, firstDay, by));
    return { marked, firstDay };
  }

  /** What nothing explained when it was refused may be explained by what was answered since. */
  async function reconsider(): Promise<void> {
    await suspectEarlierOnes();
    const confirmed = suspects.find(isConfirmed);
    if (boundary === undefined && confirmed) await draw(confirmed.status, confirmed.words);
  }

  return {
    get wantsNewestFirst() {
      // Also once a boundary is known: drawn from old windows, it may lie far below the real one.
      return unexplained.length + suspects.length >= 2;
    },
    async narrow() {
      await reconsider();
      if (boundary === undefined) return false;
      const refusedDay = boundary;
      return withWarehouseRetries(async () => {
        const across = await refusedAcross(warehouse, scope, refusedDay);
        const answered = await answeredFrom(warehouse, scope.feed);
        if (across.length === 0 || answered === null || answered <= refusedDay) return false;
        const unknown = daysIn(dayRange(refusedDay, answered)) - 2;
        const ids = across.map(({ window_id }) => window_id);
        // One window is enough to find the day; then all of them are asked for exactly what there is.
        if (unknown === 0) await splitRefused(warehouse, ids, answered);
        else
          await splitRefused(warehouse, ids.slice(0, 1), middle(refusedDay, across[0]!.last_day, answered));
        return true;
      });
    },
    async refused(window, error) {
      if (boundary === undefined || window.first_day > boundary) {
        const refused = { window, status: error.status, words: error.words };
        if (!(await isSuspect(window))) {
          unexplained.push(refused);
          return { beyondLookBack: false };
        }
        suspects.push(refused);
        await suspectEarlierOnes();
        if (!isConfirmed(refused)) return { beyondLookBack: false };
      }
      return { beyondLookBack: true, ...(await draw(error.status, error.words)) };
    },
  };
}

function seriesName({ country, topic, ticker, variant }: ClaimedWindow): string {
  return JSON.stringify([country, topic, ticker, variant]);
}

/** A day half-way between one that is refused and one that is answered, within a window that ends on `lastDay`. */
function middle(refused: Day, lastDay: Day, answered: Day): Day {
  const { from, to } = dayRange(refused, answered < lastDay ? answered : lastDay);
  return from.add({ days: Math.ceil((daysIn({ from, to }) - 1) / 2) }).toString();
}
