import {
  backslash,
  colon,
  comma,
  isDigit,
  isHexDigit,
  isSpace,
  minus,
  openBrace,
  openBracket,
  plus,
  point,
  quote,
  zero,
} from '../json-bytes.ts';
import { NotJson } from './json.ts';

/**
 * Passes over JSON in UTF-8 from value to value, without making anything of it. What it passes over is valid: parseBody takes
 * it. Strict like JSON.parse, except for the tokens NaN, Infinity and -Infinity, which parseBody tolerates.
 */
export class JsonScan {
  readonly #bytes: Uint8Array;
  /** The objects and arrays around the place, by the byte that opened each. */
  readonly #open: number[] = [];
  /** The index of the next byte. */
  at = 0;
  /** Number of values so far. */
  values = 0;
  /** Number of escapes in strings so far. */
  #escapes = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Moves to the next byte that is not a space. @returns it; `undefined` at the end */
  next(): number | undefined {
    const bytes = this.#bytes;
    let at = this.at;
    while (isSpace(bytes[at])) at++;
    this.at = at;
    return bytes[at];
  }

  /** @throws NotJson if another byte is next */
  take(byte: number): void {
    if (this.next() !== byte) throw notJson();
    this.at++;
  }

  expectEnd(): void {
    if (this.next() !== undefined) throw notJson();
  }

  /**
   * Moves past the value that begins here.
   * @param ends if the value is an object, takes the index after the value of each member, as far as it has room; negative if
   * the value or the name has escapes. Of an empty object it takes one, too
   * @param noted how many numbers it was given before
   * @returns how many it has been given now
   */
  skipValue(ends: Int32Array = noPlaces, noted = 0): number {
    const open = this.#open;
    const outside = open.length;
    let escapes = this.#escapes;
    for (;;) {
      const first = this.next();
      this.values++;
      if (first === openBrace || first === openBracket) {
        this.at++;
        open.push(first);
        if (this.next() !== closing(first)) {
          if (first === openBrace) this.#skipName();
          continue;
        }
      } else if (first === quote) this.skipString();
      else this.#skipToken(first);
      // The value has ended here, and with it perhaps those around it.
      for (;;) {
        if (open.length === outside) return noted;
        const around = open[open.length - 1]!;
        if (around === openBrace && open.length === outside + 1) {
          ends[noted++] = this.#escapes === escapes ? this.at : -this.at;
          escapes = this.#escapes;
        }
        const after = this.next();
        this.at++;
        if (after === comma) {
          if (around === openBrace) this.#skipName();
          break;
        }
        if (after !== closing(around)) throw notJson();
        open.pop();
      }
    }
  }

  /** Moves past the string that begins here. */
  skipString(): void {
    const bytes = this.#bytes;
    let at = this.at;
    if (bytes[at] !== quote) throw notJson();
    for (at++; bytes[at] !== quote; at++) {
      const byte = bytes[at];
      if (byte === undefined || byte < 0x20) throw notJson();
      if (byte !== backslash) continue;
      this.#escapes++;
      at += this.#escapeLength(at) - 1;
    }
    this.at = at + 1;
  }

  #escapeLength(at: number): number {
    const bytes = this.#bytes;
    const escaped = bytes[at + 1];
    if (escaped === lowerU) {
      for (let digit = at + 2; digit < at + 6; digit++) if (!isHexDigit(bytes[digit])) throw notJson();
      return 6;
    }
    if (escaped === undefined || !escapable.has(escaped)) throw notJson();
    return 2;
  }

  #skipName(): void {
    this.next();
    this.skipString();
    this.take(colon);
  }

  /** Moves past a number or a word. */
  #skipToken(first: number | undefined): void {
    const isNegative = first === minus;
    if (isNegative) this.at++;
    if (!isDigit(this.#bytes[this.at])) {
      this.#skipWord(isNegative ? 'Infinity' : words[this.#bytes[this.at]!]);
      return;
    }
    if (this.#bytes[this.at] === zero) this.at++;
    else this.#skipDigits();
    if (this.#bytes[this.at] === point) {
      this.at++;
      this.#skipDigits();
    }
    if (this.#bytes[this.at] === lowerE || this.#bytes[this.at] === upperE) {
      this.at++;
      if (this.#bytes[this.at] === plus || this.#bytes[this.at] === minus) this.at++;
      this.#skipDigits();
    }
  }

  #skipDigits(): void {
    const bytes = this.#bytes;
    let at = this.at;
    if (!isDigit(bytes[at])) throw notJson();
    while (isDigit(bytes[at])) at++;
    this.at = at;
  }

  #skipWord(word = ' '): void {
    for (let index = 0; index < word.length; index++) {
      if (this.#bytes[this.at + index] !== word.charCodeAt(index)) throw notJson();
    }
    this.at += word.length;
  }
}

function notJson(): NotJson {
  return new NotJson('The body is not JSON.');
}

function closing(opening: number): number {
  return opening + 2;
}

const [lowerE, upperE, lowerU] = [0x65, 0x45, 0x75];
const escapable = new Set(Buffer.from('"\\/bfnrt'));
const noPlaces = new Int32Array();
/** Words by their first byte. */
const words: Readonly<Record<number, string>> = Object.fromEntries(
  ['true', 'false', 'null', 'NaN', 'Infinity'].map((word) => [word.charCodeAt(0), word]),
);
