import { output } from './print.ts';
import { command, type Style, styled } from './style.ts';
import { folded, oneLine, padEnd, padStart, widest } from './text.ts';

/** A text in a style. */
export interface StyledCell {
  readonly style: Style;
  readonly text: string;
}

export type Cell = string | number | null | StyledCell;

/** A column of a table that is shown. */
interface Column {
  readonly name: string;
  readonly cells: readonly Cell[];
  /** The texts of the head and the cells. */
  readonly texts: readonly string[];
  readonly isNumeric: boolean;
  readonly width: number;
}

/** Words are broken only to keep to the width, and no column of a table gets narrower than this. */
const narrowest = 8;

/**
 * Aligns rows in columns without frames. Omits empty columns, and aligns columns of numbers to the right. If its lines do not
 * fit, drops the least columns, and then folds texts.
 * @param least the names of columns that may be dropped, the least important first
 * @param columns the width to fit; by default the terminal's, and none elsewhere
 */
export function table(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  { least = [], columns = terminalColumns() }: { least?: readonly string[]; columns?: number } = {},
): string {
  let kept = head.flatMap((name, at) => columnOf(name, rows, at));
  for (const name of least) {
    if (lineWidth(kept.map(({ width }) => width)) <= columns) break;
    kept = kept.filter((column) => column.name !== name);
  }
  const widths = foldedWidths(kept, columns);
  const lines = [head, ...rows].flatMap((_, row) => {
    const cells = kept.map(({ texts }, at) => folded(texts[row]!, widths[at]!));
    const height = Math.max(0, ...cells.map(({ length }) => length));
    return Array.from({ length: height }, (_, line) => {
      const padded = kept.map(({ isNumeric, cells: of }, at) => {
        const text = cells[at]![line] ?? '';
        const shown = row > 0 ? inStyleOf(of[row - 1]!, text) : text;
        return (isNumeric ? padStart : padEnd)(shown, widths[at]!);
      });
      const text = padded.join('  ').trimEnd();
      return row === 0 ? styled('dim', text) : text;
    });
  });
  return lines.join('\n');
}

/** A property of each row, or what a function makes of it, by the heads of the columns. */
export type Columns<Row> = Readonly<Record<string, keyof Row | ((row: Row) => Cell)>>;

/** Aligns rows in columns, as `table` does. */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: Columns<Row>,
  options: Parameters<typeof table>[2] = {},
): string {
  const cellOf = (row: Row, cell: Columns<Row>[string]) =>
    typeof cell === 'function' ? cell(row) : (row[cell] as Cell);
  const cells = rows.map((row) => Object.values(columns).map((cell) => cellOf(row, cell)));
  return table(Object.keys(columns), cells, options);
}

function columnOf(name: string, rows: readonly (readonly Cell[])[], at: number): Column[] {
  const cells = rows.map((row) => row[at] ?? null);
  if (cells.every((cell) => cell === null || cell === '')) return [];
  const texts = [name, ...cells.map(textOf)];
  return [{ name, cells, texts, isNumeric: isNumeric(cells), width: widest(texts) }];
}

/** Returns the widths of columns: the widest text is folded first; words are broken last, the first column's at the very last. */
function foldedWidths(columns: readonly Column[], most: number): number[] {
  const widths = columns.map(({ width }) => width);
  const words = columns.map(({ texts }) => widest(texts.flatMap((text) => text.split(' '))));
  const firstWord = words.map((width, at) => (at === 0 ? width : 0));
  for (const least of [words, firstWord, []]) {
    for (;;) {
      const isFoldable = (width: number, at: number) =>
        !columns[at]!.isNumeric && width > Math.max(least[at] ?? 0, narrowest);
      const foldable = widths.map((width, at) => (isFoldable(width, at) ? width : 0));
      const longest = Math.max(...foldable, 0);
      if (lineWidth(widths) <= most) return widths;
      if (longest === 0) break;
      widths[foldable.indexOf(longest)]!--;
    }
  }
  return widths;
}

/** The width of a line: its columns, with two blanks between them. */
function lineWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + 2, -2);
}

function terminalColumns(): number {
  return output.isTTY ? output.columns : Number.POSITIVE_INFINITY;
}

function isNumeric(cells: readonly Cell[]): boolean {
  return cells.every((cell) => typeof cell === 'number' || /^[-+]?[\d,.]+%?$|^$/.test(textOf(cell)));
}

function textOf(cell: Cell): string {
  if (typeof cell === 'number') return number(cell);
  return oneLine(typeof cell === 'object' ? (cell?.text ?? '') : cell);
}

function inStyleOf(cell: Cell, text: string): string {
  return typeof cell === 'object' && cell !== null ? styled(cell.style, text) : text;
}

/** Writes names and values, one pair a line; omits pairs without a value. Printing wraps lines that do not fit. */
export function facts(pairs: readonly (readonly [name: string, value: Cell | undefined])[]): string {
  const shown = pairs.flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[oneLine(name), value] as const],
  );
  const width = widest(shown.map(([name]) => name));
  return shown
    .map(([name, value]) => `${padEnd(styled('dim', name), width)}  ${inStyleOf(value, textOf(value))}`)
    .join('\n');
}

/** `1,234,567`, or up to three decimals. */
export function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 3 });
}

/** `1 window`, `2 windows`, `1,000 windows`. */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${number(many)} ${many === 1 ? one : more}`;
}

/** Returns a share in percent; 100% only if nothing is missing. */
export function share(part: number, whole: number): string {
  return part === whole ? '100%' : `${(Math.floor((part / whole) * 1000) / 10).toFixed(1)}%`;
}

/** `47 s`, `3 min 20 s`, `2 h 5 min`, `3 days 4 h`. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 48 * 3600) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} days ${Math.floor((whole % 86_400) / 3600)} h`;
}

/** `2026-11-22 14:05`, in UTC. */
export function minute(instant: Date | string | number): string {
  return new Date(instant).toISOString().slice(0, 16).replace('T', ' ');
}

/** Returns days from the first to the last: `2026-11-22 to 2026-11-24`, or one day. */
export function daysFrom(first: string, last: string): string {
  return first === last ? first : `${first} to ${last}`;
}

/** `45 of 60 requests`, or more than the limit, because it was lowered, or others share the key. */
export function ofLimit(used: number, limit: number): string {
  return used > limit
    ? `${count(used, 'request')} (the limit is ${number(limit)})`
    : `${number(used)} of ${count(limit, 'request')}`;
}

/** Returns a command as a person types it who has started this program in the same way: by its name, or by npx. */
export function asTyped(command: string): string {
  const isOnPath = !/[\\/]node_modules[\\/]\.bin[\\/]/.test(process.argv[1] ?? '');
  return `${isOnPath ? 'gmsi' : 'npx gmsi'} ${command}`;
}

const commandNames =
  'init|demo|doctor|lookups|plan|backfill|sync|import|status|check|why|serve|' +
  'psql|budget|job|snapshot|export|work|sandbox|migrate|completion|complete';
const namedCommand = new RegExp(`(?<!npx )\\bgmsi (?=(?:${commandNames})\\b)`, 'g');

/** Returns a sentence with its commands as this person types them. Alerts and logs, which others read, say \`gmsi …\`. */
export function sayingAsTyped(sentence: string): string {
  return sentence.replace(namedCommand, asTyped(''));
}

/** Returns the suggested next command, for the line below a result. */
export function nextStep(typed: string): string {
  return `\n${styled('dim', 'Next:')} ${command(asTyped(typed))}\n`;
}

/** Returns `312 drained, 3 failed`, for example; zeros only if there is nothing else. */
export function counts(...parts: readonly (readonly [many: number, what: string])[]): string {
  return parts
    .filter(([many], index) => many > 0 || (index === 0 && parts.every(([other]) => other === 0)))
    .map(([many, what]) => `${number(many)} ${what}`)
    .join(', ');
}
