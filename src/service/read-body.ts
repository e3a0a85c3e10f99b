import { isAscii, isUtf8, transcode } from 'node:buffer';
import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, type ZlibOptions } from 'node:zlib';
import { lendBytes, returnBytes } from '../page-memory.ts';
import { MalformedPage, PageTooLarge } from './errors.ts';

/** A body, read completely and unpacked. */
export interface Body {
  /** Its text in UTF-8, without a byte order mark. */
  readonly content: Uint8Array;
  /** Size as received, in bytes. */
  readonly bytes: number;
  /** Only for a large body: others wait until this is called. */
  readonly release?: () => void;
}

interface BodyLimits {
  /** Most bytes, as received and as unpacked. */
  readonly maxBodyBytes: number;
  /** Called around waits that are not the service's fault, so that they do not count against a time limit. */
  readonly aside: <T>(wait: Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

type Encoding = string | readonly string[] | undefined;

/** How many bytes of a refusal are read: its message is at the beginning. */
const refusalBytes = 64 * 1024;

const decoder = new TextDecoder();

/** The bytes themselves if they are valid UTF-8, as those of all intact bodies are; else with U+FFFD for what is not. */
function utf8(bytes: Uint8Array): Uint8Array {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return isUtf8(bytes) && !hasMark ? bytes : Buffer.from(decoder.decode(bytes));
}

/** A part of a body's content as text. For ASCII and long texts, quicker than a TextDecoder by half or more. */
export function textOf(content: Uint8Array, start = 0, end = content.byteLength): string {
  const bytes = Buffer.from(content.buffer, content.byteOffset + start, end - start);
  if (isAscii(bytes)) return bytes.toString('latin1');
  return bytes.byteLength < 4096 ? bytes.toString() : transcode(bytes, 'utf8', 'utf16le').toString('utf16le');
}

/**
 * Reads a body and unpacks it.
 * @throws PageTooLarge if it is too large; MalformedPage if its encoding is not known or it cannot be unpacked
 */
export async function readBody(body: Readable, encoding: Encoding, limits: BodyLimits): Promise<Body> {
  const { maxBodyBytes, aside, signal } = limits;
  const applied = codingsOf(encoding);
  let release: (() => void) | undefined;
  const enter = async () => {
    release ??= await aside(enterLarge(signal));
  };
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > maxBodyBytes) throw new PageTooLarge(`The body is larger than ${maxBodyBytes} bytes.`);
      // While this waits, the rest is not read.
      if (bytes > largeFrom) await enter();
      chunks.push(chunk);
    }
    const packed = lendBytes(bytes);
    for (let at = 0; chunks.length > 0; ) at += chunks.shift()!.copy(packed, at);
    const whole = await unpackWithin(packed, applied, maxBodyBytes, enter, release !== undefined);
    if (whole !== packed) returnBytes(packed);
    const read = { content: utf8(whole), bytes };
    return release ? { ...read, release } : read;
  } catch (error) {
    release?.();
    throw error;
  }
}

/** Unpacks as if the body were small; if it turns out to be large, waits for its turn and begins again. */
async function unpackWithin(
  packed: Uint8Array,
  applied: readonly Unpack[],
  maxBodyBytes: number,
  enter: () => Promise<void>,
  hasEntered: boolean,
): Promise<Uint8Array> {
  if (applied.length === 0) return packed;
  const most = hasEntered ? maxBodyBytes : Math.min(largeFrom, maxBodyBytes);
  try {
    return await unpack(packed, applied, most);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== 'ERR_BUFFER_TOO_LARGE')
      throw new MalformedPage(`The body cannot be unpacked: ${code}.`, { cause });
  }
  if (most === maxBodyBytes) throw new PageTooLarge(`The body unpacks to more than ${most} bytes.`);
  await enter();
  return unpackWithin(packed, applied, maxBodyBytes, enter, true);
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
    const beginning = Buffer.concat(chunks).subarray(0, refusalBytes);
    const whole = await unpack(beginning, codingsOf(encoding), largeFrom);
    return { content: utf8(whole.subarray(0, refusalBytes)), bytes };
  } catch {
    // The status decides what a refusal means: a broken body must not turn a 401 into something to retry.
    return { content: new Uint8Array(), bytes };
  }
}

/**
 * A body with more bytes than this, as received or unpacked, is a large one. A process has only one large body in memory,
 * from here until its records are committed: eight windows that get the largest page at once would take more memory than a
 * small machine has.
 */
const largeFrom = 2 * 1024 * 1024;

let last: Promise<void> = Promise.resolve();

/**
 * Waits until no other large body is in memory.
 * @returns a function to call once the caller's body is gone; calling it again does nothing
 */
async function enterLarge(signal: AbortSignal): Promise<() => void> {
  signal.throwIfAborted();
  const before = last;
  let leave!: () => void;
  const mine = new Promise<void>((resolve) => {
    leave = resolve;
  });
  last = before.then(() => mine);
  await new Promise<void>((resolve, reject) => {
    const listening = addAbortListener(signal, () => {
      leave();
      reject(signal.reason);
    });
    before.then(() => {
      listening[Symbol.dispose]();
      resolve();
    });
  });
  return leave;
}

type Unpack = (packed: Uint8Array, options: ZlibOptions) => Promise<Buffer>;

const gzip: Unpack = promisify(gunzip);
const zlib: Unpack = promisify(inflate);
const rawDeflate: Unpack = promisify(inflateRaw);

/** How a body can be compressed. */
const unpackers = new Map<string, Unpack>([
  ['gzip', gzip],
  ['x-gzip', gzip],
  // With a header (RFC 9110, 8.4.1.2); some servers send it without.
  ['deflate', (packed, options) => (hasZlibHeader(packed) ? zlib : rawDeflate)(packed, options)],
  ['br', promisify(brotliDecompress) as Unpack],
]);

/** Other registered codings (IANA, HTTP Content Coding Registry). */
const registered = ['aes128gcm', 'compress', 'dcb', 'dcz', 'exi', 'pack200-gzip', 'x-compress', 'zstd'];

/** Nobody compresses a body more than twice; each time costs a copy. */
const mostCodings = 3;

/**
 * Reads a `Content-Encoding` header: what was applied to the body, in that order (RFC 9110, 8.4).
 * @throws MalformedPage for an unknown encoding, or too many of them
 */
function codingsOf(header: Encoding): Unpack[] {
  const names = [header ?? ''].flat().join(',').toLowerCase().split(',');
  const applied: Unpack[] = [];
  for (const name of names.map((name) => name.trim())) {
    if (name === '' || name === 'identity') continue;
    const coding = unpackers.get(name);
    if (coding === undefined) {
      // Not the name itself, unless it is a registered one: the service could put anything into a header.
      const known = registered.includes(name) ? name : 'an unknown way';
      throw new MalformedPage(`The body is packed by ${known}, which is none of gzip, deflate and br.`);
    }
    applied.push(coding);
  }
  if (applied.length > mostCodings) throw new MalformedPage(`The body is packed ${applied.length} times.`);
  return applied;
}

/**
 * Unpacks a body, the last coding first.
 * @param most the most bytes of each step; more is an error with the code `ERR_BUFFER_TOO_LARGE`
 */
async function unpack(packed: Uint8Array, applied: readonly Unpack[], most: number): Promise<Uint8Array> {
  let bytes = packed;
  for (const coding of applied.toReversed()) {
    if (bytes.byteLength === 0) return bytes;
    bytes = await coding(bytes, { maxOutputLength: most, chunkSize });
  }
  return bytes;
}

/** Bytes that are unpacked at a time: a usual page takes a few steps. */
const chunkSize = 128 * 1024;

function hasZlibHeader([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
}
