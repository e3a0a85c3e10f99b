import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw } from 'node:zlib';
import { MalformedPage } from './errors.ts';

const unpackers = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  rawDeflate: promisify(inflateRaw),
  br: promisify(brotliDecompress),
};

/** How a body can be packed. */
export type Coding = Exclude<keyof typeof unpackers, 'rawDeflate'>;

const codings: Readonly<Record<string, Coding>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'br',
};

/** Others that have been registered (IANA, HTTP Content Coding Registry). */
const registered = ['aes128gcm', 'compress', 'dcb', 'dcz', 'exi', 'pack200-gzip', 'x-compress', 'zstd'];

/** Nobody packs a body more often than twice; each time costs a copy. */
const mostCodings = 3;

/**
 * Reads a `Content-Encoding` header: what was applied to the body, in that order (RFC 9110, 8.4).
 * @throws MalformedPage for an encoding that is not known, or too many of them
 */
export function codingsOf(header: string | readonly string[] | undefined): Coding[] {
  const names = [header ?? ''].flat().join(',').toLowerCase().split(',');
  const applied: Coding[] = [];
  for (const name of names.map((name) => name.trim())) {
    if (name === '' || name === 'identity') continue;
    const coding = Object.hasOwn(codings, name) ? codings[name] : undefined;
    if (coding === undefined) {
      // Not the name itself, unless it is one of those that exist: a header can hold whatever the service likes.
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
 * @param most bytes that any step may unpack to; one more is an error with the code `ERR_BUFFER_TOO_LARGE`
 */
export async function unpack(
  packed: Uint8Array,
  applied: readonly Coding[],
  most: number,
): Promise<Uint8Array> {
  let bytes = packed;
  for (const coding of applied.toReversed()) {
    if (bytes.byteLength === 0) return bytes;
    const by = coding === 'deflate' && !hasZlibHeader(bytes) ? 'rawDeflate' : coding;
    bytes = await unpackers[by](bytes, { maxOutputLength: most, chunkSize });
  }
  return bytes;
}

/** Bytes that are unpacked at a time: a usual page in a few steps. */
const chunkSize = 128 * 1024;

/** `deflate` means data with a header (RFC 9110, 8.4.1.2); some servers send it without. */
function hasZlibHeader([first = 0, second = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 && (first * 256 + second) % 31 === 0;
}
