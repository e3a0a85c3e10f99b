import { Writable } from 'node:stream';
import type { WriteStream } from 'node:tty';

const eraseToEnd = '\x1b[K';

/**
 * A terminal shared by lines that stay, written here as to any stream, and one line below them that changes. The
 * terminal's state is left alone (no hidden cursor, no saved position): a kill at any instant leaves nothing to restore.
 */
export class StatusLine extends Writable {
  readonly #terminal: WriteStream;
  #status = '';

  constructor(terminal: WriteStream) {
    super({ decodeStrings: false });
    this.#terminal = terminal;
  }

  /** The columns that a status may take. Behind it the terminal may echo `^C`, which must not wrap. */
  get width(): number {
    return Math.max(1, (this.#terminal.columns || 80) - 3);
  }

  /** Draws the status over the last one; what goes beyond `width` is cut off. */
  show(status: string): void {
    this.#status = status;
    this.#terminal.write(`\r${status.slice(0, this.width)}${eraseToEnd}`);
  }

  /** Takes the status away until the next `show`. */
  clear(): void {
    if (this.#status !== '') this.#terminal.write(`\r${eraseToEnd}`);
    this.#status = '';
  }

  /** Whole lines; they appear above the status. */
  override _write(lines: string, _encoding: BufferEncoding, written: () => void): void {
    const status = this.#status;
    this.clear();
    this.#terminal.write(lines);
    if (status !== '') this.show(status);
    written();
  }
}
