import { isUtf8 } from 'node:buffer';
import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, type ZlibOptions } from 'node:zlib';
import { type Dispatcher, errors } from 'undici';
import type { ServiceSettings } from '../config/job.ts';
import { type HttpProxy, proxyName } from '../config/proxies.ts';
import { GmsiError } from '../errors.ts';
import { certificateCodes, connectFault, openAgent } from './agent.ts';
import { MalformedPage, NotSent, NotText, PageTooLarge, ServiceUnavailable } from './errors.ts';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** An answer of any status with its body; that of a refusal is empty if it cannot be read. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The body, unpacked; UTF-8, without a byte order mark. */
  readonly content: Buffer;
}

/**
 * Time limits in milliseconds: for the connection with TLS, for the headers and for the whole body; undici checks the first
 * two only about once a second. `maxBodyBytes` limits the body both as received and unpacked.
 */
export interface HttpOptions
  extends Pick<ServiceSettings, 'connectTimeout' | 'headersTimeout' | 'bodyTimeout' | 'maxBodyBytes'> {
  /** The most connections open at a time. */
  readonly connections: number;
  /** On the way to the origin. */
  readonly proxy?: HttpProxy | undefined;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests to one origin over kept-alive connections. */
export type Http = ReturnType<typeof openHttp>;

export function openHttp(origin: string, options: HttpOptions) {
  const { connections, connectTimeout, headersTimeout } = options;
  const agent = openAgent(options.proxy, {
    connections,
    connectTimeout,
    headersTimeout,
    bodyTimeout: 0, // undici's only limits pauses: with a byte now and then, a window would never end; see below
  });
  const headers = { accept: 'application/json', 'accept-encoding': 'gzip', ...options.headers };

  /**
   * Sends one request. Does not follow redirects, because the headers contain the key.
   * @param target path and query, encoded
   * @param json the body of a POST; without one it is a GET
   * @throws NotSent without a connection; ProxyRefused; ServiceUnavailable without an answer in time; MalformedPage if a 200's
   * body is cut short or cannot be unpacked; NotText if its bytes are no known text; PageTooLarge if it is too large; the
   * signal's reason once it is aborted
   */
  async function send(target: string, json: string | undefined, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const stop = new AbortController();
    using _listening = addAbortListener(signal, () => stop.abort(signal.reason));
    let bodyTime: NodeJS.Timeout | undefined;
    try {
      const response = await agent.request({ ...bodyOf(json), origin, path: target, signal: stop.signal });
      bodyTime = setTimeout(() => stop.abort(new errors.BodyTimeoutError()), options.bodyTimeout);
      return await readAnswer(response, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw asNamedError(error, origin, options);
    } finally {
      clearTimeout(bodyTime);
    }
  }

  async function readAnswer(
    { statusCode: status, headers, body }: Dispatcher.ResponseData,
    signal: AbortSignal,
  ): Promise<HttpAnswer> {
    const encoding = headers['content-encoding'];
    try {
      if (status >= 300) {
        // The status alone decides: a body that is broken or too large must not make a 401 retryable.
        const content = await readBody(body, encoding, refusalBytes).catch(() => {
          body.on('error', () => {}).destroy();
          return Buffer.alloc(0);
        });
        signal.throwIfAborted();
        return { status, headers, content: wordsAsUtf8(content, headers['content-type']) };
      }
      const content = await readBody(body, encoding, options.maxBodyBytes);
      return { status, headers, content: asUtf8(content, headers['content-type']) };
    } catch (error) {
      // With an unknown encoding, the body was not read, and the connection must not wait for it.
      body.on('error', () => {}).destroy();
      signal.throwIfAborted();
      throw isNamed(error) || error instanceof errors.BodyTimeoutError ? error : brokenBody(error);
    }
  }

  function bodyOf(json: string | undefined) {
    if (json === undefined) return { method: 'GET' as const, headers };
    return {
      method: 'POST' as const,
      headers: { ...headers, 'content-type': 'application/json' },
      body: json,
    };
  }

  /** Closes the connections; requests under way fail. */
  const close = () => agent.destroy();

  return { send, close };
}

function isNamed(error: unknown): boolean {
  return error instanceof MalformedPage || error instanceof NotText || error instanceof PageTooLarge;
}

function brokenBody(error: unknown): MalformedPage {
  return new MalformedPage(`The body broke off: ${codeOf(error)}.`, { cause: error });
}

const unconnected = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
]);

function asNamedError(error: unknown, origin: string, options: HttpOptions): unknown {
  if (error instanceof GmsiError || error instanceof errors.InvalidArgumentError) return error;
  // A parser error contains what was received, and the service could have echoed the key.
  const cause = error instanceof errors.HTTPParserError ? undefined : error;
  const addressFault = connectFault(error, origin);
  const what = addressFault ? `No answer from the service: ${addressFault.what}.` : describe(error, options);
  const way = options.proxy ? ` ${wayThrough(options.proxy, error)}` : '';
  const hint = `Check the network and GMSI_BASE_URL, which leads to ${origin}.${way}`;
  const Named = unconnected.has(codeOf(error)) ? NotSent : ServiceUnavailable;
  const fault = addressFault && { ...addressFault, hint: `${addressFault.hint}${way}` };
  return new Named(what, { cause, hint, addressFault: fault });
}

function wayThrough(proxy: HttpProxy, error: unknown): string {
  const maybe = certificateCodes.test(codeOf(error))
    ? ', which may read TLS and show a certificate of its own authority'
    : '';
  return `Connections go through the proxy ${proxyName(proxy)}${maybe}.`;
}

function describe(error: unknown, options: HttpOptions): string {
  if (error instanceof errors.ConnectTimeoutError)
    return `No connection within ${options.connectTimeout} ms.`;
  if (error instanceof errors.HeadersTimeoutError) return `No answer within ${options.headersTimeout} ms.`;
  if (error instanceof errors.BodyTimeoutError)
    return `The body was not complete within ${options.bodyTimeout} ms.`;
  if (error instanceof errors.HeadersOverflowError)
    return "The answer's headers are larger than the 16 kB that are read.";
  return `No answer from the service: ${codeOf(error)}.`;
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}

type Header = string | readonly string[] | undefined;

/** The most bytes of a refusal that are read. */
const refusalBytes = 256 * 1024;

/** Returns the bytes to unpack at a time. Most bodies are one piece, because each piece costs a round trip to another thread. */
function chunkSizeFor(packed: Buffer): number {
  return Math.min(Math.max(10 * packed.length, 16 * 1024), 1024 * 1024);
}

/**
 * Reads a body and unpacks it.
 * @param maxBodyBytes most bytes, as received and as unpacked
 * @throws PageTooLarge if it is too large; NotText if its encoding is not known; MalformedPage if it cannot be unpacked
 */
async function readBody(body: Readable, encoding: Header, maxBodyBytes: number): Promise<Buffer> {
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
    return await unpack(packed, options);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new PageTooLarge(`The body unpacks to more than ${maxBodyBytes} bytes.`);
    throw new MalformedPage(`The body cannot be unpacked: ${code}.`, { cause });
  }
}

/**
 * Returns a body's text as UTF-8, decoded from the charset that its Content-Type declares. Removes a byte order mark.
 * @throws NotText if the charset is not known, or the bytes are not of it: decoding them anyway would store U+FFFD for good
 */
export function asUtf8(bytes: Buffer, contentType: Header): Buffer {
  const decoder = decoderFor(contentType);
  if (decoder && decoder.encoding !== 'utf-8') {
    try {
      const text = decoder.decode(bytes);
      return Buffer.from(decoder.encoding === 'windows-1252' ? withWindows1252(text) : text);
    } catch (cause) {
      throw new NotText('The body is not in the charset that it declares.', { cause });
    }
  }
  if (!isUtf8(bytes))
    throw new NotText(`The body is not UTF-8${decoder ? '' : ', and declares no charset'}.`);
  return bytes.subarray(0, 3).toString() === '\ufeff' ? bytes.subarray(3) : bytes;
}

/** The characters of 0x80 to 0x9F in windows-1252, which ISO-8859-1 and US-ASCII mean, too (WHATWG Encoding). */
const windows1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** Replaces the control characters that some versions of Node.js decode these bytes to (nodejs/node#60888). */
function withWindows1252(text: string): string {
  return text.replace(/[\x80-\x9f]/g, (control) => windows1252[control.charCodeAt(0) - 0x80]!);
}

/** Returns the same for a refusal, whose words only a person reads: broken characters become U+FFFD. */
function wordsAsUtf8(bytes: Buffer, contentType: Header): Buffer {
  try {
    return asUtf8(bytes, contentType);
  } catch {
    return Buffer.from(bytes.toString());
  }
}

/** @throws NotText if the charset is not known */
function decoderFor(contentType: Header) {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec([contentType ?? ''].flat().join())?.[1];
  try {
    return charset === undefined ? undefined : new TextDecoder(charset, { fatal: true });
  } catch (cause) {
    throw new NotText('The body declares a charset that is not known.', { cause });
  }
}

type Unpack = (packed: Buffer, options: ZlibOptions) => Promise<Buffer>;

const asItIs: Unpack = async (bytes) => bytes;

const unpackGzip: Unpack = promisify<Buffer, ZlibOptions, Buffer>(gunzip);
const unpackZlib: Unpack = promisify<Buffer, ZlibOptions, Buffer>(inflate);
const unpackRaw: Unpack = promisify<Buffer, ZlibOptions, Buffer>(inflateRaw);

/** Unpacks `deflate`, which is zlib's format (RFC 9110, 8.4.1.2); some servers leave its header (RFC 1950, 2.2) out. */
const unpackDeflate: Unpack = (packed, options) => {
  const hasHeader = packed.length >= 2 && (packed[0]! & 0x0f) === 8 && packed.readUInt16BE() % 31 === 0;
  return hasHeader ? unpackZlib(packed, options) : unpackRaw(packed, options);
};

/** Requests accept only gzip, but a proxy may choose another encoding. `x-gzip` is gzip (RFC 9110, 8.4.1.3). */
const unpackers = new Map<string, Unpack>([
  ['', asItIs],
  ['identity', asItIs],
  ['gzip', unpackGzip],
  ['x-gzip', unpackGzip],
  ['deflate', unpackDeflate],
  ['br', promisify<Buffer, ZlibOptions, Buffer>(brotliDecompress)],
]);

/** @throws NotText for any other encoding */
function unpackerOf(encoding: Header): Unpack {
  const unpack = unpackers.get([encoding ?? ''].flat().join(',').trim().toLowerCase());
  // Does not name the encoding: the service could put anything into a header.
  if (!unpack) throw new NotText('The body has an encoding other than gzip, deflate or br.');
  return unpack;
}
