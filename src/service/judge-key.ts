import { kindOf } from '../errors.ts';
import { feedNamed } from '../feeds/catalog.ts';
import { KeyRefused, type RequestRefused } from './errors.ts';
import type { ServiceRequest } from './page.ts';

/** Refusals in a row, of what was asked, after which the key is tried again. */
const refusalsInARow = 10;

/**
 * Tells a key that is refused for everything from one that may not read what was asked: tries it with the request that was
 * answered last, else with a list that the feed needs.
 * @param send sends a request that tries the key
 */
export function keyJudge(send: (request: ServiceRequest) => Promise<unknown>) {
  let answeredLast: ServiceRequest | undefined;
  let refusals = 0;
  let trial: { of: ServiceRequest; since: ServiceRequest | undefined; end: Promise<unknown> } | undefined;

  return {
    /** Returns true for a request that tries the key: the request that it is for reports what it means. */
    isTrial: (request: ServiceRequest) => request === trial?.of,
    /** Call it after a good answer. */
    succeeded(request: ServiceRequest) {
      answeredLast = request;
      refusals = 0;
    },
    /** Returns the error to report for a refusal. */
    async judge(error: RequestRefused, request: ServiceRequest): Promise<unknown> {
      const known = answeredLast ?? listFor(request);
      if (request === trial?.of || (!answeredLast && request.path === known.path))
        return new KeyRefused(error.status, error.words);
      if (!trial || ++refusals % refusalsInARow === 0) {
        const of = { ...known };
        const end = send(of).catch((refused: unknown) => refused);
        trial = { of, since: answeredLast, end };
      }
      const { since, end } = trial;
      const kind = kindOf(await end);
      // An answer to another request, meanwhile, shows that the key is not refused for everything.
      return kind === 'budget' || (kind === 'fatal' && answeredLast === since) ? end : error;
    },
  };
}

/** A list that whoever may read any series of the feed may read. */
function listFor({ feed }: ServiceRequest): ServiceRequest {
  const isOfTickers = feed !== undefined && feedNamed(feed).dimensions.includes('ticker');
  return { path: isOfTickers ? '/ticker' : '/countries', query: {} };
}
