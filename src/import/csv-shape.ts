import { isUtf8 } from 'node:buffer';
import { FileRefused } from './data-file.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const quote = 0x22;

/** The shape of a CSV file (RFC 4180). DuckDB gets it as options, because a wrong guess would lose records silently. */
export interface CsvShape {
  readonly columns: readonly string[];
  readonly delimiter: string;
  readonly newLine: '\n' | '\r\n';
  /** Number of records, headers included, if the quotes are right. */
  readonly records: number;
}

/** Returns true if there is nothing but an end of a line. */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === lineFeed || byte === carriageReturn);
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
  /** The place of the last quote, and the number of bytes of earlier pieces. */
  #quotedAt = -2;
  #read = 0;
  /** The last byte of the piece before; a file begins like a line. */
  #last = lineFeed;
  #delimiters = [...',;\t'].map((sign) => sign.charCodeAt(0));
  #isBlank = true;
  #begin: Buffer[] = [];

  constructor(longest: number) {
    this.#longest = longest;
  }

  /** @throws FileRefused if a record is too long, so that a file which would unpack to gigabytes is not unpacked to its end */
  push(piece: Buffer): void {
    let from = 0;
    let end = piece.indexOf(lineFeed);
    let quoteAt = piece.indexOf(quote);
    for (;;) {
      if (quoteAt >= 0 && (end < 0 || quoteAt < end)) {
        // Inside an unquoted cell, a quote is an ordinary character.
        if (this.#isQuoted || this.#opensCell(piece, quoteAt)) this.#isQuoted = !this.#isQuoted;
        this.#quotedAt = this.#read + quoteAt;
        quoteAt = piece.indexOf(quote, quoteAt + 1);
      } else if (end >= 0) {
        this.#lines++;
        if (!this.#isQuoted) {
          this.#endRecord(piece.subarray(from, end + 1));
          from = end + 1;
        }
        end = piece.indexOf(lineFeed, end + 1);
      } else break;
    }
    const rest = piece.subarray(from);
    this.#bytes += rest.length;
    this.#isBlank &&= isBlank(rest);
    if (this.#bytes > this.#longest) throw this.#tooLong();
    if (this.#header === undefined) this.#begin.push(Buffer.from(rest));
    if (piece.length > 0) this.#last = piece.at(-1)!;
    this.#read += piece.length;
  }

  /** Returns true if a quote is the first byte of a cell, or the second of two quotes. */
  #opensCell(piece: Buffer, at: number): boolean {
    const before = at > 0 ? piece[at - 1]! : this.#last;
    const isAfterQuote = this.#quotedAt === this.#read + at - 1;
    return isAfterQuote || before === lineFeed || this.#delimiters.includes(before);
  }

  #endRecord(rest: Buffer): void {
    if (this.#bytes + rest.length > this.#longest) throw this.#tooLong();
    if (!(this.#isBlank && isBlank(rest))) {
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
