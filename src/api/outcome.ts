import { MalformedPage, PageTooLarge } from './errors.ts';

/** What can come of a request that was sent, as metrics count it; `malformed` is a good status with an unreadable body. */
export const requestOutcomes = ['ok', '3xx', '429', '4xx', '5xx', 'malformed', 'network', 'aborted'] as const;
export type RequestOutcome = (typeof requestOutcomes)[number];

/**
 * What came of a request that was sent.
 * @param status of the answer; `undefined` where none was read
 * @param failure what the request failed with; `undefined` where it did not
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
  if (failure instanceof MalformedPage || failure instanceof PageTooLarge) return 'malformed';
  if (status !== undefined) return 'ok';
  return aborted ? 'aborted' : 'network';
}
