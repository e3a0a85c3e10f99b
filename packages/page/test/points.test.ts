import { describe, expect, it } from 'vitest';
import type { ChartAsked } from '../src/draw/points.ts';
import { machineZones, onMachineIn, withoutBrowser } from './without-browser.ts';

const { allHeadlines, behindOf, changeAt, chartOf, largestMove, leadOf, stateWords, storyOfMove } =
  await withoutBrowser(() => import('../src/draw/points.ts'));

const us = { country: 'US', topic: 'Inflation-Food', match: 'COMBINED' };
const series = { country: us.country, topic: us.topic, match_type: us.match };
const days = { from: '2025-01-01', to: '2025-01-03', by: 'day' } as const;

function aRow(at: string, directional: number | null = 0.5, headlines = 1) {
  return {
    ...series,
    at,
    directional,
    directional_count: directional === null ? 0 : headlines,
    directional_sum: (directional ?? 0) * headlines,
    semantic: null,
    semantic_count: 0,
    semantic_sum: 0,
    all_count: headlines,
  };
}

function covered(first_day: string, last_day: string) {
  return { ...series, ticker: '', variant: '', first_day, last_day };
}

function aChart(
  rows: readonly ReturnType<typeof aRow>[],
  ranges: readonly ReturnType<typeof covered>[],
  asked: Partial<ChartAsked> = {},
) {
  const chart = chartOf(rows, ranges, {
    series: [us],
    model: 'directional',
    smooth: 1,
    ...days,
    ...asked,
  });
  return { ...chart, line: chart.lines[0]! };
}

const texts = (moments: readonly number[]) => moments.map((one) => new Date(one).toISOString());

describe.each(machineZones)('points, on a machine in %s', (zone) => {
  onMachineIn(zone);

  it('stand in the bucket of their own day; the days beside the period have none', () => {
    const rows = ['2024-12-31', '2025-01-01', '2025-01-03', '2025-01-04'].map((at, index) =>
      aRow(at, index / 10, index + 1),
    );
    const { line, starts } = aChart(rows, [covered('2024-12-01', '2025-02-01')]);
    expect(texts(starts)).toEqual(
      ['2025-01-01', '2025-01-02', '2025-01-03'].map((day) => `${day}T00:00:00.000Z`),
    );
    expect(line.headlines).toEqual([2, 0, 3]);
    expect(line.values).toEqual([0.1, undefined, 0.2]);
  });

  it('tell silence from what is not loaded, and what is not complete from both', () => {
    const { line } = aChart([aRow('2025-01-02', 0.3)], [covered('2025-01-03', '2025-01-03')]);
    expect(line.states).toEqual(['missing', 'incomplete', 'covered']);
    expect(line.values).toEqual([null, null, undefined]);
    expect(line.loose).toEqual([null, 0.3, null]);
  });

  it('differ from the same points now if a score, a count or all of it changed since', () => {
    const days = [covered('2025-01-01', '2025-01-03')];
    const then = aChart([aRow('2025-01-01', 0.1), aRow('2025-01-02', 0.3 - 0.1)], days);
    const now = aChart([aRow('2025-01-01', 0.1, 2), aRow('2025-01-02', 0.2), aRow('2025-01-03')], days);
    const chart = { ...then, now };
    expect([0, 1, 2].map((index) => changeAt(chart, 0, index))).toEqual(['changed', undefined, 'added']);
    expect(changeAt(then, 0, 0)).toBeUndefined();
  });

  it('are covered on the first and the last day of each range, and on no day between two', () => {
    const ranges = [
      covered('2024-12-30', '2025-01-01'),
      covered('2025-01-03', '2025-01-03'),
      covered('2025-01-05', '2025-01-09'),
    ];
    const { line } = aChart([], ranges, { to: '2025-01-06' });
    expect(line.states).toEqual(['covered', 'missing', 'covered', 'missing', 'covered', 'covered']);
  });

  it('are covered by week only if all seven days are, and cut where the period ends or begins within', () => {
    const period = { by: 'week', from: '2024-12-30', to: '2025-01-15' } as const;
    const states = (last: string) => aChart([], [covered('2024-12-31', last)], period).line.states;
    expect(states('2025-01-12')).toEqual(['missing', 'covered', 'missing']);
    expect(states('2025-01-11')).toEqual(['missing', 'missing', 'missing']);
    expect(states('2025-01-19')).toEqual(['missing', 'covered', 'cut']);
    expect(states('2025-01-15')).toEqual(['missing', 'covered', 'cut']);
    expect(states('2025-01-14')).toEqual(['missing', 'covered', 'missing']);
    const later = aChart([], [covered('2024-12-31', '2025-01-19')], { ...period, from: '2024-12-31' });
    expect(texts(later.starts)[0]).toBe('2024-12-30T00:00:00.000Z');
    expect(later.line.states).toEqual(['cut', 'covered', 'cut']);
  });

  it('of a cut week stand beside the line, and are of the days of the period alone', () => {
    const period = { by: 'week', from: '2025-01-07', to: '2025-01-22' } as const;
    const rows = [aRow('2025-01-06', 0.1), aRow('2025-01-13', 0.2), aRow('2025-01-20', 0.3)];
    const chart = aChart(rows, [covered('2025-01-01', '2025-01-31')], period);
    expect(chart.line.values).toEqual([null, 0.2, null]);
    expect(chart.line.loose).toEqual([0.1, null, 0.3]);
    expect(stateWords('cut', chart)).toBe('part of the week: the period is 2025-01-07 to 2025-01-22');
    const days = [0, 1, 2].map((index) =>
      texts(Object.values(behindOf(chart, index))).map((at) => at.slice(0, 10)),
    );
    expect(days).toEqual([
      ['2025-01-07', '2025-01-13'],
      ['2025-01-13', '2025-01-20'],
      ['2025-01-20', '2025-01-23'],
    ]);
  });

  it('begin with the months and the hours of UTC, also when clocks change', () => {
    const months = aChart([aRow('2024-02-01')], [], { by: 'month', from: '2024-01-01', to: '2024-04-30' });
    expect(texts(months.starts).map((text) => text.slice(0, 10))).toEqual([
      '2024-01-01',
      '2024-02-01',
      '2024-03-01',
      '2024-04-01',
    ]);
    expect(months.line.headlines).toEqual([0, 1, 0, 0]);
    for (const day of ['2025-03-09', '2025-04-06', '2025-11-02']) {
      const hours = aChart([aRow(`${day}T23:00Z`)], [], { by: 'hour', from: day, to: day });
      expect(hours.line.headlines).toEqual([...Array(23).fill(0), 1]);
    }
  });

  it('are of one day if the period is, and of none without series', () => {
    const { starts, ends, line } = aChart([aRow('2025-01-01', -1)], [covered('2025-01-01', '2025-01-01')], {
      to: '2025-01-01',
    });
    expect([starts.length, ends[0]! - starts[0]!]).toEqual([1, 86_400_000]);
    expect(line.values).toEqual([-1]);
    const none = aChart([], [], { series: [] });
    expect([none.lines, allHeadlines(none)]).toEqual([[], [0, 0, 0]]);
  });
});

describe('a trailing mean', () => {
  const all = [covered('2024-01-01', '2025-12-31')];

  it('is of its days, the first one included and the one before it not, each headline counting once', () => {
    const rows = [aRow('2024-12-26', 1, 100), aRow('2024-12-27', 1, 1), aRow('2025-01-02', 0, 3)];
    // The seven days up to the 2nd begin on the 27th.
    expect(aChart(rows, all, { smooth: 7 }).line.values).toEqual([undefined, 0.25, undefined]);
    expect(aChart(rows, all, { smooth: 8 }).line.values[1]).toBeCloseTo(101 / 104);
  });

  it('begins when all of its days are covered, and again after a gap', () => {
    const rows = ['01', '02', '03', '04', '05', '06'].map((day) => aRow(`2025-01-${day}`));
    const ranges = [covered('2025-01-01', '2025-01-02'), covered('2025-01-04', '2025-01-06')];
    const { line } = aChart(rows, ranges, { smooth: 2, to: '2025-01-06' });
    expect(line.values).toEqual([null, 0.5, null, null, 0.5, 0.5]);
    expect(line.states[2]).toBe('incomplete');
    expect(line.loose).toEqual([null, null, 0.5, null, null, null]);
  });

  it('has a band of its usual scatter, outside of which a mean is 2 standard errors from that of the 90 days before', () => {
    const start = Date.parse('2025-01-01');
    const dayAt = (index: number) => new Date(start + index * 86_400_000).toISOString().slice(0, 10);
    const rows = Array.from({ length: 100 }, (_, day) =>
      aRow(dayAt(day), day > 96 ? 0.5 : Math.sin(day) / 3, (day % 4) + 1),
    );
    const to = dayAt(99);
    const asked = { from: dayAt(96), to, smooth: 7 };
    expect(leadOf({ ...asked, by: 'day' })).toBe(dayAt(0));
    expect(leadOf({ ...asked, by: 'week' })).toBe('2025-03-31');
    expect(leadOf({ ...asked, by: 'day', smooth: 1 })).toBe(asked.from);
    const { line } = aChart(rows, all, asked);
    // As Changes and Briefing compute z of the last week.
    const sums = (days: typeof rows) => ({
      n: days.reduce((sum, row) => sum + row.all_count, 0),
      s: days.reduce((sum, row) => sum + row.directional_sum, 0),
    });
    const [now, before] = [sums(rows.slice(93)), sums(rows.slice(3, 93))];
    const squares = rows.slice(3).reduce((sum, row) => sum + row.directional_sum ** 2 / row.all_count, 0);
    const rest = squares - now.s ** 2 / now.n - before.s ** 2 / before.n;
    const error = Math.sqrt((rest / 95) * (1 / now.n + 1 / before.n));
    const middle = before.s / before.n;
    expect(line.bands.at(-1)).toEqual([
      expect.closeTo(middle - 2 * error, 9),
      expect.closeTo(middle + 2 * error, 9),
    ]);
    expect(line.values.at(-1)).toBeGreaterThan(line.bands.at(-1)![1]);
    expect(line.bands[0]).not.toBeNull();
    // Not without one of those days, nor of weeks.
    expect(aChart(rows, [covered(dayAt(1), to)], asked).line.bands.map(Boolean)).toEqual([
      false,
      true,
      true,
      true,
    ]);
    expect(aChart(rows, all, { ...asked, by: 'week' }).line.bands.every((band) => band === null)).toBe(true);
  });

  it('is a mean of scores: headlines without one do not count', () => {
    const rows = [
      { ...aRow('2025-01-02', 0.6, 9), directional_count: 1, directional_sum: 0.6 },
      aRow('2025-01-03', 0, 2),
    ];
    const { line } = aChart(rows, all, { smooth: 7 });
    expect(line.values.at(-1)).toBeCloseTo(0.2);
    expect(line.behind.at(-1)).toBe(11);
  });
});

describe('several series', () => {
  it('keep their rows apart, and are called by what they differ in', () => {
    const gb = { ...us, country: 'GB' };
    const rows = [aRow('2025-01-01', 0.1, 1), { ...aRow('2025-01-01', 0.2, 2), country: 'GB' }];
    const chart = aChart(rows, [], { series: [us, gb] });
    expect(chart.lines.map(({ title, headlines, place }) => [title, headlines[0], place])).toEqual([
      ['US', 1, 0],
      ['GB', 2, 1],
    ]);
    expect(allHeadlines(chart)).toEqual([3, 0, 0]);
    expect(aChart([], []).line.title).toBe('US · Inflation-Food');
    const both = [us, { ...us, match: 'DOMESTIC' }];
    expect(aChart([], [], { series: both }).lines.map(({ title }) => title)).toEqual([
      'combined',
      'domestic',
    ]);
  });
});

describe('the largest move', () => {
  const dayAt = (day: number) => `2025-01-0${day}`;
  // Of few headlines from the fifth day to the sixth, of many from the sixth to the seventh.
  const means = [0.1, 0.12, 0.09, 0.11, 0.1, 0.5, 0.1, -0.3];
  const rows = means.map((mean, index) => aRow(dayAt(index + 1), mean, index === 5 ? 1 : 40));
  const asked = { to: dayAt(8) };
  const whole = covered(dayAt(1), dayAt(8));

  it('is the one that is largest in standard errors: means of a few headlines move most, and say least', () => {
    const { index, change, z } = largestMove(aChart(rows, [whole], asked))!;
    expect([index, change]).toEqual([7, expect.closeTo(-0.4, 9)]);
    // What follows from the scatter of the eight means.
    const scores = rows.reduce((sum, row) => sum + row.all_count, 0);
    const mean = rows.reduce((sum, row) => sum + row.directional_sum, 0) / scores;
    const squares = rows.reduce((sum, row) => sum + row.all_count * (row.directional! - mean) ** 2, 0);
    expect(z).toBeCloseTo(-0.4 / Math.sqrt((squares / 7) * (2 / 40)), 9);
  });

  it('is none over a gap, over days without news, or of fewer than seven days with news', () => {
    expect(largestMove(aChart(rows, [covered(dayAt(1), dayAt(1))], asked))).toBeUndefined();
    const alternate = rows.filter((_, index) => index % 2 === 0);
    expect(largestMove(aChart(alternate, [whole], asked))).toBeUndefined();
    const six = covered(dayAt(1), dayAt(6));
    expect(largestMove(aChart(rows.slice(0, 6), [six], { to: dayAt(6) }))).toBeUndefined();
  });

  it('is named after a story of that day, of its sign, that did at least a third of it', () => {
    const move = largestMove(aChart(rows, [whole], asked))!;
    const aStory = (
      headline: string,
      contribution: number,
      headline_count = 3,
      headline_count_before = 0,
    ) => ({
      ...{
        headline,
        contribution,
        headline_count,
        headline_count_before,
        others: null,
        source: null,
        url: null,
      },
      ...{ last_at: dayAt(8), mean: 0, mean_before: null },
    });
    const [most, some] = [aStory('most', -0.3), aStory('some', -0.14)];
    const old = aStory('one of the day before, too', -0.4, 6, 5);
    const gone = aStory('a good story of the day before', -0.35, 0, 4);
    const others = { ...aStory('others', -0.4), others: 90 };
    const against = aStory('against', 0.4);
    expect(storyOfMove([some, against, most, old, gone, others], move)).toEqual({
      headline: 'most',
      share: expect.closeTo(0.75, 9),
    });
    expect(storyOfMove([aStory('little', -0.13), against, gone, others], move)).toBeUndefined();
  });
});
