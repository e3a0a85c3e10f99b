import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { score } from '../numbers.ts';
import { aDay, readDays, zone } from '../time.ts';
import { coloursOf, font } from './colours.ts';
import {
  allHeadlines,
  type Chart,
  changeAt,
  isLoaded,
  type Line,
  type Move,
  meanAt,
  type SeriesPoints,
} from './points.ts';

/** Colours of the style sheet, and those of the series; more than four have a panel each, so these may repeat. */
const inks = ['paper', 'line', 'ink', 'quiet', 'accent', 'pending', 'never'] as const;
const seriesColours = Array.from({ length: 6 }, (_, place) => `series-${place}` as const);
const axisWidth = 52;
const countsHeight = 110;
const laneHeight = 15;
/** More series than this have a panel each, at least so large, with a common range of scores. */
const mostTogether = 4;
const panel = { width: 300, height: 150, title: 27 };
/**
 * The labels of a time axis by the milliseconds between two of them, as ISO dates are written. The year of a day and the day of
 * an hour are below, where they change.
 */
const timeLabels: uPlot.Axis.Values = [
  [360 * aDay, '{YYYY}', null, null, null, null, null, null, 1],
  [28 * aDay, '{YYYY}-{MM}', null, null, null, null, null, null, 1],
  [aDay, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1],
  [1, '{HH}:{mm}', null, null, '\n{YYYY}-{MM}-{DD}', null, null, null, 1],
];

interface LinesShown {
  readonly width: number;
  readonly height: number;
  /** The open bucket. */
  readonly open: number | null;
  /** The chosen days, and those that were chosen to compare them with: `2026-09-01..2026-09-07`. */
  readonly days: string | null;
  readonly against: string | null;
}

/** Words about a point of a line. */
export interface Note extends Move {
  readonly text: string;
}

interface LinesHeard {
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
  /** Says something of a point, beside it. The plots stay as they are: the pointer may be on one. */
  readonly say: (note: Note | undefined) => void;
  readonly destroy: () => void;
}

/** Values that are drawn in one look; `isBand` shades what is between these and the next layer's. */
interface Layer {
  readonly values: Line['values'];
  readonly look: uPlot.Series;
  readonly isBand?: boolean;
}

/** Draws lines, together or in a panel for each series, and below them the numbers of headlines. */
export function drawLines(into: HTMLElement, chart: Chart, shown: LinesShown, heard: LinesHeard): Drawing {
  const sheet = sheetOf(into, chart, shown, heard);
  const { series, lines, now } = chart;
  const range = scoreRange([...lines, ...(now?.lines ?? [])]);
  const panels = sheet.isApart ? series.map((one) => [one]) : [series];
  const tops: uPlot[] = [];
  for (const of of panels) tops.push(plotOfMeans(sheet, of, range, tops));
  const plots = [
    ...tops,
    plotOfCounts(sheet),
    ...chart.lanes.map(({ title, counts }) => plotOfLane(sheet, title, counts)),
  ];
  openByClick(sheet, plots, tops);
  return {
    // uPlot sets its scales in a microtask after it is made; before that, every bucket would be the last one.
    point: (index) =>
      queueMicrotask(() => {
        for (const plot of plots) {
          const left = index === null ? -10 : plot.valToPos(sheet.middles[index]!, 'x');
          plot.setCursor({ left, top: index === null ? -10 : 1 });
        }
      }),
    say: (note) => {
      sheet.note = note;
      for (const plot of tops) plot.redraw(false);
    },
    destroy: () => {
      for (const plot of plots) plot.destroy();
    },
  };
}

type Sheet = ReturnType<typeof sheetOf>;

/** Returns what all plots of a chart share: their sizes, colours and axes, and the plot under the pointer. */
function sheetOf(into: HTMLElement, chart: Chart, shown: LinesShown, heard: LinesHeard) {
  const { starts, ends, by, series, lines } = chart;
  const { width, height } = shown;
  const colours = coloursOf([...inks, ...seriesColours]);
  const isApart = series.length > mostTogether;
  const isLabelled = width >= 760 && lines.length > 1 && !isApart;
  const right = isLabelled ? 24 + 6.2 * Math.max(...lines.map(({ series: { title } }) => title.length)) : 26;
  const across = isApart ? Math.max(1, Math.floor(width / panel.width)) : 1;
  const wide = Math.floor(width / across);
  const panelHeight = Math.max(panel.height, height / Math.ceil(series.length / across) - panel.title);
  const xAxis: uPlot.Axis = {
    stroke: colours.quiet,
    font: font(12),
    grid: { stroke: colours.line, width: 1 },
    ticks: { show: false },
    space: 64,
    gap: 4,
  };
  const sheet = {
    ...{ into, chart, shown, heard, colours, isApart, isLabelled },
    middles: starts.map((start, index) => (start + ends[index]!) / 2),
    colour: ({ series: { place } }: Line): string => colours[`series-${place % 6}`]!,
    /** The size of a plot of means. */
    size: isApart ? { width: wide, height: panelHeight } : { width, height },
    isDense: (wide - axisWidth - right) / starts.length < 1,
    timeAxis: { ...xAxis, values: timeLabels, ...(by === 'week' && weekly(starts)) } satisfies uPlot.Axis,
    yAxis: { ...xAxis, size: axisWidth, space: 36, gap: 6 } satisfies uPlot.Axis,
    timeScale: { time: true, range: (): [number, number] => [starts[0]!, ends.at(-1)!] },
    /** The plot under the pointer; the others follow its cursor. */
    pointed: undefined as uPlot | undefined,
    note: undefined as Note | undefined,
    /** Whether the last drag was with Shift. */
    isShifted: false,
    /** Returns a hook that draws on a plot, without a trace on what is drawn next. */
    on: (draw: (pen: Pen) => void) => (plot: uPlot) => {
      plot.ctx.save();
      draw(penOf(plot, colours));
      plot.ctx.restore();
    },
    choose: (plot: uPlot) => {
      const { left, width: chosen } = plot.select;
      if (chosen < 6 || plot !== sheet.pointed) return;
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      heard.onChoose(plot.posToIdx(left), plot.posToIdx(left + chosen), sheet.isShifted);
    },
    options: (bottom: number): Omit<uPlot.Options, 'width' | 'height' | 'series'> => ({
      ms: 1,
      // Days are in UTC, whatever the zone of hours is.
      tzDate: (at) => uPlot.tzDate(new Date(at), by === 'hour' ? zone.value : 'UTC'),
      legend: { show: false },
      padding: [bottom > 0 ? 0 : 20, right, bottom, 0],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false, dist: 6 },
        sync: { key: 'sentiment', setSeries: false },
        points: { show: false },
      },
    }),
  };
  return sheet;
}

/** Returns what is drawn of a line: its band, its means, and of a past moment those of now. */
function layersOf({ chart, colours, colour, isDense, middles }: Sheet, line: Line): readonly Layer[] {
  const place = chart.lines.indexOf(line);
  const now = chart.now?.lines[place];
  const dash = line.model === 'semantic' ? [5, 3] : [];
  const drawn = (size: number, look: uPlot.Series) => ({
    stroke: colour(line),
    dash,
    ...look,
    points: { show: true, size, fill: colour(line), filter: distinct },
  });
  const dots = (size: number, fill = colour(line)) => ({
    stroke: colour(line),
    paths: () => null,
    points: { show: true, size, fill },
  });
  const edge = (side: 1 | -1) => ({
    values: line.values.map((value, index) =>
      typeof value === 'number' ? value + side * (line.errors[index] ?? 0) : value,
    ),
    // Shows the edges of a point that has no neighbour to share a band with.
    look: { points: { show: true, size: 4, fill: colour(line), filter: alone } },
  });
  const changed = (of: Line) =>
    middles.map((_, index) => (changeAt(chart, place, index) === 'changed' ? meanAt(of, index) : null));
  return [
    ...(line.errors.some((error) => error !== null) ? [{ ...edge(1), isBand: true }, edge(-1)] : []),
    { values: line.values, look: drawn(5, { width: isDense ? 1 : 1.75 }) },
    { values: line.loose, look: dots(5, colours.paper) },
    ...(now
      ? [
          { values: now.values, look: drawn(4, { width: 1.25, alpha: 0.5 }) },
          { values: changed(line), look: dots(9) },
          { values: changed(now), look: dots(4) },
        ]
      : []),
  ];
}

/** Plots the means of some series. @param tops all such plots: the pointed one or the first says where the cursor is */
function plotOfMeans(
  sheet: Sheet,
  of: readonly SeriesPoints[],
  range: [number, number],
  tops: readonly uPlot[],
): uPlot {
  const { chart, isApart, isLabelled, middles, colour, timeAxis, yAxis, on } = sheet;
  const { open, days, against } = sheet.shown;
  const lines = chart.lines.filter(({ series }) => of.includes(series));
  const layers = lines.flatMap((line) => layersOf(sheet, line).map((layer) => ({ ...layer, line })));
  const shade = (line: Line) => colour(line).replace('rgb(', 'rgba(').replace(')', ', 0.22)');
  return new uPlot(
    {
      ...sheet.options(0),
      ...sheet.size,
      ...(isApart && { title: of[0]!.title }),
      scales: { x: sheet.timeScale, y: { range: () => range } },
      axes: [
        isApart
          ? { ...timeAxis, size: 36 }
          : { ...timeAxis, values: (_, splits) => splits.map(() => ''), size: 6 },
        { ...yAxis, values: signed },
      ],
      series: [{}, ...layers.map(({ look }) => look)],
      bands: layers.flatMap(({ isBand, line }, place) =>
        isBand ? { series: [place + 1, place + 2], fill: shade(line) } : [],
      ),
      hooks: {
        drawClear: [on((pen) => drawGaps(pen, chart, of))],
        drawAxes: [
          on((pen) => {
            drawDays(pen, days, 'accent');
            drawDays(pen, against, 'quiet');
            drawMarks(pen, open === null ? undefined : middles[open]);
          }),
        ],
        draw: [
          on((pen) => drawUnit(pen, 'score')),
          on((pen) => isLabelled && drawLabels(pen, lines, colour)),
          on((pen) => sheet.note && !isApart && drawNote(pen, sheet.note, middles[sheet.note.index]!)),
        ],
        setCursor: [
          (plot) => {
            const isTold = plot === (tops.find((top) => top === sheet.pointed) ?? tops[0]);
            const left = plot.root.offsetLeft + axisWidth + (plot.cursor.left ?? 0);
            if (isTold) sheet.heard.onHover(plot.cursor.idx ?? null, left);
          },
        ],
        setSelect: [sheet.choose],
      },
    },
    [middles, ...layers.map(({ values }) => [...values])],
    sheet.into,
  );
}

/** Plots the headlines of all series as bars. */
function plotOfCounts(sheet: Sheet): uPlot {
  const { chart, colours, timeAxis, yAxis, on } = sheet;
  return new uPlot(
    {
      ...sheet.options(0),
      width: sheet.shown.width,
      height: countsHeight,
      scales: { x: sheet.timeScale, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
      axes: [
        { ...timeAxis, size: 36 },
        {
          ...yAxis,
          values: (_, splits) => splits.map((split) => String(split)),
          space: 22,
          grid: { show: false },
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4],
        },
      ],
      series: [
        {},
        {
          fill: colours.pending,
          stroke: colours.pending,
          width: 0,
          points: { show: false },
          paths: uPlot.paths.bars!({ size: [0.85, 40], align: 0 }),
        },
      ],
      hooks: {
        drawClear: [on((pen) => drawGaps(pen, chart, chart.series))],
        draw: [on((pen) => drawUnit(pen, `${chart.counted}s per ${chart.by}`))],
        setSelect: [sheet.choose],
      },
    },
    [sheet.middles, allHeadlines(chart.series, chart.starts.length)],
    sheet.into,
  );
}

/** Plots further news of each bucket as marks. */
function plotOfLane(sheet: Sheet, title: string, counts: readonly number[]): uPlot {
  const { chart, yAxis, on } = sheet;
  return new uPlot(
    {
      ...sheet.options(2),
      width: sheet.shown.width,
      height: laneHeight,
      scales: { x: sheet.timeScale, y: { range: () => [0, 1] } },
      axes: [{ show: false }, { ...yAxis, values: () => [], grid: { show: false } }],
      series: [{}, { show: false }],
      hooks: { draw: [on((pen) => drawLane(pen, chart, title, counts))], setSelect: [sheet.choose] },
    },
    [sheet.middles, [...counts]],
    sheet.into,
  );
}

/** Opens the bucket that is clicked, unless the click ends a drag. */
function openByClick(sheet: Sheet, plots: readonly uPlot[], tops: readonly uPlot[]) {
  const { chart, heard, isApart } = sheet;
  for (const plot of plots) {
    let from = 0;
    plot.over.addEventListener('pointerenter', () => {
      sheet.pointed = plot;
    });
    plot.over.addEventListener('pointerdown', ({ clientX, shiftKey }) => {
      from = clientX;
      sheet.isShifted = shiftKey;
    });
    plot.over.addEventListener('click', (event) => {
      const index = plot.cursor.idx;
      const isDrag = Math.abs(event.clientX - from) > 5;
      if (isDrag || index === null || index === undefined) return;
      const top = tops.indexOf(plot);
      const line =
        isApart && top >= 0
          ? chart.lines.find((one) => one.series === chart.series[top])
          : nearest(top >= 0 ? plot : undefined, chart.lines, index);
      heard.onOpen(index, line);
    });
  }
}

/** Ticks where weeks begin, as many as there is room for. */
function weekly(starts: readonly number[]): uPlot.Axis {
  const week = 7 * aDay;
  return {
    incrs: [1, 2, 4, 8, 13, 26, 52, 104].map((weeks) => weeks * week),
    splits: (_, __, ___, ____, step) => starts.filter((_, index) => index % Math.round(step / week) === 0),
    values: [[aDay, '{MM}-{DD}', '\n{YYYY}', null, null, null, null, null, 1]],
  };
}

function signed(_: uPlot, splits: number[]): string[] {
  const digits = splits.some((split) => Math.abs(split * 10 - Math.round(split * 10)) > 1e-9) ? 2 : 1;
  return splits.map((split) => (Math.abs(split) < 1e-9 ? '0' : score(split, digits)));
}

/** Returns a range that contains all means, bands and zero, with some room, within that of scores or of their differences. */
function scoreRange(lines: readonly Line[]): [number, number] {
  let least = 0;
  let most = 0;
  for (const { values, loose, errors } of lines) {
    for (const [index, value] of values.entries()) {
      const drawn = value ?? loose[index] ?? 0;
      const error = errors[index] ?? 0;
      least = Math.min(least, drawn - error);
      most = Math.max(most, drawn + error);
    }
  }
  if (least === 0 && most === 0) return [-1, 1];
  const room = Math.max(0.1, most - least) * 0.06;
  const limit = lines.some(({ series }) => series.isDifference) ? 2 : 1;
  return [Math.max(-limit, Math.min(least - room, -0.05)), Math.min(limit, Math.max(most + room, 0.05))];
}

/** Returns all points if there is room for them; else those that no line would show. */
function distinct(plot: uPlot, place: number): number[] | null {
  return plot.bbox.width / plot.data[0].length > 8 * uPlot.pxRatio ? null : alone(plot, place);
}

/** Returns the points without a neighbour. */
function alone(plot: uPlot, place: number): number[] {
  const values = plot.data[place]! as (number | null | undefined)[];
  const isDrawn = (index: number, step: 1 | -1) => {
    let at = index + step;
    while (at >= 0 && at < values.length && values[at] === undefined) at += step;
    return typeof values[at] === 'number';
  };
  return [...values.keys()].filter(
    (index) => typeof values[index] === 'number' && !isDrawn(index, -1) && !isDrawn(index, 1),
  );
}

/** Returns the line nearest to the cursor that has headlines in the bucket. */
function nearest(plot: uPlot | undefined, lines: readonly Line[], index: number): Line | undefined {
  const height = plot?.cursor.top ?? 0;
  const distance = ({ values, loose }: Line) => {
    const value = values[index] ?? loose[index];
    return plot && typeof value === 'number' ? Math.abs(plot.valToPos(value, 'y') - height) : 0;
  };
  return lines
    .filter(({ series }) => series.behind[index]! > 0)
    .toSorted((a, b) => distance(a) - distance(b))[0];
}

/** The canvas of a plot: its area, and where times and scores are on it. */
function penOf(plot: uPlot, colours: Readonly<Record<(typeof inks)[number], string>>) {
  const x = (at: number) => plot.valToPos(at, 'x', true);
  const y = (value: number) => plot.valToPos(value, 'y', true);
  return { ...plot.bbox, context: plot.ctx, pixel: uPlot.pxRatio, colours, x, y };
}

type Pen = ReturnType<typeof penOf>;

/** Hatches what is not loaded, and shades it if that is so for all of the series. */
function drawGaps(pen: Pen, { starts, ends }: Chart, shown: readonly SeriesPoints[]) {
  const { context, colours, pixel, x, top, height } = pen;
  const missing = starts.map((_, index) => shown.filter(({ states }) => !isLoaded(states[index]!)).length);
  context.fillStyle = colours.never;
  context.strokeStyle = colours.pending;
  context.lineWidth = pixel;
  for (let first = 0; first < starts.length; ) {
    let last = first;
    while (missing[last + 1] === missing[first]) last += 1;
    if (missing[first]! > 0) {
      const gap = new Path2D();
      const [left, right] = [x(starts[first]!), x(ends[last]!)];
      gap.rect(left, top, right - left, height);
      context.save();
      context.clip(gap);
      if (missing[first] === shown.length) context.fill(gap);
      else context.globalAlpha = 0.4;
      context.beginPath();
      for (let at = left - height; at < right; at += 8 * pixel) {
        context.moveTo(at, top + height);
        context.lineTo(at + height, top);
      }
      context.stroke();
      context.restore();
    }
    first = last + 1;
  }
}

/** Shades days. */
function drawDays({ context, colours, x, ...pen }: Pen, text: string | null, ink: 'accent' | 'quiet') {
  const days = readDays(text);
  if (!days) return;
  const [first, last] = [Date.parse(days[0]), Date.parse(days[1]) + aDay];
  const [left, right] = [Math.max(pen.left, x(first)), Math.min(pen.left + pen.width, x(last))];
  context.globalAlpha = 0.15;
  context.fillStyle = colours[ink];
  if (right > left) context.fillRect(left, pen.top, right - left, pen.height);
  context.globalAlpha = 1;
}

/** Draws the zero line and the middle of the open bucket. */
function drawMarks({ context, colours, pixel, x, y, ...pen }: Pen, open: number | undefined) {
  context.fillStyle = colours.quiet;
  context.fillRect(pen.left, Math.round(y(0)), pen.width, Math.max(1, pixel));
  if (open === undefined) return;
  context.fillStyle = colours.accent;
  context.fillRect(Math.round(x(open)), pen.top, Math.max(1, 2 * pixel), pen.height);
}

/** Names what an axis counts, above it. */
function drawUnit({ context, colours, pixel, left, top }: Pen, unit: string) {
  context.font = font(12 * pixel);
  context.textAlign = 'left';
  context.textBaseline = 'bottom';
  context.fillStyle = colours.quiet;
  context.fillText(unit, left - 46 * pixel, top - 5 * pixel);
}

/** Rings a point, and writes words beside it on the side with room, on the background. */
function drawNote({ context, colours, pixel, x, y, ...pen }: Pen, note: Note, middle: number) {
  const { line, index, change, text } = note;
  const [at, height] = [x(middle), y(meanAt(line, index)!)];
  context.strokeStyle = colours.ink;
  context.lineWidth = 1.5 * pixel;
  context.beginPath();
  context.arc(at, height, 6 * pixel, 0, 2 * Math.PI);
  context.stroke();
  context.font = font(12 * pixel);
  const most = pen.width * 0.45;
  let shown = text;
  while (shown.length > 12 && context.measureText(shown).width > most)
    shown = `${shown.slice(0, -2).trimEnd()}…`;
  const wide = context.measureText(shown).width;
  const isLeft = at > pen.left + pen.width / 2;
  const begin = Math.max(
    pen.left + 4 * pixel,
    Math.min(isLeft ? at - wide : at, pen.left + pen.width - wide),
  );
  const level = Math.max(
    pen.top + 9 * pixel,
    Math.min(height + (change < 0 ? 18 : -18) * pixel, pen.top + pen.height - 9 * pixel),
  );
  context.globalAlpha = 0.85;
  context.fillStyle = colours.paper;
  context.fillRect(begin - 3 * pixel, level - 9 * pixel, wide + 6 * pixel, 18 * pixel);
  context.globalAlpha = 1;
  context.fillStyle = colours.ink;
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillText(shown, begin, level);
}

/** Draws a mark for each bucket with news, the stronger the more there are, after the title of the lane. */
function drawLane(pen: Pen, { starts, ends }: Chart, title: string, counts: readonly number[]) {
  const { context, colours, pixel, x, left, top, height } = pen;
  const most = Math.max(...counts);
  context.fillStyle = colours.accent;
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const [from, to] = [Math.round(x(starts[index]!)), Math.round(x(ends[index]!))];
    context.globalAlpha = 0.25 + (0.75 * count) / most;
    context.fillRect(from, top, Math.max(2 * pixel, to - from - pixel), height);
  }
  context.globalAlpha = 1;
  context.font = font(9.5 * pixel);
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  context.fillStyle = colours.quiet;
  context.fillText(title, left - 3 * pixel, top + height / 2);
}

/** Draws a label at the end of each line. Moves labels apart that would overlap. */
function drawLabels(
  { context, pixel, y, ...pen }: Pen,
  lines: readonly Line[],
  colour: (line: Line) => string,
) {
  const height = 14 * pixel;
  const bottom = pen.top + pen.height;
  const labels = lines
    .flatMap((line) => {
      const last = line.values.findLast((value) => typeof value === 'number');
      const isFirstOfSeries = lines.find(({ series }) => series === line.series) === line;
      return typeof last === 'number' && isFirstOfSeries ? [{ line, at: y(last) }] : [];
    })
    .toSorted((a, b) => a.at - b.at);
  for (const [index, label] of labels.entries())
    label.at = Math.max(label.at, (labels[index - 1]?.at ?? pen.top - height / 2) + height);
  for (const [index, label] of [...labels.entries()].toReversed())
    label.at = Math.min(label.at, (labels[index + 1]?.at ?? bottom + height / 2) - height);
  context.font = font(12 * pixel);
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  for (const { line, at } of labels) {
    context.fillStyle = colour(line);
    context.fillText(line.series.title, pen.left + pen.width + 6 * pixel, at);
  }
}
