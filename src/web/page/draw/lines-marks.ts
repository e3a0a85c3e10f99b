import uPlot from 'uplot';
import { font, hatching } from './colours.ts';
import { type Chart, changeAt, isLoaded, type Line, meanAt, type SeriesPoints } from './points.ts';

/** Colours of the style sheet that the lines use. */
export const inks = ['paper', 'line', 'ink', 'quiet', 'accent', 'pending', 'never'] as const;

type Colours = Record<(typeof inks)[number], string>;

/** Shades what is not loaded: hatched for some of the series, darker for all. */
export function drawGaps(
  plot: uPlot,
  { starts, ends }: Chart,
  shown: readonly SeriesPoints[],
  colours: Colours,
) {
  const { ctx: context, bbox } = plot;
  const missing = starts.map((_, index) => shown.filter(({ states }) => !isLoaded(states[index]!)).length);
  const pattern = hatching(context, colours.pending, 8 * uPlot.pxRatio);
  context.save();
  for (let first = 0; first < starts.length; ) {
    let last = first;
    while (missing[last + 1] === missing[first]) last += 1;
    if (missing[first]! > 0) {
      const left = plot.valToPos(starts[first]!, 'x', true);
      const width = plot.valToPos(ends[last]!, 'x', true) - left;
      if (missing[first] === shown.length) {
        context.fillStyle = colours.never;
        context.fillRect(left, bbox.top, width, bbox.height);
      }
      context.globalAlpha = missing[first] === shown.length ? 0.8 : 0.35;
      context.fillStyle = pattern;
      context.fillRect(left, bbox.top, width, bbox.height);
      context.globalAlpha = 1;
    }
    first = last + 1;
  }
  context.restore();
}

/** Draws the zero line and the open bucket. */
export function drawMarks(plot: uPlot, middles: readonly number[], open: number | null, colours: Colours) {
  const { ctx: context, bbox } = plot;
  const zero = Math.round(plot.valToPos(0, 'y', true));
  context.save();
  context.fillStyle = colours.quiet;
  context.fillRect(bbox.left, zero, bbox.width, Math.max(1, uPlot.pxRatio));
  if (open !== null && middles[open] !== undefined) {
    context.fillStyle = colours.accent;
    const left = Math.round(plot.valToPos(middles[open]!, 'x', true));
    context.fillRect(left, bbox.top, Math.max(1, 2 * uPlot.pxRatio), bbox.height);
  }
  context.restore();
}

/** Shades the band around each line. A point without a neighbour that has a band gets a bar. */
export function drawBands(
  plot: uPlot,
  middles: readonly number[],
  lines: readonly Line[],
  colour: (line: Line) => string,
) {
  const { ctx: context, bbox } = plot;
  const pixel = uPlot.pxRatio;
  const half = Math.max(pixel / 2, Math.min(2 * pixel, bbox.width / middles.length / 3));
  const x = (index: number) => plot.valToPos(middles[index]!, 'x', true);
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  context.globalAlpha = 0.22;
  for (const line of lines) {
    const { values, errors } = line;
    const y = (index: number, side: 1 | -1) =>
      plot.valToPos(values[index]! + side * errors[index]!, 'y', true);
    context.fillStyle = colour(line);
    for (let first = 0; first < errors.length; first += 1) {
      if (typeof errors[first] !== 'number') continue;
      let last = first;
      while (typeof errors[last + 1] === 'number') last += 1;
      context.beginPath();
      if (first === last) {
        const top = y(first, 1);
        context.rect(x(first) - half, top, 2 * half, y(first, -1) - top);
      }
      for (let index = first; index <= last; index += 1) context.lineTo(x(index), y(index, 1));
      for (let index = last; index >= first; index -= 1) context.lineTo(x(index), y(index, -1));
      context.fill();
      first = last;
    }
  }
  context.restore();
}

/** Draws a tick above the lines for each event. */
export function drawEvents(plot: uPlot, events: readonly number[], colours: Colours) {
  const { ctx: context, bbox } = plot;
  const pixel = uPlot.pxRatio;
  context.save();
  context.fillStyle = colours.quiet;
  for (const event of events)
    context.fillRect(plot.valToPos(event, 'x', true) - pixel / 2, bbox.top - 8 * pixel, pixel, 6 * pixel);
  context.restore();
}

/** Draws means of buckets that are incomplete or cut as rings that no line connects. */
export function drawLoose(
  plot: uPlot,
  middles: readonly number[],
  lines: readonly Line[],
  colour: (line: Line) => string,
  paper: string,
) {
  const { ctx: context } = plot;
  context.save();
  context.lineWidth = uPlot.pxRatio;
  context.fillStyle = paper;
  const apart = plot.bbox.width / middles.length / uPlot.pxRatio;
  const radius = Math.min(2.5, Math.max(0.8, apart / 2)) * uPlot.pxRatio;
  for (const line of lines) {
    context.strokeStyle = colour(line);
    for (const [index, value] of line.loose.entries()) {
      if (value === null) continue;
      const at = plot.valToPos(middles[index]!, 'x', true);
      context.beginPath();
      context.arc(at, plot.valToPos(value, 'y', true), radius, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
    }
  }
  context.restore();
}

/** Marks the points that changed since: a large dot then, a small one now, and what lies between. */
export function drawChanges(
  plot: uPlot,
  middles: readonly number[],
  chart: Chart,
  lines: readonly Line[],
  colour: (line: Line) => string,
) {
  const { ctx: context } = plot;
  context.save();
  context.lineWidth = uPlot.pxRatio;
  for (const [place, line] of chart.lines.entries()) {
    if (!lines.includes(line)) continue;
    context.strokeStyle = context.fillStyle = colour(line);
    for (const [index, middle] of middles.entries()) {
      if (changeAt(chart, place, index) !== 'changed') continue;
      const at = plot.valToPos(middle, 'x', true);
      context.beginPath();
      for (const [mean, radius] of [
        [meanAt(line, index), 3.5],
        [meanAt(chart.now!.lines[place]!, index), 2],
      ] as const) {
        if (mean === null) continue;
        const level = plot.valToPos(mean, 'y', true);
        context.lineTo(at, level);
        context.moveTo(at, level);
        context.arc(at, level, radius * uPlot.pxRatio, 0, 2 * Math.PI);
        context.moveTo(at, level);
      }
      context.fill();
      context.stroke();
    }
  }
  context.restore();
}

/** Draws a label at the end of each line. Moves labels apart that would overlap. */
export function drawLabels(plot: uPlot, lines: readonly Line[], colour: (line: Line) => string) {
  const { ctx: context, bbox } = plot;
  const height = 14 * uPlot.pxRatio;
  const labels = lines
    .flatMap((line) => {
      const last = line.values.findLast((value) => typeof value === 'number');
      const isFirstOfSeries = lines.find(({ series }) => series === line.series) === line;
      if (typeof last !== 'number' || !isFirstOfSeries) return [];
      return [{ line, at: plot.valToPos(last, 'y', true) }];
    })
    .toSorted((a, b) => a.at - b.at);
  for (const [index, label] of labels.entries())
    label.at = Math.max(label.at, (labels[index - 1]?.at ?? bbox.top - height / 2) + height);
  for (let index = labels.length - 1; index >= 0; index -= 1)
    labels[index]!.at = Math.min(
      labels[index]!.at,
      (labels[index + 1]?.at ?? bbox.top + bbox.height + height / 2) - height,
    );
  context.save();
  context.font = font(12 * uPlot.pxRatio);
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  for (const { line, at } of labels) {
    context.fillStyle = colour(line);
    context.fillText(line.series.title, bbox.left + bbox.width + 6 * uPlot.pxRatio, at);
  }
  context.restore();
}
