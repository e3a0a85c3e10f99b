/*
 * The memory of pages, used again. V8 frees bytes outside of its heap only when it collects what refers to them. What a page
 * refers to is old by the time it is committed, so that V8 marked its whole heap again and again (docs/benchmarks.md).
 */

const kibibyte = 1024;
/** Of less, Node.js has a pool of its own; more is rare. */
const [least, most] = [4 * kibibyte, 2048 * kibibyte];
/** Sizes are rounded up to this, so that pages of about the same size can use the same memory. */
const step = 128 * kibibyte;
/** As many as pages are under way with the largest concurrency that is usual, twice. */
const mostKept = 32;

const kept: ArrayBufferLike[] = [];
const lent = new WeakSet<ArrayBufferLike>();

/** Bytes of any content. If they are not given back, they are collected as usual. */
export function lendBytes(size: number): Buffer {
  if (size < least || size > most) return Buffer.allocUnsafe(size);
  const place = kept.findIndex((memory) => memory.byteLength >= size);
  const [memory = Buffer.allocUnsafeSlow(Math.ceil(size / step) * step).buffer] =
    place === -1 ? [] : kept.splice(place, 1);
  lent.add(memory);
  return Buffer.from(memory, 0, size);
}

/** Takes bytes back that were lent; nothing may refer to them any more. Does nothing with any others. */
export function returnBytes({ buffer }: Uint8Array): void {
  if (!lent.delete(buffer)) return;
  kept.push(buffer);
  if (kept.length > mostKept) kept.shift();
}
