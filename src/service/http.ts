import { isUtf8 } from 'node:buffer';
import { addAbortListener } from 'node:events';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { gunzip, type ZlibOptions } from 'node:zlib';
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
  /** The body, unpacked; that of a 2xx is UTF-8, without a byte order mark. */
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
   * body is cut short or cannot be unpacked; NotText if it is not UTF-8 or in another encoding; PageTooLarge if it is too large; the
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
        return { status, headers, content };
      }
      const content = await readBody(body, encoding, options.maxBodyBytes);
      return { status, headers, content: withoutMark(content) };
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
  const way = options.proxy ? ` ${wayThrough(options.proxy, error)}` : wayByProxy(error, origin);
  const hint = `Check the network and GMSI_BASE_URL, which leads to ${origin}.${way}`;
  const Named = unconnected.has(codeOf(error)) ? NotSent : ServiceUnavailable;
  const fault = addressFault && { ...addressFault, hint: `${addressFault.hint}${way}` };
  return new Named(what, { cause, hint, addressFault: fault });
}

/** Many networks let only a proxy resolve or reach other hosts. A port that refuses was reached. */
function wayByProxy(error: unknown, origin: string): string {
  const code = codeOf(error);
  if (!unconnected.has(code) || code === 'ECONNREFUSED') return '';
  const variable = origin.startsWith('https:') ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return ` If only a proxy can reach it: set ${variable} to the proxy, and do not name the host in NO_PROXY.`;
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
  return `No answer from the service: ${codeOf(error)}.`;
}

function codeOf(error: unknown): string {
  const { code, name } = error as NodeJS.ErrnoException;
  return code ?? name;
}

type Header = string | readonly string[] | undefined;

/** The most bytes of a refusal that are read. */
const refusalBytes = 256 * 1024;

/**
 * Reads a body and unpacks it.
 * @param maxBodyBytes most bytes, as received and as unpacked
 * @throws PageTooLarge if it is too large; NotText if its encoding is not gzip; MalformedPage if it cannot be unpacked
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
    // Most bodies are one chunk, because each chunk costs a round trip to another thread.
    const chunkSize = Math.min(Math.max(10 * packed.length, 16 * 1024), 1024 * 1024);
    return await unpack(packed, { maxOutputLength: maxBodyBytes, chunkSize });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new PageTooLarge(`The body unpacks to more than ${maxBodyBytes} bytes.`);
    throw new MalformedPage(`The body cannot be unpacked: ${code}.`, { cause });
  }
}

/**
 * Returns a body without its byte order mark.
 * @throws NotText if it is not UTF-8, as JSON must be (RFC 8259, 8.1): decoding it anyway would store U+FFFD for good
 */
export function withoutMark(bytes: Buffer): Buffer {
  if (!isUtf8(bytes)) throw new NotText('The body is not UTF-8.');
  return bytes.subarray(0, 3).toString() === '\ufeff' ? bytes.subarray(3) : bytes;
}

const unpackGzip = promisify<Buffer, ZlibOptions, Buffer>(gunzip);

/** Returns what unpacks a body. `x-gzip` is gzip (RFC 9110, 8.4.1.3). @throws NotText for an encoding not requested */
function unpackerOf(encoding: Header): typeof unpackGzip {
  const name = String(encoding ?? '').trim();
  if (/^(identity)?$/i.test(name)) return async (bytes) => bytes;
  if (/^(x-)?gzip$/i.test(name)) return unpackGzip;
  // Does not name the encoding: the service could put anything into a header.
  throw new NotText('The body has an encoding other than gzip.');
}
