import pRetry from 'p-retry';
import { ConfigError } from '../errors.ts';

/** These pass soon if a server is restarting or a resolver fails; otherwise the address is wrong. */
const nobodyThere = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT', 'ECONNRESET', 'ENOTFOUND'];

/** `pg` has no code for the first one. The second is what a server of another kind answers to a request for TLS. */
const noAnswer = /^Connection terminated unexpectedly$|establishing an SSL connection/;

/**
 * Waits for the first answer of a warehouse. Tries for some seconds, because a server may be restarting or a resolver may fail
 * for a moment. After that, even an error that would be temporary in the middle of a load means that the address is wrong.
 */
export async function firstAnswer<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await pRetry(ask, {
      retries: 4,
      minTimeout: 250,
      shouldRetry: ({ error }) => isOfAddress(error) || codeOf(error) === 'EAI_AGAIN',
    });
  } catch (error) {
    const cause = error as Error;
    if (!isOfAddress(cause)) throw cause;
    throw new ConfigError(
      `No PostgreSQL answers at the warehouse's address: ${cause.message || codeOf(cause)}`,
      {
        cause,
        hint: 'Is the server running? Check host and port in DATABASE_URL (or PGHOST and PGPORT).',
      },
    );
  }
}

function isOfAddress(error: Error): boolean {
  return nobodyThere.includes(codeOf(error)) || noAnswer.test(error.message);
}

function codeOf({ code = '' }: NodeJS.ErrnoException): string {
  return code;
}
