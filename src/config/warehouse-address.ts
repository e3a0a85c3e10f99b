import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { Secret } from '../secret.ts';

/** How the connection to the database is encrypted, in libpq's terms; `sslrootcert` may be `system`. */
export type TlsSettings = Readonly<
  Partial<Record<'sslmode' | 'sslrootcert' | 'sslcert' | 'sslkey', string | undefined>>
>;

/** The address of a server, or the `PG*` variables that libpq knows. */
export type WarehouseAddress =
  // `tls` comes from the environment; settings in the address take precedence.
  | { readonly kind: 'url'; readonly url: Secret; readonly tls?: TlsSettings }
  | { readonly kind: 'pg-environment'; readonly tls?: TlsSettings };

type Environment = Readonly<Record<string, string | undefined>>;

/** Parameters of an address that have the effect that they have for libpq. */
const parameters =
  `host port dbname user password sslmode sslrootcert sslcert sslkey sslnegotiation options application_name
  fallback_application_name`.split(/\s+/);

/** The program has its own time limits, its texts are UTF-8, and the driver's switch is always on. */
const withoutEffect = ['connect_timeout', 'client_encoding', 'uselibpqcompat'];

/** libpq's variables whose loss could lead to another server, or to a password that others can read. */
const unsupportedVariables =
  `PGSERVICE PGHOSTADDR PGREQUIREAUTH PGCHANNELBINDING PGREQUIREPEER PGREQUIRESSL PGSSLCRL PGSSLCRLDIR
  PGSSLCERTMODE PGSSLMINPROTOCOLVERSION PGSSLMAXPROTOCOLVERSION PGMINPROTOCOLVERSION PGGSSENCMODE
  PGTARGETSESSIONATTRS`.split(/\s+/);

/** libpq's variables that are read; the others do not matter to a program with session settings of its own. */
export const pgVariables =
  `PGHOST PGPORT PGDATABASE PGUSER PGPASSWORD PGPASSFILE PGSSLMODE PGSSLROOTCERT PGSSLCERT PGSSLKEY
  PGSSLNEGOTIATION PGOPTIONS PGAPPNAME`.split(/\s+/);

/**
 * Reads an address as libpq does, and returns it in the one form that the rest of the program knows: the place in front,
 * without a parameter that stands for a part of it.
 * @param name where the text comes from
 */
export function readAddress(
  name: string,
  text: string | undefined,
  env: Environment,
): Extract<WarehouseAddress, { kind: 'url' }> | undefined {
  if (text === undefined) return undefined;
  const tls = readPgVariables(env);
  // Credentials end at the last @ before a / or ?, so an @ or # after it is the rest of a password that is not escaped.
  const [, credentials = '', place, path = '', query = ''] =
    /^postgres(?:ql)?:\/\/(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#@]*)?(?:\?([^#@]*))?$/.exec(text.trim()) ?? [];
  if (place === undefined) throw noAddress(name);
  // A plus is a plus for libpq, not a space. Of two parameters of one name, the last one counts.
  const given = Object.fromEntries(new URLSearchParams(query.replaceAll('+', '%2B')));
  const { host, port, dbname, user, password, ...rest } = given;
  refuseSeveral(name, [place, host, port]);
  for (const parameter of Object.keys(given)) refuseUnknown(name, parameter);
  const empty = Object.keys(given).find((parameter) => given[parameter] === '');
  if (empty)
    throw new ConfigError(`${name} has no value for ${empty}.`, { hint: 'Give it one, or remove it.' });
  for (const parameter of withoutEffect) delete rest[parameter];
  const [, hostInFront = '', portInFront] = /^(\[.*\]|[^:]*)(?::(.*))?$/.exec(place) ?? [];
  const where = host !== undefined ? escaped(host) : hostInFront || escaped(env.PGHOST || 'localhost');
  try {
    const url = new URL(
      `postgres://${credentials && `${credentials}@`}${where}:${port ?? portInFront ?? ''}${path}`,
    );
    if (user !== undefined) url.username = encodeURIComponent(user);
    if (password !== undefined) url.password = encodeURIComponent(password);
    if (dbname !== undefined) url.pathname = encodeURIComponent(dbname);
    // A space as %20: for libpq and pg, a plus is a plus.
    url.search = new URLSearchParams(rest).toString().replaceAll('+', '%20');
    for (const part of [url.username, url.password, url.hostname, url.pathname]) decodeURIComponent(part);
    return { kind: 'url', url: new Secret(url.href), tls };
  } catch {
    // No cause: the parser's error quotes the address with its password.
    throw noAddress(name);
  }
}

function noAddress(name: string): ConfigError {
  return new ConfigError(`${name} is not the address of a PostgreSQL database.`, {
    hint:
      'It looks like postgres://user:password@host:5432/database. In user and password, write / ? # @ : as %2F %3F %23 %40 ' +
      '%3A.',
  });
}

/** Escapes the folder of a socket, and puts an IPv6 address into brackets. */
function escaped(host: string): string {
  return host.startsWith('/') ? encodeURIComponent(host) : /^[^[].*:/.test(host) ? `[${host}]` : host;
}

/** A parameter without effect could be the one that keeps the password from another server. */
function refuseUnknown(name: string, parameter: string): void {
  if ([...parameters, ...withoutEffect].includes(parameter)) return;
  if (['require_auth', 'channel_binding'].includes(parameter)) throw unsupported(`${parameter} in ${name}`);
  // Longer ones, or other characters, could be part of a password.
  const shown = /^[a-z_]{2,30}$/i.test(parameter) ? ` ${parameter}` : '';
  throw new ConfigError(`${name} has an unknown parameter${shown}.`, {
    hint: knownNames(parameter, parameters),
  });
}

function unsupported(setting: string): ConfigError {
  const isOfPassword = /auth|binding/i.test(setting);
  return new ConfigError(`${setting} is not supported.`, {
    hint: isOfPassword
      ? 'Remove it, and use sslmode=verify-full: then only the server that the certificate names receives the password.'
      : 'Unset it, and say in DATABASE_URL which server to use and how.',
  });
}

/** @throws ConfigError if one of the texts is a list, as libpq takes it */
export function refuseSeveral(name: string, hosts: readonly (string | undefined)[]): void {
  if (!hosts.some((host) => host?.includes(','))) return;
  throw new ConfigError(`${name} names several hosts; one is supported.`, {
    hint: 'Name the primary server.',
  });
}

/** With these values, libpq insists on nothing. */
const insistsOnNothing = ['disable', 'prefer', 'allow', 'any', '0'];

/** @throws ConfigError for a variable that psql would obey and this program cannot */
export function readPgVariables(env: Environment): TlsSettings {
  const cannot = unsupportedVariables.find((name) => env[name] && !insistsOnNothing.includes(env[name]));
  if (cannot) throw unsupported(cannot);
  const { PGSSLMODE: sslmode, PGSSLROOTCERT: sslrootcert, PGSSLCERT: sslcert, PGSSLKEY: sslkey } = env;
  return { sslmode, sslrootcert, sslcert, sslkey };
}
