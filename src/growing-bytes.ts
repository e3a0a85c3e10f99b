const nothing: Buffer = Buffer.alloc(0);

/** Far more than most pages need. */
const mostKept = 1024 * 1024;

/** Bytes that a page is written into, in memory that the next page uses again. */
export class GrowingBytes {
  bytes = nothing;
  /** The end of what is used. */
  end = 0;

  /** Makes room for as many bytes, and some more, from `from` on; what is before it stays. */
  makeRoom(size: number, from = this.end): void {
    if (this.bytes.length > from + size) return;
    const larger = Buffer.allocUnsafe(Math.max(64 * 1024, 2 * (from + size)));
    this.bytes.copy(larger, 0, 0, from);
    this.bytes = larger;
  }

  /** Writes a text to the end, which stays where it is. @returns the end of the text */
  write(text: string): number {
    // No character of UTF-16 takes more bytes.
    this.makeRoom(3 * text.length);
    return this.end + this.bytes.write(text, this.end);
  }

  clear(): void {
    this.end = 0;
    if (this.bytes.length > mostKept) this.bytes = nothing;
  }
}

/** Copies bytes; as few as most texts have, quicker than a function of Node.js. @returns the index after the last one */
export function copyBytes(
  source: Uint8Array,
  start: number,
  end: number,
  into: Uint8Array,
  at: number,
): number {
  const length = end - start;
  if (length > 128) into.set(source.subarray(start, end), at);
  else for (let index = 0; index < length; index++) into[at + index] = source[start + index]!;
  return at + length;
}
