import pRetry from 'p-retry';
import { namedDatabaseError, WarehouseUnavailable } from '../warehouse/errors.ts';

/**
 * Runs a piece of warehouse work again while the warehouse is restarting, out of connections, or broke a deadlock:
 * for about two minutes, then the error is let through. The work must be a whole transaction, or read only.
 */
export function withWarehouseRetries<T>(
  work: (attempt: number) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return pRetry(
    async (attempt) => {
      try {
        return await work(attempt);
      } catch (error) {
        throw namedDatabaseError(error);
      }
    },
    {
      ...{ retries: 30, minTimeout: 100, factor: 1.6, maxTimeout: 5_000, randomize: true },
      shouldRetry: ({ error }) => error instanceof WarehouseUnavailable,
      ...(signal ? { signal } : {}),
    },
  );
}
