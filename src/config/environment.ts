import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { distance } from 'fastest-levenshtein';
import { z } from 'zod';
import { ConfigError, systemReason } from '../errors.ts';
import { nearest } from '../nearest.ts';
import { ApiKey, Secret } from '../secret.ts';
import { readDotenvFile } from './dotenv-file.ts';
import { readProxies } from './proxies.ts';
import {
  pgVariables,
  readAddress,
  readPgVariables,
  refuseSeveral,
  type WarehouseAddress,
} from './warehouse-address.ts';

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** The environment, read and checked once; nothing else in the program reads `process.env`. */
export type Config = Readonly<ReturnType<typeof readConfig>>;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads `.env` in `cwd` (the real environment wins) and the environment.
 * @param drafted values that are about to be written to `.env`; `undefined` removes one
 * @throws ConfigError if a variable is not valid; never shows a key or an address with a password.
 */
export function readConfig(
  processEnvironment: Environment = process.env,
  cwd = process.cwd(),
  drafted: Environment = {},
) {
  const env = withoutEmpty({ ...readDotenv(cwd), ...drafted, ...proxiesInCapitals(processEnvironment) });
  const plain = readPlain(env);
  const proxyFor = readProxies({
    HTTPS_PROXY: env.HTTPS_PROXY,
    HTTP_PROXY: env.HTTP_PROXY,
    ALL_PROXY: env.ALL_PROXY,
    NO_PROXY: env.NO_PROXY,
  });
  return {
    apiKey: readApiKey(env, cwd),
    /** Absolute path of the file with the key. */
    apiKeyFile: keyFileIn(env, cwd),
    baseUrl: readBaseUrl('GMSI_BASE_URL', env.GMSI_BASE_URL),
    /** The address of the live feeds, if it differs (docs/service.md, "Addresses and key"). */
    liveBaseUrl: readBaseUrl('GMSI_LIVE_BASE_URL', env.GMSI_LIVE_BASE_URL),
    /** Whether the key may go over plain `http` to another machine. */
    sendKeyUnencrypted: plain.GMSI_SEND_KEY_UNENCRYPTED,
    /** The proxies on the way to the service and webhooks; `undefined` if there are none. */
    proxyFor,
    warehouse: readWarehouse(env),
    /** A copy of the warehouse's server, for commands that only read. */
    standby: readAddress('GMSI_READ_DATABASE_URL', env.GMSI_READ_DATABASE_URL, env),
    /** Reads the address of another warehouse; `name` says where the text comes from. @throws ConfigError if it is none */
    readAddress: (name: string, text: string) => readAddress(name, text, env)!,
    /** Absolute path of the embedded warehouse's folder. */
    home: readHome(env.GMSI_HOME, cwd),
    /** Seconds that the embedded server runs on after the last command. */
    embeddedIdleSeconds: plain.GMSI_EMBEDDED_IDLE_SECONDS,
    logLevel: plain.LOG_LEVEL,
    /** Seconds without a heartbeat before another process takes over a load's windows. */
    leaseSeconds: plain.GMSI_LEASE_SECONDS,
    /** Receives the alerts of jobs without a webhook of their own. */
    alertWebhook: readAlertWebhook(env.GMSI_ALERT_WEBHOOK_URL),
    /** Where `gmsi work` serves metrics and health. Port 0 is any free one; `undefined` is 9464 if free, else any. */
    metrics: {
      host: plain.GMSI_METRICS_HOST,
      port: plain.GMSI_METRICS_PORT,
      /** Host names that others use for it, besides the machine's own. */
      names: plain.GMSI_METRICS_NAMES.split(/[\s,]+/).filter(Boolean),
    },
    /** The storage for exports to `s3://…`. */
    storage: {
      endpoint: readEndpoint(env),
      region: env.AWS_REGION?.trim(),
      credentials: readStorageCredentials(env),
      proxyFor,
    },
    /** The token that `gmsi serve` requires from a browser. */
    serveToken: readServeToken(env.GMSI_SERVE_TOKEN),
    /** What Node.js reads by itself, from the environment only, not from `.env`. */
    verifiesTls: processEnvironment.NODE_TLS_REJECT_UNAUTHORIZED !== '0',
    extraCaCerts: processEnvironment.NODE_EXTRA_CA_CERTS || undefined,
    /** The names of the settings that are given, without their values. */
    given: Object.keys(env).filter(isSetting).toSorted(),
    /** Warnings for a person, one a line. */
    warnings: unknownSettings(env),
  };
}

/** Returns the variables of a `.env` with these values that the environment overrides with another value. */
export function overruled(dotenv: Environment, processEnvironment: Environment = process.env): string[] {
  const real = processEnvironment;
  return Object.keys(dotenv).filter(
    (name) => real[name] !== undefined && real[name] !== (dotenv[name] ?? ''),
  );
}

/**
 * Returns the environment for `psql`: the search path, the language, the terminal, and the variables of libpq and psql. The API
 * key and other addresses stay out, because psql passes its environment to the programs that it starts.
 */
export function environmentForPsql(processEnvironment: Environment = process.env): Record<string, string> {
  const names = [
    /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LANG|LANGUAGE|LC_\w+|TZ|TERM|COLORTERM|NO_COLOR)$/,
    /^(PG\w+|PSQL_\w+|PAGER|LESS|EDITOR|VISUAL|KRB5\w+|SSL_CERT_\w+|OPENSSL_CONF)$/,
  ];
  const passed = Object.entries(processEnvironment).filter(([name]) => names.some((some) => some.test(name)));
  return Object.fromEntries(passed) as Record<string, string>;
}

/** Every variable `GMSI_*`; docker-compose.yml reads the last two. */
export const settings =
  `GMSI_API_KEY GMSI_API_KEY_FILE GMSI_ACCOUNT GMSI_BASE_URL GMSI_LIVE_BASE_URL GMSI_SEND_KEY_UNENCRYPTED
  GMSI_READ_DATABASE_URL GMSI_HOME GMSI_EMBEDDED_IDLE_SECONDS GMSI_LEASE_SECONDS GMSI_ALERT_WEBHOOK_URL
  GMSI_SERVE_TOKEN GMSI_METRICS_HOST GMSI_METRICS_PORT GMSI_METRICS_NAMES GMSI_JOBS GMSI_IMAGE`.split(/\s+/);

/** Returns true if this program or one of its libraries reads the variable; then its name is safe to show. */
function isSetting(name: string): boolean {
  return (
    settings.includes(name) ||
    /^(DATABASE_URL|LOG_LEVEL|PG[A-Z]+)$/.test(name) ||
    /^AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|REGION|ENDPOINT_URL(_S3)?)$/.test(name) ||
    proxyVariable.test(name)
  );
}

const proxyVariable = /^(HTTPS?|ALL|NO)_PROXY$/i;

/** Variables that Kubernetes sets in every pod if a service is called `gmsi…`. */
const ofKubernetes = /_SERVICE_(HOST|PORT)\w*=|_PORT_\d+_(TCP|UDP|SCTP)\w*=|=(tcp|udp|sctp):/;

/** Every setting whose loss is not noticed: another database, no encryption, no proxy. */
const unnoticed = ['DATABASE_URL', 'HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY', ...pgVariables];

/** Returns a warning for each variable that looks like one of our settings but is not, with the nearest name. */
function unknownSettings(env: Environment): string[] {
  const known = [...settings, ...unnoticed];
  return Object.entries(env)
    .filter(([name, value]) => !known.includes(name) && !ofKubernetes.test(`${name}=${value}`))
    .flatMap(([name]) => {
      const isOurs = /^GMSI[^A-Z0-9]/i.test(name);
      const near = nearest(name, known);
      const edits = near ? distance(near, name.toUpperCase()) : Number.POSITIVE_INFINITY;
      if (edits <= (isOurs ? 3 : 1) && !(near! in env))
        return `${name} is set, but there is no such setting: did you mean ${near}?`;
      // Anything else that begins like this could be a key, alone in a line of .env.
      const shown = /^GMSI_[A-Z_]{1,40}$/.test(name) ? name : 'A variable that begins with GMSI';
      return isOurs ? `${shown} is set, but there is no such setting: it does nothing` : [];
    });
}

function readDotenv(cwd: string): Environment {
  const values = readDotenvFile(join(cwd, '.env'), isSetting);
  // pg reads them from the environment of the process only.
  for (const [name, value] of Object.entries(values)) if (name.startsWith('PG')) process.env[name] ??= value;
  return proxiesInCapitals(values);
}

/**
 * Removes empty variables: they count as not set, because compose files and CI write empty ones. An empty one of the environment
 * also unsets that of `.env`.
 */
function withoutEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => !isEmpty(value)));
}

/** Returns variables with the names of proxies in capitals. If one is set in both cases, the lower case counts, as for curl. */
function proxiesInCapitals(env: Environment): Environment {
  const lower = Object.entries(env).filter(
    ([name]) => proxyVariable.test(name) && name === name.toLowerCase(),
  );
  const capitals = lower.map(([name, value]) => {
    const capital = name.toUpperCase();
    return [capital, isEmpty(value) ? (env[capital] ?? '') : value] as const;
  });
  const others = Object.entries(env).filter(([name]) => lower.every(([proxy]) => proxy !== name));
  return Object.fromEntries([...others, ...capitals]);
}

function isEmpty(value: string | undefined): boolean {
  return value === undefined || value.trim() === '';
}

const word = z.string().trim().toLowerCase();

/** The variables that may be shown in an error. */
const plainVariables = z.object({
  GMSI_SEND_KEY_UNENCRYPTED: word
    .pipe(z.enum(['true', 'false'], 'It must be true or false.'))
    .default('false')
    .transform((text) => text === 'true'),
  LOG_LEVEL: word.pipe(z.enum(logLevels, `It can be ${logLevels.join(', ')}.`)).default('info'),
  GMSI_EMBEDDED_IDLE_SECONDS: numberBetween(
    0,
    86_400,
    'It must be a number of seconds from 0 to 86400.',
  ).default(60),
  GMSI_LEASE_SECONDS: numberBetween(2, 3600, 'It must be a number of seconds from 2 to 3600.').default(30),
  GMSI_METRICS_HOST: z.string().trim().default('127.0.0.1'),
  GMSI_METRICS_PORT: numberBetween(0, 65_535, 'It must be a port from 1 to 65535, or 0 for any.')
    .refine(Number.isInteger, 'It must be a port from 1 to 65535, or 0 for any.')
    .optional(),
  GMSI_METRICS_NAMES: z.string().default(''),
});

function numberBetween(least: number, most: number, hint: string) {
  return z.coerce.number(hint).min(least, hint).max(most, hint);
}

function readPlain(env: Environment): z.infer<typeof plainVariables> {
  const { data, error } = plainVariables.safeParse(env);
  if (data) return data;
  const [{ path, message }] = error.issues as [z.core.$ZodIssue];
  const name = String(path[0]);
  throw new ConfigError(`${name} is "${env[name]}".`, { hint: message });
}

function readApiKey(env: Environment, cwd: string): Secret | undefined {
  if (env.GMSI_API_KEY && env.GMSI_API_KEY_FILE) {
    throw new ConfigError('GMSI_API_KEY and GMSI_API_KEY_FILE are both set.', { hint: 'Unset one of them.' });
  }
  let key = env.GMSI_API_KEY?.trim();
  const path = keyFileIn(env, cwd);
  if (path !== undefined) {
    try {
      key = readFileSync(path, 'utf8').trim();
    } catch (cause) {
      // Neither the path nor the cause, which has it: some put the key itself here.
      throw new ConfigError(`GMSI_API_KEY_FILE cannot be read: ${systemReason(cause)}.`, {
        hint: 'It must be the path of a file that contains only the key.',
      });
    }
    if (key === '') {
      throw new ConfigError(`GMSI_API_KEY_FILE names an empty file: ${path}`, {
        hint: 'It must contain only the key.',
      });
    }
  }
  if (key === undefined) return undefined;
  if (/^(["'`]).*\1$/s.test(key))
    throw new ConfigError('The API key is in quotes, which would be sent as a part of it.', {
      hint: 'Remove the quotes. Only .env may have some.',
    });
  if (/^(export\s+)?GMSI_API_KEY\s*=/.test(key))
    throw new ConfigError('The API key begins with GMSI_API_KEY=, which would be sent as a part of it.', {
      hint: 'The file that GMSI_API_KEY_FILE names must contain only the key.',
    });
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new ConfigError(
      'The API key contains a space, a line break or another character that an HTTP header cannot carry.',
      { hint: 'Copy the key again; it is one word.' },
    );
  }
  return new ApiKey(key, readAccount(env.GMSI_ACCOUNT, key));
}

function keyFileIn({ GMSI_API_KEY_FILE: path }: Environment, cwd: string): string | undefined {
  return path && resolve(cwd, expandHome(path));
}

/** Never shows the text, which may be the key; so the key must not be the name either, which is stored. */
function readAccount(text: string | undefined, key: string): string | undefined {
  const name = text?.trim();
  if (name === undefined || (/^[A-Za-z][\w.-]{0,62}$/.test(name) && name !== key)) return name;
  throw new ConfigError('GMSI_ACCOUNT is not the name of an account.', {
    hint: 'It must be a name of letters, digits, - _ and ., such as research-desk.',
  });
}

/** Reads an address of the service and drops `/v1`. @throws ConfigError if it is not an address */
export function readBaseUrl(name: string, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const hint = 'It looks like https://api.example.com (with or without /v1).';
  if (!URL.canParse(text.trim())) throw new ConfigError(`${name} is not an address.`, { hint });
  const url = new URL(text.trim());
  // Not shown: of a key with a colon, the protocol would be the first half.
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new ConfigError(`${name} does not begin with https:// (or http://).`, { hint });
  if (url.username || url.password || url.search || url.hash) {
    throw new ConfigError(`${name} must not contain a user, password, query or fragment.`, {
      hint: 'The key goes into GMSI_API_KEY.',
    });
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/(\/v1)+$/i, '')}`;
}

/** @throws ConfigError if `DATABASE_URL` or a `PG*` variable cannot be obeyed; the error shows no part of the address */
export function readWarehouse(env: Environment): WarehouseAddress | { readonly kind: 'embedded' } {
  const address = readAddress('DATABASE_URL', env.DATABASE_URL, env);
  if (address) return address;
  if (!env.PGHOST && !env.PGSERVICE && !env.PGDATABASE) return { kind: 'embedded' };
  refuseSeveral('PGHOST', [env.PGHOST, env.PGPORT]);
  return { kind: 'pg-environment', tls: readPgVariables(env) };
}

function readHome(text: string | undefined, cwd: string): string {
  // PostgreSQL writes the path into a file with one value a line.
  if (text !== undefined && /\p{Cc}/u.test(text)) {
    throw new ConfigError('GMSI_HOME contains a line break or another control character.', {
      hint: 'It must be the path of a folder, in one line.',
    });
  }
  return resolve(cwd, expandHome(text ?? '.gmsi'));
}

function readAlertWebhook(text: string | undefined): Secret | undefined {
  if (text === undefined) return undefined;
  const url = text.trim();
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) {
    // Not shown, because anybody who knows it can post there.
    throw new ConfigError('GMSI_ALERT_WEBHOOK_URL is not an address.', {
      hint: 'It looks like https://hooks.slack.com/services/…',
    });
  }
  return new Secret(url);
}

function readServeToken(text: string | undefined): Secret | undefined {
  if (text === undefined) return undefined;
  const token = text.trim();
  if (token.length < 32 || !/^[\x21-\x7e]+$/.test(token)) {
    throw new ConfigError(
      'GMSI_SERVE_TOKEN is too short or contains spaces: it needs 32 characters or more.',
      { hint: 'Make one: openssl rand -hex 32' },
    );
  }
  return new Secret(token);
}

/** Returns the address of the storage, which errors show. @throws ConfigError without the address */
function readEndpoint(env: Environment): string | undefined {
  const name = env.AWS_ENDPOINT_URL_S3 === undefined ? 'AWS_ENDPOINT_URL' : 'AWS_ENDPOINT_URL_S3';
  const text = env[name]?.trim();
  if (text === undefined) return;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '') return text;
  throw new ConfigError(`${name} is not an https:// or http:// address without credentials.`, {
    hint: 'It looks like https://s3.example.com:9000; credentials go into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  });
}

function readStorageCredentials(env: Environment) {
  const accessKeyId = env.AWS_ACCESS_KEY_ID?.trim();
  const secretAccessKey = env.AWS_SECRET_ACCESS_KEY?.trim();
  const sessionToken = env.AWS_SESSION_TOKEN?.trim();
  if (!accessKeyId || !secretAccessKey) return undefined;
  return {
    accessKeyId,
    secretAccessKey: new Secret(secretAccessKey),
    sessionToken: sessionToken === undefined ? undefined : new Secret(sessionToken),
  };
}

function expandHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}
