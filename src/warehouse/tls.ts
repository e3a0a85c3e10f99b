import type { ConnectionOptions } from 'node:tls';
import { parse } from 'pg-connection-string';
import type { TlsSettings } from '../config/warehouse-address.ts';
import { ConfigError } from '../errors.ts';

const modes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'];
const parameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const;

/**
 * Returns the TLS settings of an address, and the address without them, because pg would interpret them differently and warn.
 */
export function withoutTls(address: string): { address: string; tls: TlsSettings } {
  const url = new URL(address);
  const tls: Record<string, string> = {};
  for (const name of parameters) {
    const value = url.searchParams.get(name);
    if (value) tls[name] = value;
    url.searchParams.delete(name);
  }
  return { address: Object.keys(tls).length === 0 ? address : url.href, tls };
}

/**
 * Returns the settings as Node takes them, with the meaning that they have for libpq and psql: `require` encrypts and does
 * not verify the server, unless a root certificate is named; `verify-ca` does not check the host's name. `prefer` is `require`:
 * nothing is tried twice.
 * @returns `undefined` if nothing is set, which means no encryption
 * @throws ConfigError if there is no such mode, or a file cannot be read
 */
export function tlsOptions(tls: TlsSettings): ConnectionOptions | false | undefined {
  const given = Object.fromEntries(Object.entries(tls).filter(([, value]) => value));
  if (Object.keys(given).length === 0) return undefined;
  const { sslmode = 'verify-full' } = tls;
  if (!modes.includes(sslmode))
    throw new ConfigError(`sslmode is "${sslmode}".`, { hint: `It is one of ${modes.join(', ')}.` });
  if (sslmode === 'disable') return false;
  const query = new URLSearchParams({ ...given, sslmode, uselibpqcompat: 'true' });
  try {
    return parse(`postgres://?${query}`).ssl as ConnectionOptions | false;
  } catch (cause) {
    throw new ConfigError(`The TLS settings of the warehouse cannot be used: ${(cause as Error).message}`, {
      cause,
      hint: 'sslrootcert, sslcert and sslkey are PEM files, named by their path from the working directory or from /.',
    });
  }
}

const failed =
  /^(ERR_SSL_|ERR_OSSL_|ERR_TLS_|EPROTO$|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|INVALID_(CA|PURPOSE)$)/;

/**
 * Returns an error that says what is wrong with the encryption of a connection, and what to do; `undefined` for other errors.
 */
export function tlsProblem(error: Error & { code?: string }): ConfigError | undefined {
  const { code = '', message } = error;
  const problem = (what: string, hint: string) =>
    new ConfigError(`${what}: ${message}`, { cause: error, hint });
  if (/does not support SSL connections/.test(message))
    return problem(
      "The warehouse's server does not encrypt",
      'Turn it on there (ssl = on and a certificate in postgresql.conf). If nobody else can read the network, ' +
        'use sslmode=disable.',
    );
  if (code === '28000' && /no encryption|SSL off/.test(message))
    return problem(
      "The warehouse's server requires an encrypted connection",
      'Add ?sslmode=require to DATABASE_URL (or set PGSSLMODE=require).',
    );
  if (failed.test(code) || /error establishing an SSL connection/.test(message))
    return problem(
      'The encrypted connection to the warehouse fails',
      'Name the authority that signed the certificate (sslrootcert=/path/to/ca.pem), and use the host name in ' +
        'it; or sslmode=require, which encrypts without verifying the server.',
    );
  return undefined;
}
