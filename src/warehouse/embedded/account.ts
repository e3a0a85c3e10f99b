import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { ConfigError } from '../../errors.ts';

/** The user that the server runs as where that is not the user who runs this program. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** All that the programs beside this one see of its environment, which can hold the API key and passwords. */
export const childEnvironment = { LC_ALL: 'C', PATH: '/usr/bin:/bin' };

/**
 * PostgreSQL refuses to run as root. For root, the owner of the data runs it; for data still to be made, the user
 * `postgres` where there is one, else `nobody`. For anybody else: `undefined`, the server runs as themselves.
 */
export function serverAccount(dataDirectory: string): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const owner = statSync(dataDirectory, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const account = lookUp('postgres') ?? lookUp('nobody');
  if (!account) {
    throw new ConfigError(
      'PostgreSQL refuses to run as root, and this machine has neither a user postgres nor nobody.',
      {
        hint: 'Run as an ordinary user, or set DATABASE_URL to a PostgreSQL server of your own.',
      },
    );
  }
  return account;
}

/** True where the account can enter the folder, and so all above it. */
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
