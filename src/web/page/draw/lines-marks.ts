import uPlot from 'uplot';
import { font, hatching } from './colours.ts';
import { type Chart, changeAt, isLoaded, type Line, meanAt, type SeriesPoints } from './points.ts';

/** Colours of the style sheet that the lines use. */
export const inks = ['paper', 'line', 'ink', 'quiet', 'accent', 'pending', 'never'] as const;

/** A chart and its colours. */
interface Sheet {
  readonly chart: Chart;
  /** The middle of each bucket. */
  readonly middles: readonly number[];
  readonly colours: Readonly<Record<(typeof inks)[number], string>>;
  readonly colour: (line: Line) => string;
}

/** The canvas of a plot: its area, and where times and scores are on it. */
function penOf(plot: uPlot, sheet: Sheet) {
  const x = (at: number) => plot.valToPos(at, 'x', true);
  const y = (value: number) => plot.valToPos(value, 'y', true);
  return { ...sheet, ...plot.bbox, context: plot.ctx, pixel: uPlot.pxRatio, x, y };
}

type Pen = ReturnType<typeof penOf>;

/** Returns a hook that draws on a plot, without a trace on what is drawn next. */
export function drawing(sheet: Sheet, draw: (pen: Pen) => void) {
  return (plot: uPlot) => {
    plot.ctx.save();
    draw(penOf(plot, sheet));
    plot.ctx.restore();
  };
}

/** Shades what is not loaded: hatched for some of the series, darker for all. */
export function drawGaps(pen: Pen, shown: readonly SeriesPoints[]) {
  const { context, colours, x, top, height } = pen;
  const { starts, ends } = pen.chart;
  const missing = starts.map((_, index) => shown.filter(({ states }) => !isLoaded(states[index]!)).length);
  const pattern = hatching(context, colours.pending, 8 * pen.pixel);
  for (let first = 0; first < starts.length; ) {
    let last = first;
    while (missing[last + 1] === missing[first]) last += 1;
    if (missing[first]! > 0) {
      const left = x(starts[first]!);
      const isAll = missing[first] === shown.length;
      for (const [style, alpha] of [
        [colours.never, isAll ? 1 : 0],
        [pattern, isAll ? 0.8 : 0.35],
      ] as const) {
        context.globalAlpha = alpha;
        context.fillStyle = style;
        context.fillRect(left, top, x(ends[last]!) - left, height);
      }
    }
    first = last + 1;
  }
}

/** Draws the zero line and the open bucket. */
export function drawMarks({ context, colours, pixel, x, y, ...pen }: Pen, open: number | null) {
  context.fillStyle = colours.quiet;
  context.fillRect(pen.left, Math.round(y(0)), pen.width, Math.max(1, pixel));
  if (open === null || pen.middles[open] === undefined) return;
  context.fillStyle = colours.accent;
  context.fillRect(Math.round(x(pen.middles[open])), pen.top, Math.max(1, 2 * pixel), pen.height);
}

/** Shades the band around each line. A point without a neighbour that has a band gets a bar. */
export function drawBands({ context, middles, pixel, x, y, ...pen }: Pen, lines: readonly Line[]) {
  const half = Math.max(pixel / 2, Math.min(2 * pixel, pen.width / middles.length / 3));
  context.beginPath();
  context.rect(pen.left, pen.top, pen.width, pen.height);
  context.clip();
  context.globalAlpha = 0.22;
  for (const line of lines) {
    const { values, errors } = line;
    const edge = (index: number, side: 1 | -1) => y(values[index]! + side * errors[index]!);
    context.fillStyle = pen.colour(line);
    for (let first = 0; first < errors.length; first += 1) {
      if (typeof errors[first] !== 'number') continue;
      let last = first;
      while (typeof errors[last + 1] === 'number') last += 1;
      context.beginPath();
      if (first === last) {
        const top = edge(first, 1);
        context.rect(x(middles[first]!) - half, top, 2 * half, edge(first, -1) - top);
      }
      for (let index = first; index <= last; index += 1) context.lineTo(x(middles[index]!), edge(index, 1));
      for (let index = last; index >= first; index -= 1) context.lineTo(x(middles[index]!), edge(index, -1));
      context.fill();
      first = last;
    }
  }
}

/** Draws a tick above the lines for each event. */
export function drawEvents({ context, colours, pixel, x, top }: Pen, events: readonly number[]) {
  context.fillStyle = colours.quiet;
  for (const event of events) context.fillRect(x(event) - pixel / 2, top - 8 * pixel, pixel, 6 * pixel);
}

/** Draws means of buckets that are incomplete or cut as rings that no line connects. */
export function drawLoose({ context, middles, pixel, x, y, ...pen }: Pen, lines: readonly Line[]) {
  context.lineWidth = pixel;
  context.fillStyle = pen.colours.paper;
  const apart = pen.width / middles.length / pixel;
  const radius = Math.min(2.5, Math.max(0.8, apart / 2)) * pixel;
  for (const line of lines) {
    context.strokeStyle = pen.colour(line);
    for (const [index, value] of line.loose.entries()) {
      if (value === null) continue;
      context.beginPath();
      context.arc(x(middles[index]!), y(value), radius, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }
}

/** Marks the points that changed since: a large dot then, a small one now, and what lies between. */
export function drawChanges({ context, chart, middles, pixel, ...pen }: Pen, lines: readonly Line[]) {
  context.lineWidth = pixel;
  for (const [place, line] of chart.lines.entries()) {
    if (!lines.includes(line)) continue;
    context.strokeStyle = context.fillStyle = pen.colour(line);
    for (const [index, middle] of middles.entries()) {
      if (changeAt(chart, place, index) !== 'changed') continue;
      const at = pen.x(middle);
      context.beginPath();
      for (const [mean, radius] of [
        [meanAt(line, index), 3.5],
        [meanAt(chart.now!.lines[place]!, index), 2],
      ] as const) {
        if (mean === null) continue;
        context.lineTo(at, pen.y(mean));
        context.moveTo(at, pen.y(mean));
        context.arc(at, pen.y(mean), radius * pixel, 0, 2 * Math.PI);
        context.moveTo(at, pen.y(mean));
      }
      context.fill();
      context.stroke();
    }
  }
}

/** Draws a label at the end of each line. Moves labels apart that would overlap. */
export function drawLabels({ context, pixel, y, ...pen }: Pen, lines: readonly Line[]) {
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
    context.fillStyle = pen.colour(line);
    context.fillText(line.series.title, pen.left + pen.width + 6 * pixel, at);
  }
}
