import { type Output, shown } from './print.ts';
import { columnsOf, printable, wholeWords } from './text.ts';

const eraseToEnd = '\x1b[K';
const clearScreen = '\x1b[H\x1b[2J';

/**
 * A terminal with lines that stay and one line below them that changes. It does not change the terminal's state (no hidden
 * cursor, no saved position), so a kill at any instant leaves nothing to restore.
 */
export class StatusLine {
  readonly #terminal: Output;
  #status = '';
  #columns = 0;

  constructor(terminal: Output) {
    this.#terminal = terminal;
  }

  /** The columns that a status may take. After it the terminal may echo `^C`, which must not wrap. */
  get width(): number {
    return Math.max(1, this.#terminal.columns - 3);
  }

  /** Draws the status over the last one; words beyond `width` are dropped. */
  show(status: string): void {
    const home = this.#home();
    this.#status = wholeWords(printable(status), this.width);
    this.#columns = this.#terminal.columns;
    this.#terminal.write(`${home}${this.#status}${eraseToEnd}`);
  }

  /** Returns the move to the beginning of the status. A terminal that has become narrower has wrapped it, so that it begins some lines above. */
  #home(): string {
    const { columns } = this.#terminal;
    if (this.#status === '' || columns >= this.#columns) return '\r';
    const up = Math.ceil(columnsOf(this.#status) / columns) - 1;
    return up > 0 ? `\r\x1b[${up}A\x1b[J` : '\r';
  }

  /** Hides the status until the next `show`. */
  clear(): void {
    if (this.#status !== '') this.#terminal.write(`${this.#home()}${eraseToEnd}`);
    this.#status = '';
  }

  /** Whole lines; they appear above the status. */
  write(lines: string): void {
    const status = this.#status;
    this.clear();
    this.#terminal.write(shown(lines, this.#terminal));
    if (status !== '') this.show(status);
  }
}

/**
 * Shows a text that changes. On a terminal, draws each text over the last one, in one write, so that nothing flickers;
 * elsewhere, writes each text that differs from the last one. Does not change the terminal's state, and leaves the last text
 * there when the program ends.
 */
export function redrawing(out: Output): (text: string) => void {
  let drawn = '';
  let columns = out.columns;
  return (anyText) => {
    const text = printable(anyText);
    const isResized = out.columns !== columns;
    columns = out.columns;
    if (text === drawn && !isResized) return;
    if (!out.isTTY) out.write(`${shown(text, out)}\n\n`);
    // The terminal has wrapped the old lines anew, so nobody knows how many there are.
    else if (isResized) redraw(out, text, '', clearScreen);
    else redraw(out, text, drawn);
    drawn = text;
  };
}

/** Drops words beyond the width and lines beyond the height, because text that wraps or scrolls cannot be drawn over. */
function redraw(out: Output, text: string, before: string, first = ''): void {
  const height = Math.max(1, out.rows - 1);
  const width = Math.max(1, out.columns - 1);
  const linesBefore = before === '' ? 0 : Math.min(before.split('\n').length, height);
  const lines = text.split('\n').slice(0, height);
  const drawn = lines.map((line) => `${shown(wholeWords(line, width), out)}${eraseToEnd}\n`).join('');
  const up = linesBefore > 0 ? `\x1b[${linesBefore}A\r` : '';
  out.write(`${first}${up}${drawn}\x1b[J`);
}
