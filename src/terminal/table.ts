import { columnsOf, oneLine, padEnd, padStart, shortened, wholeWords, widest } from './text.ts';

export type Cell = string | number | null;

/**
 * Aligns rows in columns without frames. Omits empty columns, and aligns columns of numbers to the right.
 */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const columns = head.flatMap((name, at) => {
    const cells = rows.map((row) => row[at] ?? null);
    if (cells.every((cell) => cell === null || cell === '')) return [];
    const texts = [name, ...cells.map(textOf)];
    const width = widest(texts);
    const pad = isNumeric(cells) ? padStart : padEnd;
    return [texts.map((text) => pad(text, width))];
  });
  const lines = [head, ...rows].map((_, line) => columns.map((texts) => texts[line]!).join('  '));
  return columns.length === 0 ? '' : lines.map((line) => line.trimEnd()).join('\n');
}

function isNumeric(cells: readonly Cell[]): boolean {
  return cells.every((cell) => typeof cell === 'number' || /^[-+]?[\d,.]+%?$|^$/.test(cell ?? ''));
}

function textOf(cell: Cell): string {
  return typeof cell === 'number' ? number(cell) : oneLine(cell ?? '');
}

/** Writes names and values, one pair a line; omits pairs without a value. */
export function facts(pairs: readonly (readonly [name: string, value: Cell | undefined])[]): string {
  const shown = pairs.flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[oneLine(name), textOf(value)] as const],
  );
  const width = widest(shown.map(([name]) => name));
  return shown.map(([name, value]) => `${padEnd(name, width)}  ${value}`).join('\n');
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
export function minute(instant: Date): string {
  return instant.toISOString().slice(0, 16).replace('T', ' ');
}

/** Returns the suggested next command, for the line below a result. */
export function nextStep(command: string): string {
  return `\nNext: gmsi ${command}\n`;
}

/** A part of a line; if not all parts fit, the one with the lowest rank is dropped first. */
export type LinePart = readonly [rank: number, text: string];

/** Returns the parts that fit into a line, in their order; parts without a text do not count. */
export function fittingParts(parts: readonly LinePart[], columns: number, between = '  '): string {
  let kept = parts.filter(([, text]) => text !== '');
  const line = () => kept.map(([, text]) => text).join(between);
  while (kept.length > 1 && columnsOf(line()) > columns) {
    const least = Math.min(...kept.map(([rank]) => rank));
    kept = kept.filter(([rank]) => rank !== least);
  }
  return wholeWords(line(), columns);
}

/** Fits a table to the terminal: drops the columns in `droppable` one by one until its lines fit. */
export function fittingTable(
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  columns: number,
  droppable: readonly string[],
): string {
  const text = table(head, rows);
  const [first, ...others] = droppable;
  if (first === undefined || text.split('\n').every((line) => columnsOf(line) <= columns)) return text;
  const isKept = (_: unknown, column: number) => head[column] !== first;
  return fittingTable(
    head.filter(isKept),
    rows.map((row) => row.filter(isKept)),
    columns,
    others,
  );
}

/** Returns a job's name in a line of `columns`: at most a quarter of them, because the rest of the line matters more. */
export function shortenedName(name: string, columns: number): string {
  return shortened(name, Math.max(8, Math.floor(columns / 4)));
}
