import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream';
import { crc32, createGunzip } from 'node:zlib';
import { systemReason } from '../errors.ts';
import type { ReadOptions } from './batch.ts';
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
      ...(file.isGzipped ? [createGunzip({ chunkSize: 256 * 1024 })] : []),
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

/** Counts the bytes from the disk and compares their checksum at the end. */
export function checking(file: DataFile, onBytes: (bytes: number) => void): Transform {
  let sum = 0;
  return new Transform({
    highWaterMark: 256 * 1024,
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
