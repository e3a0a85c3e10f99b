import { GmsiError } from '../errors.ts';
import {
  type AddressFault,
  RedirectRefused,
  RequestRefused,
  RetryableError,
  ServiceUnavailable,
  WrongAddress,
} from './errors.ts';

/** Addresses that have given a good answer, for as long as the process runs. */
export type AnsweredAddresses = Set<string>;

/** Tries of a request after which an address that never answered well is taken for wrong: resolvers and gateways hiccup. */
const triesToDoubt = 3;
/** Between them, so that they do not all fall into one hiccup, in milliseconds. */
const betweenTriesMs = 1000;

/**
 * Tells a wrong address from a service that is ill for the moment. The same error means the one before the first good
 * answer of the address and the other after it: a gateway's page, a name server or a redirect in the middle must not end a
 * night's load for good.
 */
export interface FirstContact {
  readonly address: string;
  readonly isOver: boolean;
  /** The least wait before a further try just now, in milliseconds. */
  readonly leastDelayMs: () => number;
  /** A good answer has come. */
  succeeded(): void;
  /** What the error of the nth try of a request for `path` means. */
  judge(error: unknown, path: string, attempt: number): Promise<unknown>;
}

export interface FirstContactOptions {
  /** Without it, errors are taken as they are. */
  readonly answered: AnsweredAddresses | undefined;
  readonly address: string;
  /** The variable that holds the address. */
  readonly setting: string;
  readonly maxAttempts: number;
  /** What every service has at this address, and how to ask for it; `undefined` if nothing is known. */
  readonly lookup: { readonly path: string; readonly ask: () => Promise<unknown> } | undefined;
}

export function firstContact(options: FirstContactOptions): FirstContact {
  const { answered, address, setting, maxAttempts, lookup } = options;
  const isOver = () => answered === undefined || answered.has(address);
  const wrong = (fault: AddressFault, cause: unknown) => new WrongAddress(setting, address, fault, cause);
  let secondOpinion: Promise<unknown> | undefined;

  /** A refused window may be just that. Whether the address is at fault shows by asking for a lookup, once. */
  async function judgeRefusal(error: RequestRefused, path: string): Promise<unknown> {
    if (!lookup) return error;
    if (path === lookup.path) return wrong(wrongPath(error, address), error);
    secondOpinion ??= lookup.ask().then(
      () => undefined,
      (opinion: unknown) => opinion,
    );
    const opinion = await secondOpinion;
    return opinion instanceof GmsiError && opinion.kind === 'fatal' ? opinion : error;
  }

  return {
    address,
    get isOver() {
      return isOver();
    },
    leastDelayMs: () => (isOver() ? 0 : betweenTriesMs),
    succeeded: () => void answered?.add(address),
    async judge(error, path, attempt) {
      if (!answered) return error;
      if (isOver()) return error instanceof RedirectRefused ? passing(error) : error;
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
  const what = `it refuses whatever is asked for with ${status} (${words})`;
  if (/https|ssl|tls/i.test(words) && origin.startsWith('http:'))
    return { what, hint: `Use ${origin.replace('http:', 'https:')}.` };
  const hint =
    pathname === '/v1'
      ? 'Check host and port. Is a path missing before /v1?'
      : `Check the path; /v1 is added to what is set. Should it be ${origin} alone?`;
  return { what, hint };
}
