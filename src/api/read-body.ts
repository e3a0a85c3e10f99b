import type { Readable } from 'node:stream';
import { MalformedPage, PageTooLarge } from './errors.ts';
import { enterLarge, largeFrom } from './large-pages.ts';
import { type Coding, codingsOf, unpack } from './unpack.ts';

/** A body, read to its end and unpacked. */
export interface Body {
  readonly text: string;
  /** Size as received, in bytes. */
  readonly bytes: number;
  /** Only of a large body: others wait until this is called. */
  readonly release?: () => void;
}

export interface BodyLimits {
  /** Most bytes, as received and as unpacked. */
  readonly maxBodyBytes: number;
  /** Called around every wait that is not the service's fault, so that it does not count against a time limit. */
  readonly aside: <T>(wait: Promise<T>) => Promise<T>;
  readonly signal: AbortSignal;
}

type Encoding = string | readonly string[] | undefined;

/** What a refusal has to say stands at its beginning, in bytes. */
const refusalBytes = 64 * 1024;

const decoder = new TextDecoder();

/**
 * Reads a body and unpacks it.
 * @throws PageTooLarge over the cap; MalformedPage where its encoding is not known or it cannot be unpacked
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
      // The rest stays on the wire meanwhile.
      if (bytes > largeFrom) await enter();
      chunks.push(chunk);
    }
    const packed = Buffer.concat(chunks.splice(0), bytes);
    const whole = await unpackWithin(packed, applied, maxBodyBytes, enter, release !== undefined);
    const text = decoder.decode(whole);
    return release ? { text, bytes, release } : { text, bytes };
  } catch (error) {
    release?.();
    throw error;
  }
}

/** Unpacks as if the body were not a large one; once it turns out to be, waits for its turn and begins again. */
async function unpackWithin(
  packed: Uint8Array,
  applied: readonly Coding[],
  maxBodyBytes: number,
  enter: () => Promise<void>,
  hasEntered: boolean,
): Promise<Uint8Array> {
  if (applied.length === 0) return packed;
  const small = Math.min(largeFrom, maxBodyBytes);
  try {
    return await unpack(packed, applied, hasEntered ? maxBodyBytes : small);
  } catch (error) {
    if (!isTooLarge(error)) throw cannotBeUnpacked(error);
  }
  if (!hasEntered && small < maxBodyBytes) {
    await enter();
    return unpackWithin(packed, applied, maxBodyBytes, enter, true);
  }
  throw new PageTooLarge(`The body unpacks to more than ${maxBodyBytes} bytes.`);
}

function isTooLarge(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
}

function cannotBeUnpacked(error: unknown): MalformedPage {
  return new MalformedPage(`The body cannot be unpacked: ${(error as NodeJS.ErrnoException).code}.`, {
    cause: error,
  });
}

/** Reads the beginning of a refusal's body, and leaves the rest; empty where it cannot be read. */
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
    return { text: decoder.decode(whole.subarray(0, refusalBytes)), bytes };
  } catch {
    // What a refusal means stands in its status: a broken body must not turn a 401 into something to retry.
    return { text: '', bytes };
  }
}
