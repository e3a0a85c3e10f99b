import { type Output, shown } from './print.ts';
import { cutToFit, printable } from './text.ts';

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

  /** Draws the status over the last one, without its last parts if they do not fit into `width`. */
  show(status: string): void {
    this.#status = cutToFit(printable(status), this.width);
    this.#terminal.write(`\r${this.#status}${eraseToEnd}`);
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
    this.#terminal.write(shown(lines, this.#terminal));
    if (status !== '') this.show(status);
  }
}
