import type { Day, DayRange } from '../days.ts';
import { comparePositions, type Position } from '../position.ts';
import type { Zone } from '../zone.ts';

export interface Selected<T> {
  readonly items: readonly T[];
  readonly hasMore: boolean;
}

export interface Selection<T extends Position> {
  readonly range: DayRange;
  readonly order: 'newest-first' | 'oldest-first';
  readonly after: Position | null;
  readonly limit: number;
  readonly zone: Zone;
  /** Returns everything served for a day of the zone, oldest first, equal times by id. */
  readonly itemsOfDay: (day: Day) => readonly T[];
}

/** Returns the next `limit` items after a position. Reads only the days it needs, from the position's own day on. */
export function selectPage<T extends Position>(selection: Selection<T>): Selected<T> {
  const { range, order, after, limit, zone, itemsOfDay } = selection;
  const step = order === 'oldest-first' ? 1 : -1;
  const [begin, end] = step === 1 ? [range.first, range.last] : [range.last, range.first];
  const items: T[] = [];
  for (
    let day = after === null ? begin : zone.dayOf(after.publishedAt);
    (end - day) * step >= 0;
    day += step
  ) {
    const ofDay = itemsOfDay(day);
    for (const item of step === 1 ? ofDay : ofDay.toReversed()) {
      if (after !== null && comparePositions(item, after) * step <= 0) continue;
      if (items.length === limit) return { items, hasMore: true };
      items.push(item);
    }
  }
  return { items, hasMore: false };
}
