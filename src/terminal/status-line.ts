import type { Output } from './print.ts';
import { printable, wholeWords } from './text.ts';

const eraseToEnd = '\x1b[K';

/**
 * A terminal shared by lines that stay and one line below them that changes. The terminal's state is left alone (no hidden
 * cursor, no saved position): a kill at any instant leaves nothing to restore.
 */
export class StatusLine {
  readonly #terminal: Output;
  #status = '';

  constructor(terminal: Output) {
    this.#terminal = terminal;
  }

  /** The columns that a status may take. Behind it the terminal may echo `^C`, which must not wrap. */
  get width(): number {
    return Math.max(1, this.#terminal.columns - 3);
  }

  /** Draws the status over the last one; words that go beyond `width` are left out. */
  show(status: string): void {
    this.#status = status;
    this.#terminal.write(`\r${wholeWords(printable(status), this.width)}${eraseToEnd}`);
  }

  /** Takes the status away until the next `show`. */
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
