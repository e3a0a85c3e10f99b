import { clearedCanvas, font } from './canvas.ts';
import { coloursOf, hatching } from './colours.ts';
import { canvasColours } from './diverging.ts';
import { labelsOf } from './time-axis.ts';

export interface Cell {
  readonly mean: number | null;
  readonly headlines: number;
  /** Whether all of its series and days are covered. */
  readonly state: 'covered' | 'incomplete' | 'missing';
}

export interface Heat {
  /** Rows of cells; `undefined` for a heading. */
  readonly rows: readonly (readonly Cell[] | undefined)[];
  readonly starts: readonly number[];
  /** The score with the full colour. */
  readonly limit: number;
  /** How many headlines give a cell its full strength. */
  readonly full: number;
}

export const rowHeight = 18;
export const headHeight = 22;

/** Returns a column's left edge, in CSS pixels. */
export function leftOf(column: number, columns: number, width: number): number {
  return Math.round((column * width) / columns);
}

/** Draws the cells. Their colour is the mean, their strength the number of headlines. */
export function drawHeat(
  canvas: HTMLCanvasElement,
  { rows, starts, limit, full }: Heat,
  width: number,
): void {
  const context = clearedCanvas(canvas, width, headHeight + rows.length * rowHeight);
  const { quiet, never, line } = coloursOf(['quiet', 'never', 'line']);
  const colour = canvasColours(limit);
  const pattern = hatching(context, quiet, 6 * devicePixelRatio);
  drawMonths(context, starts, width, quiet, line);
  const gap = width / starts.length > 6 ? 1 : 0;
  for (const [index, cells] of rows.entries()) {
    const top = headHeight + index * rowHeight;
    for (const [column, cell] of cells?.entries() ?? []) {
      const left = leftOf(column, starts.length, width);
      const size = [leftOf(column + 1, starts.length, width) - left - gap, rowHeight - 1] as const;
      if (cell.mean !== null) {
        context.globalAlpha = 0.3 + 0.7 * Math.min(1, Math.sqrt(cell.headlines / full));
        context.fillStyle = colour(cell.mean);
        context.fillRect(left, top, ...size);
        context.globalAlpha = 1;
      } else if (cell.state !== 'covered') {
        context.fillStyle = never;
        context.fillRect(left, top, ...size);
      }
      if (cell.state === 'covered') continue;
      // Darker than any cell: a pale line would be lost on a pale cell.
      context.globalAlpha = cell.mean === null ? 0.4 : 0.75;
      context.fillStyle = pattern;
      context.fillRect(left, top, ...size);
      context.globalAlpha = 1;
    }
  }
}

/** Draws months or years above the columns in which they begin, as many as fit. */
function drawMonths(
  context: CanvasRenderingContext2D,
  starts: readonly number[],
  width: number,
  colour: string,
  line: string,
): void {
  context.font = font(12);
  context.textBaseline = 'middle';
  const local = starts.map((start) => {
    const date = new Date(start);
    return new Date(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  });
  const months = local.flatMap((date, column) =>
    column === 0 || date.getMonth() !== local[column - 1]!.getMonth() ? [{ date, column }] : [],
  );
  const perLabel = [1, 2, 3, 6, 12, 24, 60].find((step) => (width / months.length) * step > 52) ?? 120;
  const shown = months.filter(({ date }) => (date.getFullYear() * 12 + date.getMonth()) % perLabel === 0);
  const labels = labelsOf(
    shown.map(({ date }) => date),
    perLabel * 30.5 * 86_400_000,
  );
  for (const [index, { column }] of shown.entries()) {
    const left = leftOf(column, starts.length, width);
    const label = labels[index]!.replace('\n', ' ');
    context.fillStyle = line;
    context.fillRect(left, 4, 1, headHeight - 6);
    context.fillStyle = colour;
    const next = shown[index + 1];
    const right = next ? leftOf(next.column, starts.length, width) : width;
    if (left + context.measureText(label).width + 4 < right)
      context.fillText(label, left + 4, headHeight / 2);
  }
}
