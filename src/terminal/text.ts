import stringWidth from 'fast-string-width';
import { withoutMarks } from './style.ts';

/**
 * Makes a text safe for a terminal. Removes control characters, which could move the cursor, change the title or write further
 * lines, and format characters, which could reverse or hide other text. Keeps line breaks.
 */
export function printable(text: string): string {
  return text.replace(/\t/g, ' ').replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, '');
}

/** Does the same and joins lines, so that foreign text cannot look like ours: neither begin a line nor have a style. */
export function oneLine(text: string): string {
  return withoutMarks(printable(text.replace(/\s*[\n\v\f\r\u0085\p{Zl}\p{Zp}]\s*/gu, ' ')));
}

/** Returns equal JSON in which these characters are escaped, except line breaks. */
export function printableJson(json: string): string {
  return json.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** Counts the terminal columns of a text without control characters. */
export function columnsOf(text: string): number {
  return stringWidth(withoutMarks(text));
}

/** Returns the columns of the widest text. */
export function widest(texts: Iterable<string>): number {
  let columns = 0;
  for (const text of texts) columns = Math.max(columns, columnsOf(text));
  return columns;
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)));
}

export function padStart(text: string, columns: number): string {
  return ' '.repeat(Math.max(0, columns - columnsOf(text))) + text;
}

/**
 * Cuts a line whose parts are set apart by two spaces, the most important first: drops the last parts, and of a single one the
 * last words, because part of a number would mislead.
 */
export function cutToFit(line: string, columns: number): string {
  let fits = line;
  for (const separator of ['  ', ' ']) {
    const parts = fits.split(separator);
    while (parts.length > 1 && columnsOf(parts.join(separator)) > columns) parts.pop();
    fits = parts.join(separator);
  }
  return columnsOf(fits) > columns ? '…' : fits;
}

/** Breaks a line at its spaces into lines of at most this width; a longer word is broken. */
export function folded(line: string, columns: number): string[] {
  if (columnsOf(line) <= columns) return [line];
  const lines: string[] = [];
  let current = '';
  for (const word of line.split(' ')) {
    const longer = current === '' ? word : `${current} ${word}`;
    if (current !== '' && columnsOf(longer) > columns) {
      lines.push(current);
      current = word;
    } else current = longer;
    while (columnsOf(current) > columns) {
      const whole = beginningOf(current, columns);
      // A name such as Market-Employment is broken at its hyphen.
      const fits = /^.+[-_/.]/.exec(whole)?.[0] ?? whole;
      lines.push(fits);
      current = current.slice(fits.length);
    }
  }
  return [...lines, current];
}

/** Returns as many characters as fit, at least one. */
function beginningOf(text: string, columns: number): string {
  let fits = '';
  for (const character of text) {
    if (fits !== '' && columnsOf(fits + character) > columns) break;
    fits += character;
  }
  return fits;
}
