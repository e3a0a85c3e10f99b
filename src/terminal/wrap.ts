import { styledWord } from './style.ts';
import { columnsOf } from './text.ts';

/**
 * Breaks lines that are wider than a terminal at their spaces, because the terminal would break words. Further lines are
 * indented as far as the text of the first one. A word that fits into no line and a command stay whole, to be copied.
 */
export function wrapped(text: string, columns: number): string {
  return text
    .split('\n')
    .flatMap((line) => (columnsOf(line) <= columns ? line : wrappedLine(line, columns)))
    .join('\n');
}

function wrappedLine(line: string, columns: number): string[] {
  const indent = ' '.repeat(indentOf(line, columns));
  const lines: string[] = [];
  let current = '';
  for (const [spaces, word] of wordsOf(line)) {
    const fits = columnsOf(current + spaces + word) <= columns;
    const fitsBelow = columnsOf(indent + word) <= columns;
    if (current === '' || fits || !fitsBelow) current += spaces + word;
    else {
      lines.push(current);
      current = indent + word;
    }
  }
  return [...lines, current];
}

/** Returns each word with the spaces before it. */
function wordsOf(line: string) {
  return [...line.matchAll(styledWord)].map(([, spaces = '', word = '']) => [spaces, word] as const);
}

/** After the last gap between columns, or after the arrow of a hint, unless this leaves less than half of the line. */
function indentOf(line: string, columns: number): number {
  const places = [...line.matchAll(/^ *→ |^ +| {2,}/g)].map(
    ({ index, 0: gap }) => columnsOf(line.slice(0, index)) + gap.length,
  );
  return Math.max(0, ...places.filter((place) => place <= columns / 2));
}
