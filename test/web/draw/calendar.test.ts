import { describe, expect, it } from 'vitest';
import { states } from '../../../src/web/page/draw/states.ts';
import { machineZones, onMachineIn, withoutBrowser } from './without-browser.ts';

const { calendarOf, cellOfDay, dayStates, steps } = await withoutBrowser(
  () => import('../../../src/web/page/draw/calendar.ts'),
);
const { plusDays } = await withoutBrowser(() => import('../../../src/web/page/time.ts'));

const period = { from: '2025-01-01', to: '2025-01-08' };
const range = (first_day: string, last_day: string) => ({ first_day, last_day });
const aWindow = (state: (typeof states)[number], first: string, last: string) => ({
  ...range(first, last),
  state,
});
const named = (state: Int8Array) => [...state].map((one) => states[one] ?? 'never');
const ofPeriod = (from: string, to: string) => dayStates({ from, to }, [], [], undefined);

describe.each(machineZones)('a calendar, on a machine in %s', (zone) => {
  onMachineIn(zone);

  it('knows what became of each day: of its ranges, the first and the last day too, cut to the period', () => {
    const { state } = dayStates(
      period,
      [range('2024-12-01', '2025-01-02'), range('2025-01-04', '2025-01-04')],
      [aWindow('failed', '2025-01-06', '2025-01-06'), aWindow('pending', '2025-01-08', '2025-02-01')],
      undefined,
    );
    expect(named(state)).toEqual('covered covered never covered never failed never pending'.split(' '));
  });

  it('lets nothing from beside the period in', () => {
    const beside = [range('2024-12-30', '2024-12-31'), range('2025-01-09', '2025-01-10')];
    const windows = beside.map((days) => ({ ...days, state: 'failed' as const }));
    const news = ['2024-12-31', '2025-01-09'].map((at) => ({ at, headlines: 1 }));
    const days = dayStates(period, beside, windows, news);
    expect(named(days.state)).toEqual(Array(8).fill('never'));
    expect([...days.news!]).toEqual(Array(8).fill(0));
  });

  it('lets what is covered win, then what runs, failed, was refused, waits and settles', () => {
    const order = ['running', 'failed', 'refused', 'pending', 'settling'] as const;
    const windows = order.map((state, index) =>
      aWindow(state, '2025-01-02', plusDays('2025-01-02', index + 1)),
    );
    const { state } = dayStates(period, [range('2025-01-02', '2025-01-02')], windows, undefined);
    expect(named(state)).toEqual('never covered running failed refused pending settling never'.split(' '));
  });

  it('sums up the news of a day, which may come by the hour', () => {
    const news = ['2025-01-01', '2025-01-08T00:00Z', '2025-01-08T23:00Z'].map((at) => ({ at, headlines: 2 }));
    const days = dayStates(period, [], [], news);
    expect([...days.news!]).toEqual([2, 0, 0, 0, 0, 0, 0, 4]);
    expect(dayStates(period, [], [], undefined).news).toBeUndefined();
  });

  it('has each day of ten years at a place of its own, leap days too', () => {
    const days = ofPeriod('2016-01-01', '2025-12-31');
    expect(days.state).toHaveLength(3653);
    const { rows, columns, dayAt, placeOf } = calendarOf(days);
    const all = Array.from(days.state, (_, index) => plusDays(days.from, index));
    const places = all.map(placeOf);
    expect(places.map(({ row, column }) => dayAt(row, column))).toEqual(all);
    expect(places.every(({ row, column }) => rows[row] && columns[column])).toBe(true);
  });
});

describe.each(machineZones)('the places of days, on a machine in %s', (zone) => {
  onMachineIn(zone);
  const { rows, columns, dayAt, placeOf } = calendarOf(ofPeriod('2024-12-31', '2025-06-30'));

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
  const days = (state: string, news?: number) => ({
    ...{ from: '2025-01-01', state: Int8Array.from([states.indexOf(state as 'covered')]) },
    news: news === undefined ? undefined : Int32Array.from([news]),
  });
  const drawn = (state: string, news?: number) => cellOfDay(days(state, news), [1, 5], 0);

  it('that is covered is stronger the more news it had, and hollow without', () => {
    expect(drawn('covered', 0)).toEqual({ parts: [], mark: 'hollow' });
    expect([drawn('covered', 4).strength, drawn('covered', 5).strength]).toEqual([0.4, 0.6]);
  });

  it('has a mark if it failed or was refused', () => {
    expect(['failed', 'refused', 'settling', 'nothing'].map((state) => drawn(state, 9).mark)).toEqual([
      'cross',
      'bar',
      undefined,
      undefined,
    ]);
    expect(drawn('nothing').parts).toEqual([['var(--never)', 1]]);
  });
});

describe('the shades of news', () => {
  it('have about as many days each', () => {
    expect(steps(Int32Array.from([8, 1, 7, 2, 6, 3, 5, 4, 0, 0]))).toEqual([1, 3, 5, 7]);
  });

  it('are as many as there are counts to tell apart, which are compared as numbers', () => {
    expect(steps(undefined)).toEqual([1]);
    expect(steps(new Int32Array(9))).toEqual([1]);
    expect(steps(Int32Array.from([1]))).toEqual([1]);
    expect(steps(Int32Array.from([10, 2]))).toEqual([1, 2, 10]);
  });
});
