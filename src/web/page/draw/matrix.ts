import { clearedCanvas, fitted, font } from './canvas.ts';
import type { Line, Shown } from './cells.ts';
import { coloursOf } from './colours.ts';
import { type State, states } from './states.ts';

/** Where things are, in CSS pixels. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Where the first cell begins. */
  readonly left: number;
  readonly top: number;
  /** Distance from one cell to the next. */
  readonly across: number;
  readonly down: number;
  /** Where each column begins. */
  readonly columns: readonly number[];
  readonly gap: number;
  /** True if rows show the name beside the code. */
  readonly hasNames: boolean;
  readonly titles: 'none' | 'level' | 'upright';
  readonly groups: readonly Group[];
}

/** Columns with a common head. */
export interface Group {
  readonly title: string;
  readonly isFolded: boolean;
  readonly left: number;
  readonly width: number;
}

const groupHead = 22;
const betweenGroups = 5;
const uprightTitle = 150;

/** Fits the cells into a width and, if they stay large enough, a height. */
export function layoutOf({ rows, columns }: Shown, width: number, height: number): Layout {
  const context = document.createElement('canvas').getContext('2d')!;
  context.font = font(11);
  const widest = (texts: readonly string[]) =>
    Math.ceil(Math.max(0, ...texts.map((text) => context.measureText(text).width)));
  const hasNames = width >= 700 && rows.length <= 40;
  const left = Math.min(widest(rows.map((row) => labelOf(row, hasNames))) + 10, hasNames ? 190 : 110);
  const hasGroups = columns.some(({ group }) => group !== '');
  const breaks = hasGroups
    ? columns.filter(({ group }, index) => index > 0 && group !== columns[index - 1]!.group).length
    : 0;
  const room = width - left - breaks * betweenGroups - 1;
  const across = Math.max(2, Math.min(200, room / Math.max(1, columns.length)));
  const longest = widest(columns.map(({ title }) => title));
  const titles = across >= Math.min(68, longest + 8) ? 'level' : across >= 9 ? 'upright' : 'none';
  const head = {
    level: longest + 8 > across ? 36 : 20,
    upright: Math.min(longest, uprightTitle) + 8,
    none: 2,
  }[titles];
  const top = (hasGroups ? groupHead : 0) + head;
  const down = Math.max(11, Math.min(22, Math.floor((height - top) / Math.max(1, rows.length))));

  let x = left;
  const starts = columns.map(({ group }, index) => {
    if (index > 0 && hasGroups && group !== columns[index - 1]!.group) x += betweenGroups;
    const start = x;
    x += across;
    return start;
  });
  const groups: { -readonly [Name in keyof Group]: Group[Name] }[] = [];
  for (const [index, { group, isFolded }] of columns.entries()) {
    if (!hasGroups) break;
    const last = groups.at(-1);
    if (last?.title === group) last.width += across;
    else groups.push({ title: group, isFolded, left: starts[index]!, width: across });
  }
  return {
    width: Math.ceil(x),
    height: top + down * rows.length + 1,
    left,
    top,
    across,
    down,
    columns: starts,
    gap: across >= 5 ? 1 : 0.5,
    hasNames,
    titles,
    groups,
  };
}

/** Returns the cell at a point; `undefined` between and beside cells. */
export function cellAt({ left, top, across, down, columns, height }: Layout, x: number, y: number) {
  if (x < left || y < top || y >= height - 1) return undefined;
  const column = columns.findLastIndex((start) => start <= x);
  const row = Math.floor((y - top) / down);
  return column >= 0 && x < columns[column]! + across ? { row, column } : undefined;
}

/** Draws all cells and their titles. */
export function drawMatrix(canvas: HTMLCanvasElement, shown: Shown, layout: Layout): void {
  const began = performance.now();
  const colours = coloursOf([...states, 'never', 'ink', 'quiet']);
  const context = clearedCanvas(canvas, layout.width, layout.height);
  drawCells(context, shown, layout, colours);
  drawTitles(context, shown, layout, colours);
  performance.measure('matrix', { start: began });
}

/**
 * Draws the cells. Writes two lines of pixels for each row, one through its cells and one along their edges, and stretches them
 * to its height. Tens of thousands of calls of `fillRect` would take a tenth of a second, and so would writing every pixel of a
 * sharp screen.
 */
function drawCells(
  context: CanvasRenderingContext2D,
  { rows, columns, counts, cells }: Shown,
  { width: cssWidth, top, across, down, gap, columns: starts }: Layout,
  colours: Readonly<Record<State | 'never', string>>,
): void {
  const { width } = context.canvas;
  const ratio = width / cssWidth;
  const lines = document.createElement('canvas');
  lines.width = width;
  lines.height = Math.max(1, 2 * rows.length);
  const linesContext = lines.getContext('2d')!;
  const image = linesContext.createImageData(lines.width, lines.height);
  const pixels = new Uint32Array(image.data.buffer);
  const never = pixelOf(colours.never);
  const parts = states.map((state) => pixelOf(colours[state]));
  const [covered, settling, failed] = (['covered', 'settling', 'failed'] as const).map((state) =>
    states.indexOf(state),
  ) as [number, number, number];
  const space = Math.max(1, Math.round(gap * ratio));
  const stroke = Math.max(1, Math.round(Math.min(1.5, across / 8) * ratio));
  const lefts = starts.map((x) => Math.round(x * ratio));
  const wides = starts.map((x, column) => Math.round((x + across) * ratio) - lefts[column]! - space);
  const hasFailed = rows.map(() => false);
  for (let row = 0; row < rows.length; row++) {
    const middle = 2 * row * width;
    const edge = middle + width;
    const fill = (line: number, from: number, to: number, colour: number) =>
      pixels.fill(colour, line + from, line + to);
    for (let column = 0; column < columns.length; column++) {
      const at = (row * columns.length + column) * states.length;
      const all = columns[column]!.of.length * cells.days;
      const wide = wides[column]!;
      const end = lefts[column]! + wide;
      const least = Math.min(Math.round(2 * ratio), wide >> 2);
      // A state with a small share, such as a failed week in ten years, is visible. A few settling days beside covered ones need
      // not be.
      const hasLeast = (state: number) =>
        counts[at + state]! > 0 && (state !== settling || counts[at + covered] === 0);
      let others = 0;
      for (let state = 0; state < states.length; state++) others += Number(hasLeast(state));
      let x = lefts[column]!;
      let days = 0;
      for (let state = 0; state < states.length; state++) {
        if (counts[at + state] === 0) continue;
        days += counts[at + state]!;
        const wanted = lefts[column]! + Math.round((days / all) * wide);
        if (hasLeast(state)) others -= 1;
        const until = Math.min(Math.max(wanted, hasLeast(state) ? x + least : x), end - others * least);
        fill(middle, x, until, parts[state]!);
        x = Math.max(x, until);
      }
      fill(middle, x, end, never);
    }
    pixels.copyWithin(edge, middle, edge);
    for (let column = 0; column < columns.length; column++) {
      if (counts[(row * columns.length + column) * states.length + failed]! === 0) continue;
      hasFailed[row] = true;
      const [from, to, mark] = [lefts[column]!, lefts[column]! + wides[column]!, parts[failed]!];
      fill(edge, from, to, mark);
      fill(middle, from, from + stroke, mark);
      fill(middle, to - stroke, to, mark);
    }
  }
  linesContext.putImageData(image, 0, 0);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.imageSmoothingEnabled = false;
  const stretch = (line: number, y: number, high: number) =>
    context.drawImage(lines, 0, line, width, 1, 0, y, width, high);
  for (const [row, isMarked] of hasFailed.entries()) {
    const y = Math.round(top * ratio) + Math.round(row * down * ratio);
    const high =
      Math.round((row + 1) * down * ratio) - Math.round(row * down * ratio) - Math.max(1, Math.round(ratio));
    stretch(2 * row, y, high);
    if (!isMarked) continue;
    stretch(2 * row + 1, y, stroke);
    stretch(2 * row + 1, y + high - stroke, stroke);
  }
  context.restore();
}

/** Returns the bytes of a colour such as `rgb(60, 143, 134)`. */
function pixelOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = colour.match(/\d+/g)?.map(Number) ?? [];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function labelOf({ code, name }: Line, hasNames: boolean): string {
  return [code || 'all', hasNames && name].filter(Boolean).join('  ');
}

function drawTitles(
  context: CanvasRenderingContext2D,
  { rows, columns }: Shown,
  { left, top, across, down, columns: starts, titles, hasNames }: Layout,
  colours: { readonly quiet: string; readonly ink: string },
): void {
  context.fillStyle = colours.quiet;
  context.font = font(Math.min(11, down));
  context.textBaseline = 'middle';
  for (const [row, line] of rows.entries())
    context.fillText(fitted(context, labelOf(line, hasNames), left - 4), 0, top + row * down + down / 2);
  if (titles === 'none') return;
  context.font = font(Math.min(11, across + 1));
  for (const [column, { title, isFolded, of }] of columns.entries()) {
    context.fillStyle = isFolded ? colours.ink : colours.quiet;
    const x = starts[column]!;
    if (titles === 'level') {
      // A folded group has its name in the head.
      const lines = inTwoLines(
        context,
        isFolded ? `${of.length} ${of.length === 1 ? 'topic' : 'topics'}` : title,
        across - 4,
      );
      for (const [index, line] of lines.toReversed().entries())
        context.fillText(line, x, top - 9 - index * 13);
      continue;
    }
    context.save();
    context.translate(x + across / 2, top - 4);
    context.rotate(-Math.PI / 2);
    context.fillText(fitted(context, title, uprightTitle), 0, 0);
    context.restore();
  }
}

/** Breaks a text into one or two lines, between words or after a hyphen. */
function inTwoLines(context: CanvasRenderingContext2D, text: string, width: number): string[] {
  const parts = text.split(/(?<=[ -])/);
  let count = parts.length;
  while (count > 1 && context.measureText(parts.slice(0, count).join('')).width > width) count -= 1;
  return [parts.slice(0, count), parts.slice(count)]
    .map((line) => fitted(context, line.join('').trim(), width))
    .filter(Boolean);
}
