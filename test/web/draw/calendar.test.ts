import { describe, expect, it } from 'vitest';
import { states } from '../../../src/web/page/draw/states.ts';
import { machineZones, onMachineIn, withoutBrowser } from './without-browser.ts';

const { calendarLayout, dayAt, dayStates, placeOfDay, steps } = await withoutBrowser(
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

  it('finds each day of ten years where it has drawn it, leap days too', () => {
    const days = ofPeriod('2016-01-01', '2025-12-31');
    expect(days.state).toHaveLength(3653);
    const layout = calendarLayout(days, 800);
    const middle = layout.pitch / 2;
    const all = Array.from(days.state, (_, index) => plusDays(days.from, index));
    const places = all.map((day) => placeOfDay(layout, day));
    expect(places.map(([x, y]) => dayAt(layout, x + middle, y + middle))).toEqual(all);
    expect(Math.max(...places.map(([x]) => x + layout.pitch))).toBeLessThanOrEqual(layout.width);
  });
});

describe.each(machineZones)('the places of days, on a machine in %s', (zone) => {
  onMachineIn(zone);
  const layout = calendarLayout(ofPeriod('2024-12-31', '2025-01-01'), 800);

  it('are Monday on top and the latest year first, also of two days about a new year', () => {
    expect(layout.years).toEqual([2025, 2024]);
    const [x, y] = placeOfDay(layout, '2025-01-06');
    expect(placeOfDay(layout, '2025-01-05')).toEqual([x - layout.pitch, y + 6 * layout.pitch]);
    expect(placeOfDay(layout, '2025-01-07')).toEqual([x, y + layout.pitch]);
    // The last day of 2024 is a Tuesday, in the band below.
    expect(placeOfDay(layout, '2024-12-31')[1]).toBe(y + layout.band + layout.pitch);
    expect(calendarLayout(ofPeriod('2025-06-01', '2025-06-01'), 800).years).toEqual([2025]);
  });

  it('are none beside the days of a year: left of it, above it, below its Sundays, before its first and after its last', () => {
    const [x, y] = placeOfDay(layout, '2025-01-01');
    expect(dayAt(layout, x + 1, y + 1)).toBe('2025-01-01');
    expect(dayAt(layout, x - 1, y + 1)).toBeUndefined();
    // The 1st is a Wednesday: the Tuesday above it is of the year before.
    expect(dayAt(layout, x + 1, y - 1)).toBeUndefined();
    expect(dayAt(layout, x + 1, 0)).toBeUndefined();
    const [, sunday] = placeOfDay(layout, '2025-01-05');
    expect(dayAt(layout, x + 1, sunday + layout.pitch + 1)).toBeUndefined();
    const [end, last] = placeOfDay(layout, '2025-12-31');
    expect(dayAt(layout, end + 1, last + layout.pitch + 1)).toBeUndefined();
    expect(dayAt(layout, end + layout.pitch + 1, last + 1)).toBeUndefined();
    expect(dayAt(layout, x + 1, layout.height + 1)).toBeUndefined();
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
