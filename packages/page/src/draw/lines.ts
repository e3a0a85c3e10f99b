import { extent, least, range, transpose } from 'd3-array';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { number, score } from '../numbers.ts';
import { aDay, zone } from '../time.ts';
import { coloursOf, font } from './colours.ts';
import { drawDays, drawGaps, drawLabels, drawMarks, drawUnit, inks, type Pen, penOf } from './pen.ts';
import { allHeadlines, type Chart, changeAt, isLoaded, type Line, meanAt } from './points.ts';
import { threeOf } from './scales.ts';
import { lookAt, markers, mostTogether } from './sign.tsx';
import { plots } from './vectors.ts';

const axisWidth = 52;
/** More series than may be together have a panel each, at least so large. */
const panel = { width: 300, height: 150, title: 27 };
/**
 * The labels of a time axis by the milliseconds between two of them, as ISO dates are written. The year of a day and the day of
 * an hour are below, where they change.
 */
const timeLabels = [
  [360 * aDay, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * aDay, '{YYYY}-{MM}', null, null, null, null, null, null, 1],
  [aDay, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [1, '{HH}:{mm}', null, null, '\n{YYYY}-{MM}-{DD}', null, null, null, 1],
];

/** The size of the plots of means, the open bucket, and the chosen days with those that they are compared with. */
type Shown = Readonly<
  { width: number; height: number; open: number | null } & Record<'days' | 'against', string | null>
>;

interface Heard {
  /** Called with the bucket under the cursor and its distance in pixels from the left of the chart. */
  readonly onHover: (index: number | null, left: number) => void;
  /** Called when a bucket is clicked. @param line the nearest one with headlines there */
  readonly onOpen: (index: number, line: Line | undefined) => void;
  /** Called with the first and the last bucket of a period that was chosen by dragging. @param isOther with Shift */
  readonly onChoose: (first: number, last: number, isOther: boolean) => void;
}

export interface Drawing {
  /** Moves the cursor to a bucket. */
  readonly point: (index: number | null) => void;
  readonly destroy: () => void;
}

/** Values that are drawn in one look; `isBand` shades what is between these and the next layer's. */
interface Layer {
  readonly line: Line;
  readonly values: Line['values'];
  readonly look: uPlot.Series;
  readonly isBand?: boolean;
}

/** Draws lines, together or in a panel for each series, and below them the numbers of headlines. */
export function drawLines(into: HTMLElement, chart: Chart, shown: Shown, heard: Heard): Drawing {
  const sheet = sheetOf(into, chart, shown, heard);
  const layers = transpose(chart.lines.map((line) => layersOf(sheet, line))).flat(2);
  const scores = scoresOf(layers);
  for (const of of sheet.isApart ? chart.lines.map((one) => [one]) : [chart.lines])
    sheet.tops.push(plotOfMeans(sheet, of, layers, scores));
  const plots = [...sheet.tops, plotOfCounts(sheet)];
  openByClick(sheet, plots);
  return {
    // uPlot sets its scales in a microtask after it is made; before that, every bucket would be the last one.
    point: (index) =>
      queueMicrotask(() => {
        for (const plot of plots) {
          const left = index === null ? -10 : plot.valToPos(sheet.middles[index]!, 'x');
          plot.setCursor({ left, top: index === null ? -10 : 1 });
        }
      }),
    destroy: () => {
      for (const plot of plots) plot.destroy();
    },
  };
}

type Sheet = ReturnType<typeof sheetOf>;

/** Returns what all plots of a chart share: their sizes, colours and axes, and the plot under the pointer. */
function sheetOf(into: HTMLElement, chart: Chart, shown: Shown, heard: Heard) {
  const { starts, ends, by, lines } = chart;
  const { width, height } = shown;
  const colours = coloursOf(inks);
  const lineColours = coloursOf(range(mostTogether).map((place) => `series-${place}`));
  const isApart = lines.length > mostTogether;
  const isLabelled = width >= 760 && lines.length > 1 && !isApart;
  const right = isLabelled ? 24 + 6.2 * Math.max(...lines.map(({ title }) => title.length)) : 26;
  const across = isApart ? Math.max(1, Math.floor(width / panel.width)) : 1;
  const wide = Math.floor(width / across);
  const panelHeight = Math.max(panel.height, height / Math.ceil(lines.length / across) - panel.title);
  const axis: uPlot.Axis = {
    stroke: colours.quiet,
    font: font(12),
    grid: { stroke: colours.line, width: 1 },
    ticks: { show: false },
    space: 64,
    gap: 4,
  };
  const sheet = {
    ...{ chart, shown, heard, colours, isApart, isLabelled, right },
    middles: starts.map((start, index) => (start + ends[index]!) / 2),
    colour: ({ place }: Line): string => lineColours[`series-${lookAt(place)}`]!,
    size: isApart ? { width: wide, height: panelHeight } : { width, height },
    isDense: (wide - axisWidth - right) / starts.length < 1,
    timeAxis: { ...axis, size: 36, values: timeLabels as uPlot.Axis.Values } satisfies uPlot.Axis,
    yAxis: { ...axis, size: axisWidth, space: 36, gap: 6 } satisfies uPlot.Axis,
    tops: [] as uPlot[],
    /** The plot under the pointer; the others follow its cursor. */
    pointed: undefined as uPlot | undefined,
    /** Whether the last drag was with Shift. */
    isShifted: false,
    /** Makes a plot. @param hooks draw on it, without a trace on what is drawn next */
    plot: (
      options: Omit<uPlot.Options, 'hooks'>,
      data: readonly Line['values'][],
      hooks: { readonly [Name in 'drawClear' | 'drawAxes' | 'draw']?: (pen: Pen) => void },
      setCursor: (plot: uPlot) => void = () => {},
    ): uPlot => {
      const drawing = Object.entries(hooks).map(([name, draw]) => {
        const drawOn = (plot: uPlot) => {
          plot.ctx.save();
          draw(penOf(plot, colours));
          plot.ctx.restore();
        };
        return [name, [drawOn]];
      });
      const cursor = {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: 6 },
        sync: { key: 'sentiment', setSeries: false },
        points: { show: false },
      };
      const common = {
        ms: 1 as const,
        // Days are in UTC, whatever the zone of hours is.
        tzDate: (at: number) => uPlot.tzDate(new Date(at), by === 'hour' ? zone.value : 'UTC'),
        legend: { show: false },
        padding: [20, right, 0, 0] as uPlot.Padding,
        cursor,
        ...options,
        scales: {
          x: { time: true, range: (): [number, number] => [starts[0]!, ends.at(-1)!] },
          ...options.scales,
        },
      };
      const all = { ...Object.fromEntries(drawing), setCursor: [setCursor], setSelect: [choose] };
      const made = new uPlot(
        { ...common, hooks: all },
        [sheet.middles, ...data.map((one) => [...one])],
        into,
      );
      plots.set(made.ctx.canvas, made);
      return made;
    },
  };
  const choose = (plot: uPlot) => {
    const { left, width: chosen } = plot.select;
    if (chosen < 6 || plot !== sheet.pointed) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    heard.onChoose(plot.posToIdx(left), plot.posToIdx(left + chosen), sheet.isShifted);
  };
  return sheet;
}

/** Returns what is drawn of a line below all lines, its band and the buckets behind a trailing mean, and above: its means, and those of now. */
function layersOf(
  { chart, colours, colour, isApart, isDense, middles }: Sheet,
  line: Line,
): readonly Layer[][] {
  const { place } = line;
  const now = chart.now?.lines[place];
  const stroke = colour(line);
  const isMarked = chart.lines.length > 1 && !isApart;
  const drawn = (look: uPlot.Series): uPlot.Series => ({
    stroke,
    points: { fill: stroke, filter: pointsOf(isMarked ? place : null), paths: marksOf(line) },
    ...look,
  });
  const dots = (size: number, fill = stroke) => ({
    stroke,
    paths: () => null,
    points: { show: true, size, fill },
  });
  const edge = (side: 0 | 1) => ({
    values: line.bands.map((band, index) =>
      line.values[index] === undefined ? undefined : (band?.[side] ?? null),
    ),
    look: { points: { show: false } },
  });
  const buckets = line.means.map((mean, index) =>
    isLoaded(line.states[index]!) ? (mean ?? undefined) : null,
  );
  const changed = (of: Line) =>
    middles.map((_, index) => (changeAt(chart, place, index) === 'changed' ? meanAt(of, index) : null));
  const below = [
    ...(line.bands.some(Boolean) ? [{ ...edge(0), isBand: true }, edge(1)] : []),
    ...(chart.smooth > 1
      ? [{ values: buckets, look: drawn({ width: 1, alpha: 0.35, points: { show: false } }) }]
      : []),
  ];
  const above = [
    { values: line.values, look: drawn({ width: chart.smooth > 1 ? 2.25 : isDense ? 1 : 1.75 }) },
    { values: line.loose, look: dots(5, colours.paper) },
    ...(now
      ? [
          { values: now.values, look: drawn({ width: 1.25, alpha: 0.5 }) },
          { values: changed(line), look: dots(9) },
          { values: changed(now), look: dots(4) },
        ]
      : []),
  ];
  return [below, above].map((layers) => layers.map((layer) => ({ ...layer, line })));
}

/** Plots the means of some series. @param scores the range of the axis */
function plotOfMeans(
  sheet: Sheet,
  of: readonly Line[],
  all: readonly Layer[],
  scores: [number, number],
): uPlot {
  const { chart, isApart, isLabelled, middles, colour, timeAxis, yAxis, tops, shown } = sheet;
  const layers = all.filter(({ line }) => of.includes(line));
  // Paler, the more there are: they lie over each other.
  const alpha = of.length > 2 ? 0.09 : 0.18;
  const fill = (line: Line) => colour(line).replace('rgb(', 'rgba(').replace(')', `, ${alpha})`);
  return sheet.plot(
    {
      ...sheet.size,
      ...(isApart && { title: of[0]!.title }),
      scales: { y: { range: () => scores } },
      axes: [
        isApart ? timeAxis : { ...timeAxis, values: (_, splits) => splits.map(() => ''), size: 6 },
        { ...yAxis, values: signed, ...(isApart && { splits: () => threeOf(scores) }) },
      ],
      series: [{}, ...layers.map(({ look }) => look)],
      bands: layers.flatMap(({ isBand, line }, place) =>
        isBand ? { series: [place + 2, place + 1], fill: fill(line) } : [],
      ),
    },
    layers.map(({ values }) => values),
    {
      drawClear: (pen) => drawGaps(pen, chart, of),
      drawAxes: (pen) => {
        drawDays(pen, shown.days, 'accent');
        drawDays(pen, shown.against, 'quiet');
        drawMarks(pen, shown.open === null ? undefined : middles[shown.open]);
      },
      draw: (pen) => {
        // Panels have one axis in common.
        if (of.includes(chart.lines[0]!)) drawUnit(pen, 'score');
        if (isLabelled) drawLabels(pen, of, colour);
      },
    },
    (plot) => {
      // The pointed one or the first says where the cursor is.
      if (plot !== (tops.find((top) => top === sheet.pointed) ?? tops[0])) return;
      const left = plot.root.offsetLeft + axisWidth + (plot.cursor.left ?? 0);
      sheet.heard.onHover(plot.cursor.idx ?? null, left);
    },
  );
}

function plotOfCounts({ chart, colours, shown: { width }, timeAxis, yAxis, plot }: Sheet): uPlot {
  const paths = uPlot.paths.bars!({ size: [0.85, 40], align: 0 });
  return plot(
    {
      width,
      height: 110,
      scales: { y: { range: (_, __, most) => [0, Math.max(1, most)] } },
      axes: [
        timeAxis,
        {
          ...yAxis,
          values: (_, splits) =>
            splits.map((split) => (split > 0 && Number.isInteger(split) ? number(split) : '')),
          space: 22,
          grid: { show: false },
        },
      ],
      series: [
        {},
        { fill: colours.pending, stroke: colours.pending, width: 0, points: { show: false }, paths },
      ],
    },
    [allHeadlines(chart)],
    {
      drawClear: (pen) => drawGaps(pen, chart, chart.lines),
      draw: (pen) => drawUnit(pen, `${chart.counted}s per ${chart.by}`),
    },
  );
}

function openByClick(sheet: Sheet, plots: readonly uPlot[]) {
  const { chart, heard, isApart, tops } = sheet;
  for (const plot of plots) {
    plot.over.addEventListener('pointerenter', () => {
      sheet.pointed = plot;
    });
    plot.over.addEventListener('pointerdown', ({ shiftKey }) => {
      sheet.isShifted = shiftKey;
    });
    // uPlot keeps clicks that end a drag to itself.
    plot.over.addEventListener('click', () => {
      const index = plot.cursor.idx;
      if (index === null || index === undefined) return;
      const top = tops.indexOf(plot);
      const line =
        isApart && top >= 0 ? chart.lines[top] : nearest(top >= 0 ? plot : undefined, chart.lines, index);
      heard.onOpen(index, line);
    });
  }
}

function signed(_: uPlot, splits: number[]): string[] {
  const digits = splits.some((split) => Math.abs(split * 10 - Math.round(split * 10)) > 1e-9) ? 2 : 1;
  return splits.map((split) => (Math.abs(split) < 1e-9 ? '0' : score(split, digits)));
}

/** Returns a range that contains all that is drawn and zero, with some room, within that of scores. */
function scoresOf(layers: readonly Layer[]): [number, number] {
  const drawn = layers.flatMap(({ values }) => values.flatMap((value) => value ?? []));
  const [low, high] = extent([0, ...drawn]) as [number, number];
  if (low === 0 && high === 0) return [-1, 1];
  const room = Math.max(0.1, high - low) * 0.06;
  return [Math.max(-1, Math.min(low - room, -0.05)), Math.min(1, Math.max(high + room, 0.05))];
}

/**
 * Returns a filter of points, which are all there if there is room: those that no line would show and, of several lines together,
 * some of each, at others than those of the lines before.
 */
function pointsOf(place: number | null): uPlot.Series.Points.Filter {
  return (plot, of, isShown) => {
    if (isShown) return null;
    const { length } = plot.data[0];
    const step = Math.ceil((length * 140 * uPlot.pxRatio) / plot.bbox.width);
    const some =
      place === null ? [] : range(Math.floor((step * (place + 1)) / (mostTogether + 1)), length, step);
    return [...some, ...alone(plot, of)];
  };
}

function marksOf({ place }: Line): uPlot.Series.Points.PathBuilder {
  return (plot, of, first, last, chosen) => {
    const marker = new Path2D(markers[lookAt(place)]);
    const fill = new Path2D();
    const { pxRatio } = uPlot;
    for (const index of chosen ?? range(first, last + 1)) {
      const value = plot.data[of]![index];
      if (typeof value !== 'number') continue;
      const [x, y] = [plot.valToPos(plot.data[0][index]!, 'x', true), plot.valToPos(value, 'y', true)];
      fill.addPath(marker, new DOMMatrix([pxRatio, 0, 0, pxRatio, x, y]));
    }
    return { fill, flags: 0 };
  };
}

/** Returns the points without a neighbour. */
function alone(plot: uPlot, place: number): number[] {
  const values = plot.data[place]! as (number | null | undefined)[];
  const drawn = range(values.length).filter((index) => values[index] !== undefined);
  const isPoint = (index: number | undefined) => index !== undefined && typeof values[index] === 'number';
  return drawn.filter((index, at) => isPoint(index) && !isPoint(drawn[at - 1]) && !isPoint(drawn[at + 1]));
}

/** Returns the line nearest to the cursor that has headlines in the bucket. */
function nearest(plot: uPlot | undefined, lines: readonly Line[], index: number): Line | undefined {
  const withNews = lines.filter(({ behind }) => behind[index]! > 0);
  return least(withNews, (line) => {
    const value = meanAt(line, index);
    return plot && value !== null ? Math.abs(plot.valToPos(value, 'y') - plot.cursor.top!) : 0;
  });
}
