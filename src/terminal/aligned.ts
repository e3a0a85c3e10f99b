import { columnsOf, padEnd, padStart, printable, widest } from './text.ts';

export interface AlignedColumn {
  readonly name: string;
  /** True for numbers. */
  readonly isRight: boolean;
}

/**
 * Returns a result as psql prints it in its aligned format (`print_aligned_text` in its source, with border 1): a value with
 * line breaks continues on the next line, after a `+`.
 */
export function aligned(
  columns: readonly AlignedColumn[],
  rows: readonly (readonly (string | null)[])[],
): string {
  const head = columns.map(({ name }) => linesOf(name));
  const body = rows.map((row) => row.map((value) => linesOf(value ?? '')));
  const widths = columns.map((_, column) => widest([head, ...body].flatMap((cells) => cells[column]!)));
  const showHead = (text = '', column: number, goesOn: boolean) => {
    const blank = widths[column]! - columnsOf(text);
    const centered = padEnd(' '.repeat(Math.floor(blank / 2)) + text, widths[column]!);
    return ` ${centered}${goesOn ? '+' : ' '}`;
  };
  const showCell = (text: string | undefined, column: number, goesOn: boolean) => {
    const isLast = column === columns.length - 1;
    if (text === undefined) return isLast ? ' ' : ' '.repeat(widths[column]! + 2);
    const { isRight } = columns[column]!;
    const padded = isRight ? padStart(text, widths[column]!) : padEnd(text, widths[column]!);
    const shown = isRight || goesOn || !isLast ? padded : text;
    return ` ${shown}${goesOn ? '+' : isLast ? '' : ' '}`;
  };
  return [
    ...stacked(head, showHead),
    columns.length === 0 ? '--' : widths.map((width) => '-'.repeat(width + 2)).join('+'),
    ...body.flatMap((cells) => stacked(cells, showCell)),
    `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n\n`,
  ].join('\n');
}

/**
 * Returns the lines of a row, as many as its tallest cell has. @param show a line of a cell; `undefined` below its last one
 */
function stacked(
  cells: readonly (readonly string[])[],
  show: (text: string | undefined, column: number, goesOn: boolean) => string,
): string[] {
  const height = Math.max(0, ...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) =>
    cells.map((lines, column) => show(lines[at], column, at + 1 < lines.length)).join('|'),
  );
}

/** Does the same as `pg_wcsformat`: escapes characters that cannot be shown. */
function linesOf(value: string): string[] {
  return value.split('\n').map((line) => {
    let shown = '';
    for (const character of line) {
      const code = character.codePointAt(0)!;
      if (character === '\t') shown += ' '.repeat(8 - (columnsOf(shown) % 8));
      else if (character === '\r') shown += '\\r';
      else if (code < 0x20 || code === 0x7f) shown += `\\x${hex(code, 2)}`;
      else if (code >= 0x80 && code < 0xa0) shown += `\\u${hex(code, 4)}`;
      else shown += printable(character);
    }
    return shown;
  });
}

function hex(code: number, digits: number): string {
  return code.toString(16).toUpperCase().padStart(digits, '0');
}
