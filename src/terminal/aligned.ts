import { columnsOf, padEnd, padStart, printable, widest } from './text.ts';

export interface AlignedColumn {
  readonly name: string;
  /** True for numbers. */
  readonly isRight: boolean;
}

/**
 * A result as psql prints it in its aligned format (`print_aligned_text` in its source, with border 1): a value with line
 * breaks continues on the next line, after a `+`.
 */
export function aligned(
  columns: readonly AlignedColumn[],
  rows: readonly (readonly (string | null)[])[],
): string {
  const head = columns.map(({ name }) => linesOf(name));
  const body = rows.map((row) => row.map((value) => linesOf(value ?? '')));
  const widths = columns.map((_, column) => widest([head, ...body].flatMap((cells) => cells[column]!)));
  return [
    ...headLines(head, widths),
    columns.length === 0 ? '--' : widths.map((width) => '-'.repeat(width + 2)).join('+'),
    ...(columns.length === 0 ? [] : body.flatMap((cells) => rowLines(cells, columns, widths))),
    `(${rows.length} ${rows.length === 1 ? 'row' : 'rows'})\n\n`,
  ].join('\n');
}

function headLines(head: readonly (readonly string[])[], widths: readonly number[]): string[] {
  const height = Math.max(0, ...head.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) =>
    head
      .map((lines, column) => {
        const text = lines[at] ?? '';
        const blank = widths[column]! - columnsOf(text);
        const centered = padEnd(' '.repeat(Math.floor(blank / 2)) + text, widths[column]!);
        return ` ${centered}${at + 1 < lines.length ? '+' : ' '}`;
      })
      .join('|'),
  );
}

function rowLines(
  cells: readonly (readonly string[])[],
  columns: readonly AlignedColumn[],
  widths: readonly number[],
): string[] {
  const height = Math.max(...cells.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) =>
    cells
      .map((lines, column) => {
        const isLast = column === cells.length - 1;
        const goesOn = at + 1 < lines.length;
        const text = lines[at];
        if (text === undefined) return isLast ? ' ' : ' '.repeat(widths[column]! + 2);
        const isRight = columns[column]!.isRight;
        const padded = isRight ? padStart(text, widths[column]!) : padEnd(text, widths[column]!);
        const shown = isRight || goesOn || !isLast ? padded : text;
        return ` ${shown}${goesOn ? '+' : isLast ? '' : ' '}`;
      })
      .join('|'),
  );
}

/** As `pg_wcsformat`: what cannot be shown is written out. */
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
