import { chmod, chown, copyFile, readFile, stat, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { Secret } from '../../src/secret.ts';
import { checkServer, connect } from '../../src/warehouse/connect.ts';
import { aFolder, type Folder, gmsi } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { cases } from '../support/cases.ts';
import { aCertificate, relay } from '../support/other-servers.ts';
import { aRestartableServer } from '../support/restartable-server.ts';
import { sqlIn } from '../support/warehouse-state.ts';

/** A separate server that encrypts, with a self-signed certificate for `localhost`. */
let server: Awaited<ReturnType<typeof aRestartableServer>>;
let folder: Folder;
let trusted: string;
let other: string;

beforeAll(async () => {
  server = await aRestartableServer();
  folder = await aFolder('gmsi-tls-');
  trusted = await aFile('server');
  other = await aFile('other');
  const admin = new pg.Client({ connectionString: server.url.reveal() });
  await admin.connect();
  const { rows } = await admin.query('show data_directory');
  const data = rows[0].data_directory as string;
  const { uid, gid } = await stat(data);
  for (const [name, from] of [
    ['server.crt', trusted],
    ['server.key', trusted.replace('.crt', '.key')],
  ] as const) {
    await copyFile(from, join(data, name));
    await chown(join(data, name), uid, gid);
    await chmod(join(data, name), 0o600);
  }
  await admin.query('alter system set ssl = on');
  // One user may come encrypted only.
  await admin.query(`create role encrypted_only login password 'x'`);
  const hba = join(data, 'pg_hba.conf');
  await writeFile(hba, `hostnossl all encrypted_only all reject\n${await readFile(hba, 'utf8')}`);
  await admin.query('select pg_reload_conf()');
  await admin.end();
  await until(encrypts);
}, 120_000);
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

/** Writes a certificate and its key into the folder. @returns its path */
async function aFile(name: string): Promise<string> {
  const { cert, key } = await aCertificate({ host: 'DNS:localhost' });
  await folder.write(`${name}.key`, key);
  await folder.write(`${name}.crt`, cert);
  return join(folder.path, `${name}.crt`);
}

/** The server reads its settings again a moment after the signal. */
async function encrypts(): Promise<boolean> {
  const client = new pg.Client({ connectionString: server.url.reveal(), ssl: { rejectUnauthorized: false } });
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((later) => setTimeout(later, 50));
}

function address(parameters: Record<string, string>, host = '127.0.0.1', user?: string): string {
  const url = new URL(server.url.reveal());
  url.hostname = host;
  if (user) Object.assign(url, { username: user, password: 'x' });
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

/** Connects as every command does. @returns what it is refused with; if it is not, it is encrypted as it says */
async function refusalOf(parameters: Record<string, string>, host?: string, user?: string) {
  return connecting(address(parameters, host, user));
}

async function connecting(url: string): Promise<ConfigError | undefined> {
  try {
    await using db = connect({ kind: 'url', url: new Secret(url) }, 1);
    await checkServer(db);
    const rows = await sqlIn(db)<{
      ssl: boolean;
    }>`select ssl from pg_stat_ssl where pid = pg_backend_pid()`;
    expect(rows).toEqual([{ ssl: !url.includes('sslmode=disable') && url.includes('ssl') }]);
    return undefined;
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

/** The parameters of a row, in which the paths of certificates have names. */
function named(parameters: string): Record<string, string> {
  const files: Record<string, string> = { trusted, other };
  const all = new URLSearchParams(parameters);
  return Object.fromEntries([...all].map(([name, value]) => [name, files[value] ?? value]));
}

test.for(cases`
    require encrypts, whoever answers | sslmode=require
    require with the certificate looks at it, but not at the name | sslmode=require&sslrootcert=trusted
    verify-ca does the same | sslmode=verify-ca&sslrootcert=trusted
    verify-full looks at the name | sslmode=verify-full&sslrootcert=trusted | localhost
    a handshake at once keeps the certificate | sslmode=verify-full&sslrootcert=trusted&sslnegotiation=direct | localhost
    a certificate alone is verify-full | sslrootcert=trusted | localhost
    disable does not encrypt | sslmode=disable
    nothing does not either |
  `)('sslmode means what it means for psql: %s', async ([, parameters = '', host]) => {
  expect(await refusalOf(named(parameters), host)).toBeUndefined();
});

describe('if encryption fails, the message says what to do:', () => {
  test.for(cases`
    a certificate that nobody has signed | sslmode=verify-full | localhost | encrypted connection .*fails: .*self.signed | sslrootcert=.*sslmode=require
    another one than is trusted | sslmode=verify-ca&sslrootcert=other | 127.0.0.1 | encrypted connection .*fails | sslrootcert
    another host | sslmode=verify-full&sslrootcert=trusted | 127.0.0.1 | fails: Hostname | the host name in it
    verify-ca without a certificate | sslmode=verify-ca | 127.0.0.1 | verify-ca requires | sslrootcert
    a file that is not there | sslmode=require&sslrootcert=/nowhere.pem | 127.0.0.1 | cannot be used: .*nowhere | PEM
    a mode that there is not | sslmode=requier | 127.0.0.1 | sslmode is "requier" | disable, prefer, require, verify-ca, verify-full
  `)('%s', async ([, parameters, host, message, hint]) => {
    const refusal = await refusalOf(named(parameters!), host);
    expect(refusal?.message).toMatch(new RegExp(message!));
    expect(refusal?.hint).toMatch(new RegExp(hint!));
  });

  test('a server that wants it, and one without it', async () => {
    const wants = await refusalOf({}, '127.0.0.1', 'encrypted_only');
    expect([wants?.message, wants?.hint].join()).toMatch(
      /requires an encrypted connection.*sslmode=require/s,
    );
    const without = await connecting(`${inject('serverUrl')}?sslmode=require`);
    expect([without?.message, without?.hint].join()).toMatch(/does not encrypt.*ssl = on.*sslmode=disable/s);
  });
});

describe('gmsi doctor', () => {
  async function doctor(env: Record<string, string>, start = gmsiHere) {
    const { stdout, stderr, code } = await start(['doctor'], { cwd: folder.path, env });
    return {
      code,
      stderr,
      line: stdout.split('\n').find((line) => line.includes(' encryption ')),
      all: stdout + stderr,
    };
  }

  test('says how the way to the warehouse is encrypted, without a warning of Node', async () => {
    const { line, stderr } = await doctor({ DATABASE_URL: address({ sslmode: 'require' }) }, gmsi);
    expect(line).toMatch(/✓ encryption +TLSv1\.[23], without verifying the server/);
    expect(stderr).toBe('');
    const verified = address({ sslmode: 'verify-full', sslrootcert: trusted }, 'localhost');
    const checked = await doctor({ DATABASE_URL: verified });
    expect(checked.line).toMatch(/✓ encryption +TLSv1\.[23], with a trusted certificate/);
  });

  test('takes the mode from the environment, as psql does, and says what is wrong there', async () => {
    const { hostname, port, username, password, pathname } = new URL(server.url.reveal());
    const env = {
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: password,
      PGDATABASE: pathname.slice(1),
    };
    expect((await doctor({ ...env, PGSSLMODE: 'require' })).line).toMatch(/TLSv1/);
    const { code, all } = await doctor({
      DATABASE_URL: address({}),
      PGSSLMODE: 'verify-full',
      PGSSLROOTCERT: other,
    });
    expect(code).toBe(2);
    expect(all).toMatch(/encrypted connection[\s\S]*→ .*sslrootcert/);
  });

  test('warns of a way that is not encrypted, unless it is within this machine', async () => {
    expect((await doctor({ DATABASE_URL: address({}) })).line).toMatch(/✓ encryption +none needed/);
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((one) => one && !one.internal && one.family === 'IPv4');
    if (!outside) return;
    // Another address of the same server: of this machine, but not its loopback.
    const join = (client: Socket, upstream: Socket) => client.pipe(upstream).pipe(client);
    await using other = await relay(server.url.reveal(), join, outside.address);
    const url = new URL(address({}, outside.address));
    url.port = String(other.port);
    const { line, all } = await doctor({ DATABASE_URL: url.href });
    expect(line).toMatch(/! encryption +none: anybody on the network path/);
    expect(all).toMatch(/→ Add \?sslmode=verify-full/);
  });
});
