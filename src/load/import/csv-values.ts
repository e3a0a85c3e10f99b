import type { ColumnType } from '../../feeds/feed.ts';
import { copyBytes } from '../../growing-bytes.ts';
import {
  backslash,
  isDigit,
  lowerF,
  lowerT,
  minus,
  openBrace,
  openBracket,
  point,
  quote,
  zero,
} from '../../json-bytes.ts';
import { JsonScan } from '../../service/json-scan.ts';
import type { CsvSplitter } from './split-csv.ts';

/*
 * The values of a page's JSON that are made of CSV. Each function that writes returns the index after the value, negative if it has
 * escapes, as the reader of pages wants it.
 */

/** Writes what is the same for all records. */
export function writeMade(made: Buffer, into: Buffer, at: number): number {
  const end = copyBytes(made, 0, made.length, into, at);
  return made.includes(backslash) ? -end : end;
}

/**
 * Writes a cell as what JSON has in its place, so that the same record of a page is the same row: in a column that is no text, a
 * number, a list or an object, if the cell is one and can be written no other way, or true or false; else its text.
 */
export function writeCell(
  splitter: CsvSplitter,
  cell: number,
  fills: ColumnType | undefined,
  into: Buffer,
  at: number,
): number {
  const first = splitter.bytes[splitter.starts[cell]!]!;
  const isText = fills !== undefined && fills !== 'double precision';
  if (!isText && (first === openBracket || first === openBrace)) {
    const end = writeAsItIs(splitter, cell, into, at);
    if (isWhole(into.subarray(at, Math.abs(end)))) return end;
  } else if (!isText && isToken(splitter, cell, first, fills !== undefined)) {
    return writeAsItIs(splitter, cell, into, at);
  }
  return writeText(splitter, cell, into, at);
}

/** Writes a cell as a string. */
function writeText({ bytes, starts, ends }: CsvSplitter, cell: number, into: Buffer, at: number): number {
  let hasEscapes = false;
  into[at++] = quote;
  for (let index = starts[cell]!; index < ends[cell]!; index++) {
    const byte = bytes[index]!;
    if (byte >= 0x20 && byte !== quote && byte !== backslash) {
      into[at++] = byte;
      continue;
    }
    hasEscapes = true;
    if (byte < 0x20) {
      at += into.write(`\\u${byte.toString(16).padStart(4, '0')}`, at);
      continue;
    }
    into[at++] = backslash;
    into[at++] = byte;
    // A quote within a cell is doubled.
    if (byte === quote) index++;
  }
  into[at++] = quote;
  return hasEscapes ? -at : at;
}

/** Writes a cell as the number, word, list or object that it is. */
function writeAsItIs({ bytes, starts, ends }: CsvSplitter, cell: number, into: Buffer, at: number): number {
  let hasEscapes = false;
  for (let index = starts[cell]!; index < ends[cell]!; index++) {
    const byte = bytes[index]!;
    into[at++] = byte;
    if (byte === backslash) hasEscapes = true;
    // A quote within a cell is doubled.
    if (byte === quote) index++;
  }
  return hasEscapes ? -at : at;
}

/** Whether bytes are one value of JSON, perhaps with spaces after it. */
function isWhole(bytes: Buffer): boolean {
  const scan = new JsonScan(bytes);
  try {
    scan.skipValue();
    return scan.next() === undefined;
  } catch {
    return false;
  }
}

function isToken(splitter: CsvSplitter, cell: number, first: number, isNumber: boolean): boolean {
  if (first === minus || isDigit(first)) {
    if (isUsualNumber(splitter, cell, isNumber)) return true;
    const text = splitter.textAt(cell);
    return String(Number(text)) === text;
  }
  return (first === lowerT || first === lowerF) && ['true', 'false'].includes(splitter.textAt(cell));
}

/**
 * Whether a cell is a number of few digits as JavaScript writes it; asked of its bytes, which is quicker. Where only the number
 * counts, also one with zeros at its end, as other programs write them.
 */
function isUsualNumber({ bytes, starts, ends }: CsvSplitter, cell: number, isNumber: boolean): boolean {
  const [start, end] = [starts[cell]!, ends[cell]!];
  const begins = bytes[start] === minus ? start + 1 : start;
  let at = begins;
  while (isDigit(bytes[at])) at++;
  const isZero = bytes[begins] === zero;
  if (at === begins || end - start > 15 || (isZero && at - begins > 1)) return false;
  if (at === end) return !isZero || begins === start;
  if (bytes[at] !== point) return false;
  const decimals = ++at;
  while (bytes[at] === zero) at++;
  const zeros = at - decimals;
  while (isDigit(bytes[at])) at++;
  if (at !== end || at === decimals) return false;
  // JavaScript writes less than a millionth with an exponent.
  return isNumber || (bytes[at - 1] !== zero && !(isZero && zeros > 5));
}
