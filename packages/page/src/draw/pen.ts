import { range } from 'd3-array';
import uPlot from 'uplot';
import { aDay, readDays } from '../time.ts';
import { type coloursOf, font } from './colours.ts';
import { type Chart, isLoaded, type Line } from './points.ts';

/** Colours of the style sheet that are drawn with, besides those of lines. */
export const inks = ['paper', 'line', 'ink', 'quiet', 'accent', 'pending', 'never'] as const;

/** The canvas of a plot: its area, and where times and scores are on it. */
export function penOf(plot: uPlot, colours: Readonly<ReturnType<typeof coloursOf<(typeof inks)[number]>>>) {
  const x = (at: number) => plot.valToPos(at, 'x', true);
  const y = (value: number) => plot.valToPos(value, 'y', true);
  const write = (text: string, at: number, level: number, align: CanvasTextAlign = 'left') => {
    plot.ctx.textAlign = align;
    plot.ctx.fillText(text, at, level);
  };
  plot.ctx.font = font(12 * uPlot.pxRatio);
  plot.ctx.textBaseline = 'middle';
  return { ...plot.bbox, context: plot.ctx, pixel: uPlot.pxRatio, colours, x, y, write };
}

export type Pen = ReturnType<typeof penOf>;

/** Hatches what is not loaded, and shades it if that is so for all of the series. */
export function drawGaps(pen: Pen, { starts, ends }: Chart, shown: readonly Line[]) {
  const { context, colours, pixel, x, top, height } = pen;
  const missing = starts.map((_, index) => shown.filter(({ states }) => !isLoaded(states[index]!)).length);
  context.fillStyle = colours.never;
  context.strokeStyle = colours.pending;
  context.lineWidth = pixel;
  for (let first = 0, last = 0; first < starts.length; first = last + 1) {
    last = first;
    while (missing[last + 1] === missing[first]) last += 1;
    if (missing[first] === 0) continue;
    const [left, right] = [x(starts[first]!), x(ends[last]!)];
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, height);
    context.clip();
    if (missing[first] === shown.length) context.fill();
    else context.globalAlpha = 0.4;
    context.beginPath();
    for (const at of range(left - height, right, 8 * pixel)) {
      context.moveTo(at, top + height);
      context.lineTo(at + height, top);
    }
    context.stroke();
    context.restore();
  }
}

export function drawDays({ context, colours, x, ...pen }: Pen, text: string | null, ink: 'accent' | 'quiet') {
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
export function drawMarks({ context, colours, pixel, x, y, ...pen }: Pen, open: number | undefined) {
  context.fillStyle = colours.quiet;
  context.fillRect(pen.left, Math.round(y(0)), pen.width, Math.max(1, pixel));
  if (open === undefined) return;
  context.fillStyle = colours.accent;
  context.fillRect(Math.round(x(open)), pen.top, Math.max(1, 2 * pixel), pen.height);
}

export function drawUnit({ context, colours, pixel, left, top, write }: Pen, unit: string) {
  context.fillStyle = colours.quiet;
  write(unit, left - 46 * pixel, top - 11 * pixel);
}

/** Draws a label at the end of each line. Moves labels apart that would overlap. */
export function drawLabels(
  { context, pixel, y, write, ...pen }: Pen,
  lines: readonly Line[],
  colour: (line: Line) => string,
) {
  const height = 14 * pixel;
  const labels = lines
    .flatMap((line) => {
      const last = line.values.findLast((value) => typeof value === 'number');
      return typeof last === 'number' ? [{ line, at: y(last) }] : [];
    })
    .toSorted((a, b) => a.at - b.at);
  let above = pen.top - height / 2;
  for (const label of labels) above = label.at = Math.max(label.at, above + height);
  let below = pen.top + pen.height + height / 2;
  for (const label of labels.toReversed()) below = label.at = Math.min(label.at, below - height);
  for (const { line, at } of labels) {
    context.fillStyle = colour(line);
    write(line.title, pen.left + pen.width + 6 * pixel, at);
  }
}
