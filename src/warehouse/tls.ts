import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { TlsSettings } from '../config/environment.ts';
import { ConfigError } from '../errors.ts';

const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'] as const;
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
  url.searchParams.delete('uselibpqcompat');
  return { address: Object.keys(tls).length === 0 ? address : url.href, tls };
}

/**
 * Returns the settings as Node takes them, with the meaning that they have for libpq and psql: `require` encrypts and does
 * not verify the server, unless a root certificate is named; `verify-ca` does not check the host's name. `allow` does not
 * encrypt, and `prefer` is `require`: nothing is tried twice.
 * @returns `undefined` if nothing is set, which means no encryption
 * @throws ConfigError if there is no such mode, or a file cannot be read
 */
export function tlsOptions({
  sslmode,
  sslrootcert,
  sslcert,
  sslkey,
}: TlsSettings): ConnectionOptions | false | undefined {
  if (sslmode === undefined && !sslrootcert && !sslcert) return undefined;
  const known = modes.find((name) => name === (sslmode ?? 'verify-full'));
  if (known === undefined)
    throw new ConfigError(`sslmode is "${sslmode}".`, {
      hint: `It is one of ${modes.slice(0, -1).join(', ')}.`,
    });
  if (known === 'disable' || known === 'allow') return false;
  const isSystem = sslrootcert === 'system';
  if (known === 'verify-ca' && (!sslrootcert || isSystem))
    throw new ConfigError('sslmode=verify-ca needs the certificate of an authority that you trust.', {
      hint: 'Name its file: sslrootcert=/path/to/ca.pem. With a public authority use sslmode=verify-full.',
    });
  const options: ConnectionOptions = {
    ...(sslrootcert && !isSystem && { ca: read('sslrootcert', sslrootcert) }),
    ...(sslcert && { cert: read('sslcert', sslcert) }),
    ...(sslkey && { key: read('sslkey', sslkey) }),
  };
  if (known === 'verify-full' || isSystem) return options;
  if (known !== 'no-verify' && known !== 'prefer' && sslrootcert)
    return { ...options, checkServerIdentity: () => undefined };
  return { ...options, rejectUnauthorized: false };
}

function read(parameter: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw new ConfigError(`The file of ${parameter} cannot be read: ${(cause as Error).message}`, {
      cause,
      hint: 'It is a PEM file, named by its path from the working directory or from /.',
    });
  }
}

const untrusted =
  /^(SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE|CERT_REJECTED|INVALID_CA|INVALID_PURPOSE)$/;

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
      'Turn it on there (ssl = on and a certificate in postgresql.conf). If nobody else can read the network, use sslmode=disable.',
    );
  if (code === '28000' && /no encryption|SSL off/.test(message))
    return problem(
      "The warehouse's server requires an encrypted connection",
      'Add ?sslmode=require to DATABASE_URL (or set PGSSLMODE=require).',
    );
  if (untrusted.test(code))
    return problem(
      "The certificate of the warehouse's server is not trusted",
      'Name the file of the authority that signed it, sslrootcert=/path/to/ca.pem; or sslmode=require, which encrypts without verifying the server.',
    );
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return problem(
      "The certificate of the warehouse's server is for another host",
      'Use the name in the certificate in DATABASE_URL, or sslmode=verify-ca, which does not compare names.',
    );
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return problem(
      "The certificate of the warehouse's server is not valid now",
      'Renew it there, or set the clock of this machine.',
    );
  if (/^(ERR_SSL_|ERR_OSSL_|EPROTO$)/.test(code) || /error establishing an SSL connection/.test(message))
    return problem(
      'The encrypted connection to the warehouse fails',
      'Check the sslmode, sslcert and sslkey of DATABASE_URL, and the log of the server.',
    );
  return undefined;
}
