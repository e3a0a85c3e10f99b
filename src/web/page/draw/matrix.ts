import { clearedCanvas, coloursOf, fitted } from './canvas.ts';
import type { Line, Shown } from './cells.ts';
import { states } from './states.ts';

/** Where things are, in CSS pixels. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** Where the first cell begins. */
  readonly left: number;
  readonly top: number;
  /** From one cell to the next. */
  readonly across: number;
  readonly down: number;
  /** Where each column begins. */
  readonly columns: readonly number[];
  readonly gap: number;
  /** Whether rows show the name beside the code. */
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

const font = (size: number) =>
  `${size}px system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif`;
const groupHead = 22;
const betweenGroups = 5;
const uprightTitle = 150;

/** Fits the cells into a width and, if they are large enough then, a height. */
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
    ...{ width: Math.ceil(x), height: top + down * rows.length + 1, left, top, across, down },
    ...{ columns: starts, gap: across >= 5 ? 1 : 0.5, hasNames, titles, groups },
  };
}

/** The cell at a point; `undefined` between and beside cells. */
export function cellAt({ left, top, across, down, columns, height }: Layout, x: number, y: number) {
  if (x < left || y < top || y >= height - 1) return undefined;
  const column = columns.findLastIndex((start) => start <= x);
  const row = Math.floor((y - top) / down);
  return column >= 0 && x < columns[column]! + across ? { row, column } : undefined;
}

/** Draws all cells. Each state of all cells is drawn at once: changing the colour is what costs. */
export function drawMatrix(canvas: HTMLCanvasElement, shown: Shown, layout: Layout): void {
  const began = performance.now();
  const colours = coloursOf([...states, 'never', 'ink', 'quiet', 'paper']);
  const { rows, columns, counts, cells } = shown;
  const { top, across, down, gap } = layout;
  const context = clearedCanvas(canvas, layout.width, layout.height);
  const [wide, high] = [across - gap, down - 1];

  // Everything begins as never asked for.
  context.fillStyle = colours.never;
  for (let row = 0; row < rows.length; row++)
    for (const x of layout.columns) context.fillRect(x, top + row * down, wide, high);

  const parts: number[][] = states.map(() => []);
  const marks: number[] = [];
  const failed = states.indexOf('failed');
  for (let row = 0, at = 0; row < rows.length; row++)
    for (let column = 0; column < columns.length; column++, at += states.length) {
      const all = columns[column]!.of.length * cells.days;
      let x = layout.columns[column]!;
      const end = x + wide;
      let later = 0;
      for (let state = 1; state < states.length; state++) later += Number(counts[at + state]! > 0);
      for (let state = 0; state < states.length; state++) {
        const days = counts[at + state]!;
        if (days === 0) continue;
        // However small a share is, it can be seen: a failed week in ten years too.
        const least = Math.min(2, wide / 4);
        if (state > 0) later -= 1;
        const width = Math.min(Math.max((days / all) * wide, least), end - x - later * least);
        parts[state]!.push(x, top + row * down, width);
        x += width;
      }
      if (counts[at + failed]! > 0) marks.push(layout.columns[column]!, top + row * down);
    }
  for (const [index, state] of states.entries()) {
    context.fillStyle = colours[state];
    const rects = parts[index]!;
    for (let at = 0; at < rects.length; at += 3)
      context.fillRect(rects[at]!, rects[at + 1]!, rects[at + 2]!, high);
  }
  context.strokeStyle = colours.failed;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let at = 0; at < marks.length; at += 2)
    context.rect(marks[at]! + 0.25, marks[at + 1]! + 0.25, wide - 0.5, high - 0.5);
  context.stroke();
  drawTitles(context, shown, layout, colours);
  performance.measure('matrix', { start: began });
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
      // The head of a folded group has its name.
      const lines = inTwoLines(context, isFolded ? `${of.length} together` : title, across - 4);
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

/** The text in one line or two, broken between words or behind a hyphen. */
function inTwoLines(context: CanvasRenderingContext2D, text: string, width: number): string[] {
  const parts = text.split(/(?<=[ -])/);
  let count = parts.length;
  while (count > 1 && context.measureText(parts.slice(0, count).join('')).width > width) count -= 1;
  return [parts.slice(0, count), parts.slice(count)]
    .map((line) => fitted(context, line.join('').trim(), width))
    .filter(Boolean);
}
