import { bandRows, type Cell, type Place } from '../grid-layout.ts';
import { aDay, daysBetween, plusDays } from '../time.ts';
import { strengthOf } from './scales.ts';
import type { State } from './states.ts';

/** The days of a period of a series. */
export interface SeriesDays {
  readonly from: string;
  readonly to: string;
  /** The state of each day. */
  readonly states: readonly (State | 'never')[];
  /** How much news each day had that had any; `undefined` if that is not known. */
  readonly news: ReadonlyMap<string, number> | undefined;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * Arranges days as a grid: a column for each week, a row for each weekday, a band of rows for each year, the latest year first.
 */
export function calendarOf({ from, to }: Pick<SeriesDays, 'from' | 'to'>) {
  const last = yearOf(to);
  const years = Array.from({ length: last - yearOf(from) + 1 }, (_, index) => last - index);
  const rows = years
    .flatMap((year) => [
      { title: String(year) },
      ...Array.from({ length: 6 }, () => ({ title: '' })),
      between,
    ])
    .slice(0, -1);
  const starts = months.map((_, month) => weekAndDay(`${last}-${String(month + 1).padStart(2, '0')}-01`)[0]);
  const columns = Array.from({ length: 54 }, (_, week) => ({
    title: '',
    group: months[starts.findLastIndex((start) => start <= week)]!,
  }));
  const shifts = years.map((year) => weekAndDay(`${year}-01-01`)[1]);
  return {
    rows,
    columns,
    /** Returns the day at a place, if the period has one there. */
    dayAt: (row: number, week: number) => {
      const band = Math.floor(row / bandRows);
      const [year, weekday] = [years[band], row % bandRows];
      if (year === undefined || weekday === 7) return undefined;
      const day = plusDays(`${year}-01-01`, week * 7 + weekday - shifts[band]!);
      return yearOf(day) === year && day >= from && day <= to ? day : undefined;
    },
    placeOf: (day: string): Place => {
      const [week, weekday] = weekAndDay(day);
      return { row: bandRows * years.indexOf(yearOf(day)) + weekday, column: week };
    },
  };
}

const between = { title: '', isHeading: true };

function yearOf(day: string): number {
  return Number(day.slice(0, 4));
}

/** Returns the week of a day in its year, and its weekday from Monday on. */
function weekAndDay(day: string): readonly [week: number, weekday: number] {
  const first = new Date(`${day.slice(0, 4)}-01-01`);
  const index = ((first.getUTCDay() + 6) % 7) + (Date.parse(day) - first.getTime()) / aDay;
  return [Math.floor(index / 7), index % 7];
}

/** Returns the state of a day, and how much news it had. */
export function dayIn({ from, states, news }: SeriesDays, day: string) {
  return { state: states[daysBetween(from, day) - 1] ?? 'never', count: news && (news.get(day) ?? 0) };
}

/**
 * Returns how a day is drawn. A covered day is darker the more news it had, and hollow if it had none, because silence is not a
 * gap. Failed and refused also differ by shape.
 */
export function cellOfDay({ state, count }: ReturnType<typeof dayIn>, full: number): Cell {
  const parts = [[`var(--${state})`, 1]] as const;
  if (state === 'failed') return { parts, mark: 'cross' };
  if (state === 'refused') return { parts, mark: 'bar' };
  if (state !== 'covered' || count === undefined) return { parts };
  return count === 0 ? { parts: [], mark: 'hollow' } : { parts, strength: strengthOf(count, full) };
}
