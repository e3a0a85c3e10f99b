import type { Output } from './print.ts';
import { printable, wholeWords } from './text.ts';

const eraseToEnd = '\x1b[K';

/**
 * A terminal with lines that stay and one line below them that changes. It does not change the terminal's state (no hidden
 * cursor, no saved position), so a kill at any instant leaves nothing to restore.
 */
export class StatusLine {
  readonly #terminal: Output;
  #status = '';

  constructor(terminal: Output) {
    this.#terminal = terminal;
  }

  /** The columns that a status may take. After it the terminal may echo `^C`, which must not wrap. */
  get width(): number {
    return Math.max(1, this.#terminal.columns - 3);
  }

  /** Draws the status over the last one; words beyond `width` are dropped. */
  show(status: string): void {
    this.#status = status;
    this.#terminal.write(`\r${wholeWords(printable(status), this.width)}${eraseToEnd}`);
  }

  /** Hides the status until the next `show`. */
  clear(): void {
    if (this.#status !== '') this.#terminal.write(`\r${eraseToEnd}`);
    this.#status = '';
  }

  /** Whole lines; they appear above the status. */
  write(lines: string): void {
    const status = this.#status;
    this.clear();
    this.#terminal.write(printable(lines));
    if (status !== '') this.show(status);
  }
}

/**
 * Shows a text that changes. On a terminal, draws each text over the last one, in one write, so that nothing flickers;
 * elsewhere, writes each text that differs from the last one. Does not change the terminal's state, and leaves the last text
 * there when the program ends.
 */
export function redrawing(out: Output): (text: string) => void {
  let shown = '';
  return (anyText) => {
    const text = printable(anyText);
    if (text === shown) return;
    if (out.isTTY) redraw(out, text, shown);
    else out.write(`${text}\n\n`);
    shown = text;
  };
}

/** Drops words beyond the width and lines beyond the height, because text that wraps or scrolls cannot be drawn over. */
function redraw(out: Output, text: string, shown: string): void {
  const height = Math.max(1, out.rows - 1);
  const width = Math.max(1, out.columns - 1);
  const before = shown === '' ? 0 : Math.min(shown.split('\n').length, height);
  const lines = text.split('\n').slice(0, height);
  const drawn = lines.map((line) => `${wholeWords(line, width)}${eraseToEnd}\n`).join('');
  const up = before > 0 ? `\x1b[${before}A\r` : '';
  out.write(`${up}${drawn}\x1b[J`);
}
