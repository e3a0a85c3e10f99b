import { isUtf8 } from 'node:buffer';
import { FileRefused } from './data-file.ts';

const [lineFeed, carriageReturn, quote] = [0x0a, 0x0d, 0x22];

/** The shape of a CSV file (RFC 4180). DuckDB gets it as options, because a wrong guess would lose records silently. */
export interface CsvShape {
  readonly columns: readonly string[];
  readonly delimiter: string;
  readonly newLine: '\n' | '\r\n';
  /** Number of records, headers included, if the quotes are right. */
  readonly records: number;
}

/** Finds the shape of a CSV file in UTF-8 from its bytes, piece by piece. */
export class CsvShapeReader {
  /** The line on which the current record begins. */
  line = 1;
  readonly #longest: number;
  #header: Buffer | undefined;
  #records = 0;
  #lines = 0;
  #bytes = 0;
  #isQuoted = false;
  /** True if a quote here opens a cell, as the cell's first byte or the second of two quotes. */
  #mayOpen = true;
  #delimiters = [...',;\t'].map((sign) => sign.charCodeAt(0));
  #isBlank = true;
  #begin: Buffer[] = [];

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @throws FileRefused if a record is too long, so that a file which would unpack to gigabytes is not unpacked to its end */
  push(piece: Buffer): void {
    let from = 0;
    for (let at = 0; at < piece.length; at++) {
      const byte = piece[at]!;
      if (byte === quote) {
        // Inside an unquoted cell, a quote is an ordinary character.
        if (this.#isQuoted || this.#mayOpen) this.#isQuoted = !this.#isQuoted;
        this.#mayOpen = true;
      } else {
        this.#mayOpen = byte === lineFeed || this.#delimiters.includes(byte);
      }
      if (byte !== lineFeed) {
        if (byte !== carriageReturn) this.#isBlank = false;
        continue;
      }
      this.#lines++;
      if (this.#isQuoted) continue;
      this.#endRecord(piece.subarray(from, at + 1));
      from = at + 1;
    }
    this.#bytes += piece.length - from;
    if (this.#bytes > this.#longest) throw this.#tooLong();
    if (this.#header === undefined) this.#begin.push(Buffer.from(piece.subarray(from)));
  }

  #endRecord(rest: Buffer): void {
    if (this.#bytes + rest.length > this.#longest) throw this.#tooLong();
    if (!this.#isBlank) {
      this.#records++;
      if (this.#header === undefined) {
        this.#header = Buffer.concat([...this.#begin, rest]);
        this.#delimiters = [this.#delimiterIn(this.#header).charCodeAt(0)];
      }
    }
    this.#begin = [];
    this.#bytes = 0;
    this.#isBlank = true;
    this.line = this.#lines + 1;
  }

  /** @throws FileRefused if the header is missing or broken */
  end(): CsvShape {
    this.#endRecord(Buffer.alloc(0));
    if (this.#header === undefined) throw new FileRefused('is empty, without even a header');
    if (!isUtf8(this.#header)) throw new FileRefused('is not UTF-8', { line: 1 });
    const header = this.#header.toString('utf8').replace(/^\ufeff/, '');
    const text = header.replace(/\r?\n$/, '');
    const delimiter = this.#delimiterIn(text);
    const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^"${delimiter}\\r\\n]*))(${delimiter}|$)`, 'y');
    const columns: string[] = [];
    for (let hasMore = true; hasMore; ) {
      const found = cell.exec(text);
      if (!found && text.includes('\r'))
        throw new FileRefused('its lines end with CR alone: save it with LF or CRLF at the end of lines', {
          line: 1,
        });
      if (!found)
        throw new FileRefused('a quote is not closed, or does not end where its cell ends', { line: 1 });
      columns.push(found[1]?.replaceAll('""', '"') ?? found[2]!);
      hasMore = found[3] !== '';
    }
    return { columns, delimiter, newLine: header.endsWith('\r\n') ? '\r\n' : '\n', records: this.#records };
  }

  #delimiterIn(header: string | Buffer): string {
    return [',', ';', '\t'].find((sign) => header.includes(sign)) ?? ',';
  }

  #tooLong(): FileRefused {
    return new FileRefused(`a record is longer than ${this.#longest} bytes`, { line: this.line });
  }
}
