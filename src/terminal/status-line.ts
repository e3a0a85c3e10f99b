import { type Output, shown } from './print.ts';
import { columnsOf, cutToFit, printable } from './text.ts';

const eraseToEnd = '\x1b[K';

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

  /** Draws the status over the last one, without its last parts if they do not fit into `width`. */
  show(status: string): void {
    const home = this.#home();
    this.#status = cutToFit(printable(status), this.width);
    this.#columns = this.#terminal.columns;
    this.#terminal.write(`${home}${this.#status}${eraseToEnd}`);
  }

  /** Returns the move to the beginning of the status, some lines above if a terminal that became narrower has wrapped it. */
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
