import { errors } from 'undici';
import { kindOf } from '../errors.ts';
import {
  type AddressFault,
  NotSent,
  RedirectRefused,
  RequestRefused,
  RetryableError,
  ServiceUnavailable,
  WrongAddress,
} from './errors.ts';

/** Addresses that have given a good answer, for as long as the process runs. */
export type AnsweredAddresses = Set<string>;

/**
 * After this many tries, an address that never gave a good answer counts as wrong. More than one, because resolvers and
 * gateways fail now and then.
 */
const triesToDoubt = 3;
/** Tries without a connection, which take some seconds. One connection timeout takes as long by itself. */
const triesToConnect = 4;
/** Milliseconds between these tries, so that one short failure does not hit them all. */
const betweenTriesMs = 1000;

interface FirstContactOptions {
  /** If `undefined`, errors are not judged. */
  readonly answered?: AnsweredAddresses;
  /** Returns true if the address has given a good answer to any process; it is asked before an error is judged. */
  readonly recall?: (address: string) => Promise<boolean>;
  readonly address: string;
  /** The variable that sets the address. */
  readonly setting: string;
  readonly maxAttempts: number;
  /** A lookup that every service has; `undefined` if none is known. */
  readonly lookup: { readonly path: string; readonly ask: () => Promise<unknown> } | undefined;
}

/**
 * Tells a wrong address from a service that is down. Before the first good answer of an address to any process, an error may
 * mean that the address is wrong. After it, the same error is temporary: a gateway's page, a name server or a redirect must not
 * end a long load.
 */
export function firstContact(options: FirstContactOptions) {
  const { answered, recall, address, setting, maxAttempts, lookup } = options;
  const isOver = () => answered === undefined || answered.has(address);
  const wrong = (fault: AddressFault, cause: unknown) => new WrongAddress(setting, address, fault, cause);
  let secondOpinion: Promise<unknown> | undefined;
  let recalled: Promise<boolean> | undefined;

  /** A refusal may concern only the window. One request for a lookup shows whether the address is wrong. */
  async function judgeRefusal(error: RequestRefused, path: string): Promise<unknown> {
    if (!lookup) return error;
    if (path === lookup.path) return wrong(wrongPath(error, address), error);
    secondOpinion ??= lookup.ask().then(
      () => undefined,
      (opinion: unknown) => opinion,
    );
    const opinion = await secondOpinion;
    const kind = kindOf(opinion);
    return kind === 'fatal' || kind === 'budget' ? opinion : error;
  }

  return {
    address,
    /** The least wait before the next try, in milliseconds. */
    leastDelayMs: () => (isOver() ? 0 : betweenTriesMs),
    /** Returns true if an address that never gave a good answer accepts no connection, so that a person need not wait longer. */
    givesUp: (error: Error, attempt: number) =>
      !isOver() &&
      error instanceof NotSent &&
      (attempt >= triesToConnect || error.cause instanceof errors.ConnectTimeoutError),
    /** Call it after a good answer. */
    succeeded: () => void answered?.add(address),
    /** Returns the error to report when the nth try of a request for `path` has failed. */
    async judge(error: unknown, path: string, attempt: number): Promise<unknown> {
      if (!answered) return error;
      if (!isOver() && recall) {
        recalled ??= recall(address);
        if (await recalled) answered.add(address);
      }
      if (isOver()) return error instanceof RedirectRefused && !error.isLasting ? passing(error) : error;
      if (error instanceof RetryableError && error.addressFault)
        return attempt >= Math.min(triesToDoubt, maxAttempts) ? wrong(error.addressFault, error) : error;
      return error instanceof RequestRefused && error.isForeign ? judgeRefusal(error, path) : error;
    },
  };
}

function passing(error: RedirectRefused): ServiceUnavailable {
  return new ServiceUnavailable(error.message, { cause: error, ...(error.hint && { hint: error.hint }) });
}

function wrongPath({ status, words }: RequestRefused, address: string): AddressFault {
  const { origin, pathname } = new URL(address);
  const what = `it refuses every request with ${status} (${words})`;
  if (/https|ssl|tls/i.test(words) && origin.startsWith('http:'))
    return { what, hint: `Use ${origin.replace('http:', 'https:')}.` };
  const hint =
    pathname === '/v1'
      ? 'Check host and port. Is a path missing before /v1?'
      : `Check the path; /v1 is added to what is set. Should it be ${origin} alone?`;
  return { what, hint };
}
