import { describe, expect, it } from 'vitest';
import { fullOf, strengthOf } from '../src/draw/scales.ts';
import { spansOf } from '../src/draw/states.ts';
import { machineZones, onMachineIn, withoutBrowser } from './without-browser.ts';

const { calendarOf, cellOfDay, dayIn } = await withoutBrowser(() => import('../src/draw/calendar.ts'));
const { daysBetween, plusDays } = await withoutBrowser(() => import('../src/time.ts'));

it('reads the states of days in order', () => {
  expect(spansOf('covered 300, failed 20, never 45')).toEqual([
    ['covered', 300],
    ['failed', 20],
    ['never', 45],
  ]);
});

describe.each(machineZones)('a calendar, on a machine in %s', (zone) => {
  onMachineIn(zone);

  it('knows what became of each day, and its news', () => {
    const days = {
      from: '2025-01-01',
      to: '2025-01-03',
      states: ['covered', 'failed', 'covered'] as const,
      news: new Map([['2025-01-01', 4]]),
    };
    const told = ['2025-01-01', '2025-01-02', '2025-01-03', '2025-01-04'].map((day) => dayIn(days, day));
    expect(told).toEqual([
      { state: 'covered', count: 4 },
      { state: 'failed', count: 0 },
      { state: 'covered', count: 0 },
      { state: 'never', count: 0 },
    ]);
    expect(dayIn({ ...days, news: undefined }, '2025-01-01').count).toBeUndefined();
  });

  it('has each day of ten years at a place of its own, leap days too', () => {
    const [from, to] = ['2016-01-01', '2025-12-31'] as const;
    const { rows, columns, dayAt, placeOf } = calendarOf({ from, to });
    const all = Array.from({ length: daysBetween(from, to) }, (_, index) => plusDays(from, index));
    expect(all).toHaveLength(3653);
    const places = all.map(placeOf);
    expect(places.map(({ row, column }) => dayAt(row, column))).toEqual(all);
    expect(places.every(({ row, column }) => rows[row] && columns[column])).toBe(true);
  });
});

describe.each(machineZones)('the places of days, on a machine in %s', (zone) => {
  onMachineIn(zone);
  const { rows, columns, dayAt, placeOf } = calendarOf({ from: '2024-12-31', to: '2025-06-30' });

  it('are Monday on top and the latest year first, also of two days about a new year', () => {
    expect(rows.filter(({ title }) => title)).toEqual([{ title: '2025' }, { title: '2024' }]);
    const { row, column } = placeOf('2025-01-06');
    expect([row, rows[row]!.title]).toEqual([0, '2025']);
    expect(placeOf('2025-01-05')).toEqual({ row: row + 6, column: column - 1 });
    expect(placeOf('2025-01-07')).toEqual({ row: row + 1, column });
    // The last day of 2024 is a Tuesday, in the band below.
    expect(rows[placeOf('2024-12-31').row - 1]!.title).toBe('2024');
    expect(columns[placeOf('2025-03-01').column]!.group).toBe('Mar');
  });

  it('are none between two years, outside a year and outside the period', () => {
    const { row, column } = placeOf('2025-01-01');
    // The 1st is a Wednesday: the Tuesday above it is of the year before.
    expect(dayAt(row - 1, column)).toBeUndefined();
    expect(dayAt(7, column)).toBeUndefined();
    const last = placeOf('2025-06-30');
    expect(dayAt(last.row, last.column)).toBe('2025-06-30');
    expect(dayAt(last.row + 1, last.column)).toBeUndefined();
    expect(dayAt(rows.length, 0)).toBeUndefined();
  });
});

describe('a day', () => {
  const drawn = (state: Parameters<typeof cellOfDay>[0]['state'], count?: number) =>
    cellOfDay({ state, count }, 9);

  it('that is covered is stronger the more news it had, and hollow without', () => {
    expect(drawn('covered', 0)).toEqual({ parts: [], mark: 'hollow' });
    expect([drawn('covered', 1).strength, drawn('covered', 9).strength]).toEqual([0.5, 1]);
  });

  it('has a mark if it failed or was refused', () => {
    const marks = (['failed', 'refused', 'settling', 'never'] as const).map((state) => drawn(state, 9).mark);
    expect(marks).toEqual(['cross', 'bar', undefined, undefined]);
    expect(drawn('never').parts).toEqual([['var(--never)', 1]]);
  });
});

describe('the strength of a colour', () => {
  it('grows with the count up to one that few exceed', () => {
    const full = fullOf([8, 1, 7, 2, 10, 6, 3, 5, 4, 900]);
    expect(full).toBe(900);
    expect(fullOf([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 900])).toBe(11);
    expect([1, 3, 11, 900].map((count) => strengthOf(count, 11))).toEqual([0.5, 0.7, 1, 1]);
    expect(fullOf([])).toBe(1);
  });
});
