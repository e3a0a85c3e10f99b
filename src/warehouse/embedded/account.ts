import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { ConfigError } from '../../errors.ts';

/** The user that the server runs as, if it is not the user who runs this program. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The only environment variables that other programs get, because others may contain the API key and passwords. */
export const childEnvironment = { LC_ALL: 'C', PATH: '/usr/bin:/bin' };

/**
 * Returns the account that runs the server, because PostgreSQL refuses to run as root. For root, the owner of the data runs
 * it; for new data, the user `postgres` if there is one, else `nobody`. For any other user `undefined`: the server runs as
 * the same user.
 */
export function serverAccount(dataDirectory: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(dataDirectory, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const account = lookUp('postgres') ?? lookUp('nobody');
  if (!account) {
    throw new ConfigError(
      'PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody.',
      { hint: 'Run as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.' },
    );
  }
  return account;
}

/** Returns true if the account can enter the folder, and so all folders above it. */
export function canEnter(folder: string, account: Account): boolean {
  const where = { ...account, cwd: '/', env: childEnvironment };
  return spawnSync('/bin/sh', ['-c', 'cd "$0"', folder], where).status === 0;
}

function lookUp(user: string): Account | undefined {
  const [uid, gid] = ['-u', '-g'].map((flag) => {
    const { status, stdout } = spawnSync('id', [flag, user], { encoding: 'utf8', env: childEnvironment });
    return status === 0 ? Number(stdout) : undefined;
  });
  return uid !== undefined && gid !== undefined ? { uid, gid } : undefined;
}
