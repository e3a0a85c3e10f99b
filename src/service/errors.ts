import { type ErrorDetails, GmsiError, sentence } from '../errors.ts';

/** Why an address is probably wrong, and what to do. */
export interface AddressFault {
  /** Begins in lower case and has no full stop. */
  readonly what: string;
  readonly hint: string;
  /** The proxy at fault, if it is not the address; see `proxyName`. */
  readonly proxy?: string;
}

interface RetryableDetails extends ErrorDetails {
  readonly retryAfterMs?: number | undefined;
  readonly addressFault?: AddressFault | undefined;
}

/** The same request may succeed when it is sent again; see `withRetries`. */
export abstract class RetryableError extends GmsiError {
  override readonly kind = 'retryable';
  /** The least wait before the next try, in milliseconds; `undefined` if the service named none. */
  readonly retryAfterMs: number | undefined;
  readonly addressFault: AddressFault | undefined;

  constructor(message: string, details: RetryableDetails = {}) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
    this.addressFault = details.addressFault;
  }

  /** Adds the number of tries to the message; called once, after the last try. */
  givenUpAfter(tries: number): void {
    this.message = `${this.message.replace(/\.$/, '')} (given up after ${tries} ${tries === 1 ? 'try' : 'tries'})`;
  }
}

/** 429, a 403 with Retry-After, or a 200 with a note in place of data: too many requests for the key. */
export class RateLimited extends RetryableError {}

/** What to do about words that only a person understands. */
const ifNoData = 'If this means that there is no data, add the words to service.no_data in the job file.';

/** A 200 with a note in place of data or beside none. */
export class NoteInstead extends RateLimited {
  /** The service's message, cut and cleaned; see `serviceWords`. */
  readonly words: string;

  constructor(what: string, words: string, details: RetryableDetails) {
    // In the message, because a window's last_error has only the message.
    super(`${what}: ${sentence(words)} ${ifNoData}`, details);
    this.words = words;
  }
}

/** No answer (network, time limits), or an answer that reports a problem of the service (5xx, 408, 425). */
export class ServiceUnavailable extends RetryableError {}

/** No connection, so the request was not sent and costs nothing. */
export class NotSent extends ServiceUnavailable {}

/** The proxy wants another user or password (407), so no request can be sent. */
export class ProxyRefused extends GmsiError {
  override readonly kind = 'fatal';
}

/** A 200 with an unusable body: not JSON, not the envelope, or cut short. */
export class MalformedPage extends RetryableError {}

/** A 200 that may be whole, but says something new beside no records or the last ones. It is believed if it comes again. */
export class DoubtfulAnswer extends MalformedPage {}

/** A 200 that is too large for memory. Not retried, because it would be too large again. */
export class PageTooLarge extends GmsiError {
  override readonly kind = 'skippable';
  override readonly causeCode = 'too large';

  constructor(message: string) {
    super(message, {
      hint: 'Set a smaller service.page_size in the job file, or a larger service.max_body_bytes if memory allows.',
    });
  }
}

/** A 200 that is not UTF-8, or in an encoding other than gzip. Not retried, because its bytes would be the same again. */
export class NotText extends GmsiError {
  override readonly kind = 'skippable';
  override readonly causeCode = 'unexpected';

  constructor(message: string) {
    super(message, { hint: 'Tell the vendor. A shorter step in the job file leaves fewer days out.' });
  }
}

/** 401, or 403 for everything. No request with this key can succeed, so the load ends instead of failing every window. */
export class KeyRefused extends GmsiError {
  override readonly kind = 'fatal';
  readonly status: number;

  constructor(status: number, words: string) {
    super(`The service refused the API key with ${status}: ${words}`, {
      hint:
        status === 402
          ? 'Ask the vendor whether a payment for the key is due.'
          : 'Check GMSI_API_KEY (or the file that GMSI_API_KEY_FILE names), and that the key may read this feed.',
    });
    this.status = status;
  }
}

/** A 4xx. The same request would get it again. */
export class RequestRefused extends GmsiError {
  override readonly kind = 'skippable';
  readonly status: number;
  /** The service's message, cut and cleaned; see `serviceWords`. */
  readonly words: string;
  /** True if any web server may give this answer for an unknown path; the service may give it for a window, too. */
  readonly isForeign: boolean;
  /** True if the key may not read what was asked; it may read other series. */
  readonly isOfKey: boolean;

  constructor(
    path: string,
    status: number,
    words: string,
    { isForeign = false, mayMeanNoData = false } = {},
  ) {
    // In the message, because a window's last_error has only the message.
    super(
      `The service refused ${path} with ${status}: ${mayMeanNoData ? `${sentence(words)} ${ifNoData}` : words}`,
    );
    this.isForeign = isForeign;
    this.isOfKey = status === 402 || status === 403;
    this.status = status;
    this.words = words;
  }
}

/** A 4xx for the page size, which all pages of a job share. */
export class PageSizeRefused extends GmsiError {
  override readonly kind = 'fatal';

  constructor(pageSize: number, cause: RequestRefused) {
    super(`The service does not accept a page size of ${pageSize}: ${cause.words}`, {
      hint: 'Set service.page_size in the job file to one that it accepts.',
      cause,
    });
  }
}

/** A 3xx. Never followed, because the key would go to another address. Other requests would get it, too. */
export class RedirectRefused extends GmsiError {
  override readonly kind = 'fatal';
  /**
   * True if the address of the same path is spelled otherwise, with a slash or, for good, at another origin. That is no page of
   * maintenance and no login, and does not pass.
   */
  readonly isLasting: boolean;

  constructor(path: string, status: number, target = 'nowhere') {
    const asked = target.replace(/^https?:\/\/[^/]*/i, '');
    const isOfSlash = asked === `${path}/`;
    super(`The service redirects ${path} (${status}) to ${target}, and redirects are not followed.`, {
      hint: isOfSlash
        ? 'Tell the vendor that the documented path, without a slash at its end, is not answered.'
        : 'Set GMSI_BASE_URL to the address that answers without a redirect (https://, nothing after /v1).',
    });
    this.isLasting = isOfSlash || (asked === path && (status === 301 || status === 308));
  }
}

/** Begins the message of an error of the proxy. */
export function noConnectionThrough(proxy: string): string {
  return `No connection through the proxy ${proxy}`;
}

/** The address never gave a good answer, and waiting will not help. */
export class WrongAddress extends GmsiError {
  override readonly kind = 'fatal';

  /** @param setting the variable that sets the address */
  constructor(setting: string, address: string, { what, hint, proxy }: AddressFault, cause: unknown) {
    const where = proxy ? noConnectionThrough(proxy) : `No service answers at ${setting} (${address})`;
    super(`${where}: ${what}.`, { hint, cause });
  }
}

/** A cursor that is missing, unusable or repeats itself, so that the rest of the window cannot be requested. */
export class CursorBroken extends GmsiError {
  override readonly kind = 'skippable';
  override readonly causeCode = 'cursor';
}

/** A lookup (countries, topics) has an unknown shape. No job can be resolved without it. */
export class LookupUnreadable extends GmsiError {
  override readonly kind = 'fatal';
}

/** The outcomes of a request in the metrics; `malformed` is a good status without readable data. */
export const requestOutcomes = ['ok', '3xx', '429', '4xx', '5xx', 'malformed', 'network', 'aborted'] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];

/**
 * The outcome of a request that was sent.
 * @param status of the answer; `undefined` if none was read
 * @param failure the error of the request; `undefined` if it succeeded
 */
export function outcomeOf(
  status: number | undefined,
  failure: unknown,
  { aborted }: Pick<AbortSignal, 'aborted'>,
): RequestOutcome {
  if (status === 429) return '429';
  if (status !== undefined && status >= 500) return '5xx';
  if (status !== undefined && status >= 400) return '4xx';
  if (status !== undefined && status >= 300) return '3xx';
  if ([MalformedPage, NotText, PageTooLarge, RateLimited].some((named) => failure instanceof named))
    return 'malformed';
  if (status === undefined) return aborted ? 'aborted' : 'network';
  return failure === undefined || aborted ? 'ok' : 'malformed';
}
