import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Dispatcher, errors, Pool } from 'undici';
import { connectFault } from './connect-fault.ts';
import { MalformedPage, ServiceUnavailable } from './errors.ts';

const gunzipAsync = promisify(gunzip);
const decoder = new TextDecoder();

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** An answer of any status, its body read to the end. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Size of the body as received, in bytes. */
  readonly bytes: number;
}

export interface HttpOptions {
  /** Most connections open at a time. */
  readonly connections: number;
  /**
   * Until the connection stands, TLS included; until the headers are there; until the whole body is. Milliseconds,
   * of which undici keeps the first two to about a second.
   */
  readonly connectTimeout: number;
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
  /** The largest body, as received and as unpacked, in bytes. */
  readonly maxBodyBytes: number;
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Requests to one origin over kept-alive connections. */
export interface Http {
  /**
   * Sends one request. Redirects are not followed: the headers hold the key.
   * @param target path and query, encoded
   * @param json the body of a POST; without one it is a GET
   * @throws ServiceUnavailable without an answer in time; MalformedPage where a 200's body is cut short, over the
   * cap or cannot be unpacked; the signal's reason once it is aborted
   */
  send(target: string, json: string | undefined, signal: AbortSignal): Promise<HttpAnswer>;
  /** Closes the connections; requests under way fail. */
  close(): Promise<void>;
}

export function openHttp(origin: string, options: HttpOptions): Http {
  const pool = new Pool(origin, {
    connections: options.connections,
    connectTimeout: options.connectTimeout,
    headersTimeout: options.headersTimeout,
    bodyTimeout: 0, // undici's limits each pause, so that a byte now and then would hold a window for ever; see below
    maxResponseSize: options.maxBodyBytes,
  });
  const headers = { accept: 'application/json', 'accept-encoding': 'gzip', ...options.headers };

  async function send(target: string, json: string | undefined, signal: AbortSignal): Promise<HttpAnswer> {
    signal.throwIfAborted();
    const stop = new AbortController();
    const onAbort = () => stop.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    let bodyTimer: NodeJS.Timeout | undefined;
    try {
      const response = await pool.request({ ...bodyOf(json), path: target, signal: stop.signal });
      bodyTimer = setTimeout(() => stop.abort(new errors.BodyTimeoutError()), options.bodyTimeout);
      return await readAnswer(response, signal);
    } catch (error) {
      signal.throwIfAborted();
      throw asNamedError(error, origin, options);
    } finally {
      clearTimeout(bodyTimer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  async function readAnswer(response: Dispatcher.ResponseData, signal: AbortSignal): Promise<HttpAnswer> {
    const { statusCode: status, headers, body } = response;
    try {
      const received = await body.bytes();
      const gzipped = headers['content-encoding'] === 'gzip';
      const unpacked = gzipped
        ? await gunzipAsync(received, { maxOutputLength: options.maxBodyBytes })
        : received;
      return { status, headers, text: decoder.decode(unpacked), bytes: received.byteLength };
    } catch (error) {
      signal.throwIfAborted();
      // What a refusal means stands in its status: a broken body must not turn a 401 into something to retry.
      if (status >= 300) return { status, headers, text: '', bytes: 0 };
      throw error instanceof errors.BodyTimeoutError ? error : brokenBody(error, options);
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

  return { send, close: () => pool.destroy() };
}

function brokenBody(error: unknown, options: HttpOptions): MalformedPage {
  const code = codeOf(error);
  const tooLarge = code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE' || code === 'ERR_BUFFER_TOO_LARGE';
  return new MalformedPage(
    tooLarge
      ? `The body is larger than ${options.maxBodyBytes} bytes.`
      : `The body broke off or cannot be unpacked: ${code}.`,
    tooLarge
      ? { cause: error, hint: 'Ask for fewer records a page, or raise the limit on body size.' }
      : { cause: error },
  );
}

function asNamedError(error: unknown, origin: string, options: HttpOptions): unknown {
  if (error instanceof MalformedPage || error instanceof errors.InvalidArgumentError) return error;
  // A parser error carries what was received, in which the service could have echoed the key.
  const cause = error instanceof errors.HTTPParserError ? undefined : error;
  const addressFault = connectFault(error, origin);
  const what = addressFault ? `No answer from the service: ${addressFault.what}.` : describe(error, options);
  const hint = 'Check the network and GMSI_BASE_URL.';
  return new ServiceUnavailable(what, { cause, hint, addressFault });
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
