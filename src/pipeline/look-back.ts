import type { RequestRefused } from '../api/errors.ts';
import type { Warehouse } from '../warehouse/connect.ts';
import type { ClaimedWindow } from '../warehouse/queries/claims.ts';
import { answeredAround, refuseUpTo } from '../warehouse/queries/refusals.ts';
import { seriesIn, type WindowScope } from '../warehouse/queries/window-scope.ts';
import type { Day } from '../warehouse/tables/database.ts';
import { withWarehouseRetries } from './warehouse-retries.ts';

/** What a refusal turned out to mean. */
export type Refusal =
  | { readonly beyondLookBack: false }
  /** `marked`: windows that are now refused without having been asked for. */
  | { readonly beyondLookBack: true; readonly marked: number; readonly firstDay: Day };

interface Refused {
  readonly window: ClaimedWindow;
  readonly status: number;
}

/** Tells a service that does not answer windows older than its look-back from one that refuses a single window. */
export interface LookBack {
  refused(window: ClaimedWindow, error: RequestRefused): Promise<Refusal>;
  /** True once windows were refused: the newest ones will tell what it means. */
  readonly wantsNewestFirst: boolean;
}

/**
 * Judged by evidence, not by the words: two windows of different series (or of the only series) were refused with the
 * same status, younger windows of these series were answered, and none as old as them ever was in the whole feed.
 * Then every window that begins as early is refused, too, and is not worth a request.
 */
export function watchLookBack(warehouse: Warehouse, scope: WindowScope, loadId: number): LookBack {
  const suspects: Refused[] = [];
  const onlySeries = seriesIn(scope) === 1;
  /** Refusals that nothing younger was answered for: either broken windows, or the answers are still on their way. */
  const unexplained: Refused[] = [];
  let boundary: Day | undefined;

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

  return {
    get wantsNewestFirst() {
      // Also once a boundary is known: drawn from old windows, it may lie far below the real one.
      return unexplained.length + suspects.length >= 2;
    },
    async refused(window, error) {
      if (boundary === undefined || window.first_day > boundary) {
        const refused = { window, status: error.status };
        if (!(await isSuspect(window))) {
          unexplained.push(refused);
          return { beyondLookBack: false };
        }
        suspects.push(refused);
        await suspectEarlierOnes();
        if (!isConfirmed(refused)) return { beyondLookBack: false };
        const confirmed = suspects
          .filter((one) => one.status === error.status)
          .map((one) => one.window.first_day);
        boundary = confirmed.sort().at(-1)!;
      }
      const firstDay = boundary;
      const by = { loadId, error: `older than the service answers: ${error.words}` };
      const marked = await withWarehouseRetries(() => refuseUpTo(warehouse, scope, firstDay, by));
      return { beyondLookBack: true, marked, firstDay };
    },
  };
}

function seriesName({ country, topic, ticker, variant }: ClaimedWindow): string {
  return JSON.stringify([country, topic, ticker, variant]);
}
