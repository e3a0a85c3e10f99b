import { isUtf8 } from 'node:buffer';
import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import { systemReason } from '../errors.ts';
import { longest, type ReadOptions, tooLong } from './batch.ts';
import { type DataFile, FileRefused } from './data-file.ts';

/** Yields a file's unpacked bytes in pieces; `isEnd` marks the last one. @throws FileRefused with the line */
export async function* bytesOf(
  file: DataFile,
  { onBytes, stop }: ReadOptions,
  line: () => number | undefined,
): AsyncGenerator<readonly [bytes: Buffer, isEnd: boolean]> {
  try {
    const stored = addAbortSignal(stop, await file.open());
    const steps = [
      stored,
      checking(file, onBytes),
      ...(file.isGzipped ? [createGunzip({ chunkSize: 64 * 1024 })] : []),
    ];
    // The last stream throws the pipeline's error.
    const bytes = pipeline(steps, () => {}) as unknown as Readable;
    for await (const chunk of bytes as AsyncIterable<Buffer>) yield [chunk, false];
    yield [Buffer.alloc(0), true];
  } catch (cause) {
    if (cause instanceof FileRefused) throw cause;
    throw new FileRefused(`cannot be read: ${systemReason(cause)}`, { line: line(), cause });
  }
}

const lineFeed = 0x0a;

/**
 * Yields a file's text in pieces of whole lines, without its byte order mark; `isEnd` marks the last one.
 * @throws FileRefused with the line, as `line` tells it once the lines before it are read
 */
export async function* linesOf(
  file: DataFile,
  reading: ReadOptions,
  line: () => number,
): AsyncGenerator<readonly [lines: string, isEnd: boolean]> {
  let rest = Buffer.alloc(0);
  let isBegin = true;
  for await (const [piece, isEnd] of bytesOf(file, reading, line)) {
    const bytes = Buffer.concat([rest, piece]);
    const end = isEnd ? bytes.length : bytes.lastIndexOf(lineFeed) + 1;
    const lines = bytes.subarray(0, end);
    rest = bytes.subarray(end);
    const readable = isUtf8(lines) ? end : endOfUtf8(lines);
    if (readable > 0 || isEnd) {
      const text = lines.toString('utf8', 0, readable);
      yield [isBegin ? text.replace(/^\ufeff/, '') : text, isEnd && readable === end];
      isBegin = false;
    }
    if (readable < end) throw new FileRefused('is not UTF-8', { line: line() });
    if (rest.length > longest) throw tooLong(line());
  }
}

/** Returns where the first line begins that is not UTF-8. */
function endOfUtf8(lines: Buffer): number {
  for (let begin = 0; ; ) {
    const end = lines.indexOf(lineFeed, begin) + 1 || lines.length;
    if (!isUtf8(lines.subarray(begin, end))) return begin;
    begin = end;
  }
}

/** Counts the bytes from the disk and compares their checksum at the end. */
export function checking(file: DataFile, onBytes: (bytes: number) => void): Transform {
  let sum = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      onBytes(chunk.length);
      if (file.crc32 !== undefined) sum = crc32(chunk, sum);
      done(null, chunk);
    },
    flush(done) {
      const isRight = file.crc32 === undefined || sum === file.crc32;
      done(isRight ? null : new Error('its checksum (CRC-32) is wrong'));
    },
  });
}
