import uPlot from 'uplot';
import { font } from './colours.ts';
import { type Chart, isLoaded, type Line, type SeriesPoints } from './points.ts';

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

/** Hatches what is not loaded, and shades it if that is so for all of the series. */
export function drawGaps(pen: Pen, shown: readonly SeriesPoints[]) {
  const { context, colours, pixel, x, top, height } = pen;
  const { starts, ends } = pen.chart;
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

/** Draws the zero line and the open bucket. */
export function drawMarks({ context, colours, pixel, x, y, ...pen }: Pen, open: number | null) {
  context.fillStyle = colours.quiet;
  context.fillRect(pen.left, Math.round(y(0)), pen.width, Math.max(1, pixel));
  if (open === null || pen.middles[open] === undefined) return;
  context.fillStyle = colours.accent;
  context.fillRect(Math.round(x(pen.middles[open])), pen.top, Math.max(1, 2 * pixel), pen.height);
}

/** Draws a tick above the lines for each event. */
export function drawEvents({ context, colours, pixel, x, top }: Pen, events: readonly number[]) {
  context.fillStyle = colours.quiet;
  for (const event of events) context.fillRect(x(event) - pixel / 2, top - 8 * pixel, pixel, 6 * pixel);
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
