import { Socket } from 'node:net';
import pRetry from 'p-retry';
import { ConfigError } from '../errors.ts';

/** The server at the warehouse's address is not PostgreSQL. */
class AnotherProtocol extends Error {
  readonly code = 'ANOTHER_PROTOCOL';

  constructor() {
    super('the program that listens there does not speak the protocol of PostgreSQL');
  }
}

/** First bytes of PostgreSQL: authentication, an error, a notice, a version; and its two answers to a request for TLS. */
const firstBytes = { plain: 'RENv', tls: 'SNE' };

/**
 * Returns a socket for `pg` that closes if the first byte is not PostgreSQL's: `pg` would read the banner of another service
 * as the length of a message, and wait for the rest.
 */
export function postgresSocket({
  ssl,
  sslNegotiation,
}: {
  ssl?: unknown;
  sslNegotiation?: unknown;
} = {}): Socket {
  const socket = new Socket();
  if (sslNegotiation === 'direct') return socket;
  const expected = ssl ? firstBytes.tls : firstBytes.plain;
  socket.once('data', (bytes: Buffer) => {
    if (!expected.includes(String.fromCharCode(bytes[0]!))) socket.destroy(new AnotherProtocol());
  });
  return socket;
}

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
  if (nobodyThere.includes(code)) {
    return told(
      `No PostgreSQL answers at the warehouse's address: ${message || code}`,
      'Is the server running? Check host and port in DATABASE_URL (or PGHOST and PGPORT).',
    );
  }
  if (cause instanceof AnotherProtocol || wasCut(cause) || /establishing an SSL connection/.test(message)) {
    const what = wasCut(cause) ? 'it closes the connection without an answer' : new AnotherProtocol().message;
    return told(
      `No PostgreSQL answers at the warehouse's address: ${what}`,
      'Check the port in DATABASE_URL (or PGPORT); PostgreSQL usually uses 5432.',
    );
  }
  return undefined;
}
