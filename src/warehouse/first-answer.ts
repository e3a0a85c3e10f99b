import pRetry from 'p-retry';
import { ConfigError } from '../errors.ts';

/** These pass soon if a server is restarting; otherwise the address is wrong. */
const nobodyThere = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT', 'ECONNRESET'];

/**
 * Waits for the first answer of a warehouse. Tries for some seconds, because a server may be restarting or a resolver may fail
 * for a moment. After that, even an error that would be temporary in the middle of a load means that the address is wrong.
 */
export async function firstAnswer<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await pRetry(ask, {
      retries: 4,
      minTimeout: 250,
      shouldRetry: ({ error, attemptNumber }) => mayPass(error, attemptNumber),
    });
  } catch (error) {
    throw wrongAddress(error as Error) ?? error;
  }
}

function mayPass(error: Error, tries: number): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'ENOTFOUND') return tries < 3;
  return [...nobodyThere, 'EAI_AGAIN'].includes(code) || wasCut(error);
}

/** Returns true if the connection ended before its first answer; `pg` has no code for that. */
function wasCut(error: Error): boolean {
  return error.message === 'Connection terminated unexpectedly';
}

function wrongAddress(cause: Error): ConfigError | undefined {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const told = (what: string, hint: string) => new ConfigError(what, { cause, hint });
  if (code === 'ENOTFOUND') {
    return told(`The warehouse's host is unknown: ${message}`, 'Check the host in DATABASE_URL (or PGHOST).');
  }
  // The last one is what a server of another kind answers to a request for TLS.
  if (nobodyThere.includes(code) || wasCut(cause) || /establishing an SSL connection/.test(message)) {
    return told(
      `No PostgreSQL answers at the warehouse's address: ${message || code}`,
      'Is the server running? Check host and port in DATABASE_URL (or PGHOST and PGPORT).',
    );
  }
  return undefined;
}
