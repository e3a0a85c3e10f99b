import { styleText } from 'node:util';

export type Style = 'dim' | 'bold' | 'red' | 'green' | 'yellow';

/**
 * Marks around styled text: noncharacters of Unicode, which no text contains. Printing turns them into the terminal's codes,
 * or removes them, so nothing in between meets an escape.
 */
const begins: Readonly<Record<Style, string>> = {
  dim: '\ufdd0',
  bold: '\ufdd1',
  red: '\ufdd2',
  green: '\ufdd3',
  yellow: '\ufdd4',
};
const end = '\ufddf';
const anyMark = /[\ufdd0-\ufddf]/g;

/** Marks a text to be printed in a style, where there are colours. */
export function styled(style: Style, text: string): string {
  return text === '' ? '' : `${begins[style]}${text}${end}`;
}

/** Marks a command that a person copies: it is never wrapped. */
export function command(text: string): string {
  return styled('bold', text);
}

/** Matches the spaces before a word, and the word; a command is one word. */
export const styledWord = new RegExp(`( *)((?:${begins.bold}[^${end}]*${end}|[^ ])+)`, 'g');

/** Removes marks, as from foreign text. */
export function withoutMarks(text: string): string {
  return text.replace(anyMark, '');
}

/** Turns marks into codes of the terminal; a mark without its other one is removed. */
export function paint(text: string, hasColours: boolean): string {
  if (!hasColours) return withoutMarks(text);
  let painted = text;
  for (const [style, begin] of Object.entries(begins)) {
    const marked = new RegExp(`${begin}([^\ufdd0-\ufddf]*)${end}`, 'g');
    painted = painted.replace(marked, (_, inner: string) =>
      styleText(style as Style, inner, { validateStream: false }),
    );
  }
  return withoutMarks(painted);
}
