import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serverAccount } from '../../src/warehouse/embedded/account.ts';
import { freePort } from './other-servers.ts';

/** Where Debian's package postgresql-15 puts its programs. */
export const programs = '/usr/lib/postgresql/15/bin';

export const hasPostgresql15 = existsSync(programs);

/** Debian's PostgreSQL 15, with an empty database whose user owns nothing else; gone when disposed. */
export async function aPostgresql15(): Promise<{ readonly url: string } & AsyncDisposable> {
  const folder = await mkdtemp(join(tmpdir(), 'gmsi-15-'));
  await chmod(folder, 0o755);
  const [home, password] = [join(folder, 'home'), join(folder, 'password')];
  await mkdir(home);
  const account = serverAccount(home);
  if (account) await chown(home, account.uid, account.gid);
  const secret = randomBytes(12).toString('hex');
  await writeFile(password, secret);
  const data = join(home, 'data');
  const run = (name: string, ...args: string[]) =>
    promisify(execFile)(join(programs, name), args, { ...account, cwd: '/', env: { PGPASSWORD: secret } });
  const port = await freePort();
  await run('initdb', '-D', data, '-U', 'admin', `--pwfile=${password}`, '-A', 'scram-sha-256', '-E', 'UTF8');
  const options = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`;
  await run('pg_ctl', 'start', '-w', '-D', data, '-l', join(home, 'log'), '-o', options);
  const psql = (database: string, sql: string) =>
    run('psql', '-q', '-h', '127.0.0.1', '-p', `${port}`, '-U', 'admin', '-c', sql, database);
  await psql('postgres', `create role etl login password '${secret}'`);
  await psql('postgres', 'create database warehouse template template0');
  await psql('postgres', 'grant create on database warehouse to etl');
  return {
    url: `postgres://etl:${secret}@127.0.0.1:${port}/warehouse`,
    async [Symbol.asyncDispose]() {
      await run('pg_ctl', 'stop', '-m', 'immediate', '-D', data);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
