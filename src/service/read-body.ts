import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, type ZlibOptions } from 'node:zlib';
import { MalformedPage, PageTooLarge } from './errors.ts';

/** A body, read completely and unpacked. */
export interface Body {
  /** UTF-8, without a byte order mark. */
  readonly content: Buffer;
  /** Size as received, in bytes. */
  readonly bytes: number;
}

type Encoding = string | readonly string[] | undefined;

/** How many bytes of a refusal are read; its message is at the beginning. */
const refusalBytes = 64 * 1024;

/** Returns the bytes to unpack at a time. Most bodies are one piece, because each piece costs a round trip to another thread. */
function chunkSizeFor(packed: Buffer): number {
  return Math.min(Math.max(10 * packed.length, 16 * 1024), 1024 * 1024);
}

/**
 * Reads a body and unpacks it.
 * @param maxBodyBytes most bytes, as received and as unpacked
 * @throws PageTooLarge if it is too large; MalformedPage if its encoding is not known or it cannot be unpacked
 */
export async function readBody(body: Readable, encoding: Encoding, maxBodyBytes: number): Promise<Body> {
  const unpack = unpackerOf(encoding);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > maxBodyBytes) throw new PageTooLarge(`The body is larger than ${maxBodyBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    const packed = Buffer.concat(chunks);
    const options = { maxOutputLength: maxBodyBytes, chunkSize: chunkSizeFor(packed) };
    return { content: withoutMark(await unpack(packed, options)), bytes };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new PageTooLarge(`The body unpacks to more than ${maxBodyBytes} bytes.`);
    throw new MalformedPage(`The body cannot be unpacked: ${code}.`, { cause });
  }
}

/** Reads the beginning of a refusal's body; empty if it cannot be read. */
export async function readRefusal(body: Readable, encoding: Encoding): Promise<Body> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= refusalBytes) break;
    }
    const packed = Buffer.concat(chunks).subarray(0, refusalBytes);
    const whole = await unpackerOf(encoding)(packed, { maxOutputLength: 16 * refusalBytes });
    return { content: withoutMark(whole.subarray(0, refusalBytes)), bytes };
  } catch {
    // The status alone decides: a broken body must not make a 401 retryable.
    return { content: Buffer.alloc(0), bytes };
  }
}

function withoutMark(bytes: Buffer): Buffer {
  return bytes.subarray(0, 3).toString() === '\ufeff' ? bytes.subarray(3) : bytes;
}

type Unpack = (packed: Buffer, options: ZlibOptions) => Promise<Buffer>;

const asItIs: Unpack = async (bytes) => bytes;

/** Requests accept only gzip, but a proxy may choose another encoding. */
const unpackers = new Map<string, Unpack>([
  ['', asItIs],
  ['identity', asItIs],
  ['gzip', promisify<Buffer, ZlibOptions, Buffer>(gunzip)],
  ['deflate', promisify<Buffer, ZlibOptions, Buffer>(inflate)],
  ['br', promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress)],
]);

/** @throws MalformedPage for any other encoding */
function unpackerOf(encoding: Encoding): Unpack {
  const unpack = unpackers.get([encoding ?? ''].flat().join(',').trim().toLowerCase());
  // Does not name the encoding: the service could put anything into a header.
  if (!unpack) throw new MalformedPage('The body has an encoding other than gzip, deflate or br.');
  return unpack;
}
