import {
  accessSync,
  chownSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ConfigError } from '../../errors.ts';
import { type Account, canWrite, serverAccount } from './account.ts';

/** Where the embedded warehouse lives and who runs it. */
export interface Location {
  /** Holds `data/`, the server's password and its log. */
  readonly cluster: string;
  readonly account: Account | undefined;
  /** True where the cluster could not be kept below GMSI_HOME. */
  readonly moved: boolean;
}

/** Below this, root keeps what the server's own user must be able to reach. */
const systemRoot = '/var/lib/gmsi';

/**
 * The cluster's folder for a GMSI_HOME, made where it is missing. It is `<home>/postgres`, unless the program runs as
 * root and the server's user cannot get there (a clone below `/root`): then it is a folder of its own below
 * `/var/lib/gmsi`, and `<home>/postgres-is-in` says which.
 * @throws ConfigError where GMSI_HOME cannot be written.
 */
export function locateCluster(home: string): Location {
  const pointer = join(home, 'postgres-is-in');
  const moved = readPointer(pointer);
  const cluster = moved ?? join(home, 'postgres');
  try {
    mkdirSync(cluster, { recursive: true, mode: 0o755 });
    accessSync(home, constants.W_OK);
  } catch (cause) {
    throw new ConfigError(`The embedded warehouse cannot be kept in ${home}: ${(cause as Error).message}`, {
      cause,
      hint: 'Set GMSI_HOME to a folder that can be written, or DATABASE_URL to a PostgreSQL server of your own.',
    });
  }
  const account = serverAccount(join(cluster, 'data'));
  if (!account) return { cluster, account, moved: moved !== undefined };
  chownSync(cluster, account.uid, account.gid);
  if (moved || canWrite(cluster, account)) return { cluster, account, moved: moved !== undefined };
  rmdirSync(cluster);
  const elsewhere = makeReachable(home);
  chownSync(elsewhere, account.uid, account.gid);
  writeFileSync(pointer, `${elsewhere}\n`);
  return { cluster: elsewhere, account, moved: true };
}

/** A folder that every user can reach, for copies of the server's programs. */
export function sharedRoot(home: string, account: Account | undefined): string {
  if (!account) return home;
  try {
    mkdirSync(systemRoot, { recursive: true, mode: 0o755 });
    accessSync(systemRoot, constants.W_OK);
    return systemRoot;
  } catch {
    return join(tmpdir(), 'gmsi');
  }
}

function makeReachable(home: string): string {
  // Random, not derived from the path: who deletes GMSI_HOME to begin afresh must not meet the old data again.
  const root = sharedRoot(home, { uid: 0, gid: 0 });
  mkdirSync(root, { recursive: true, mode: 0o755 });
  return mkdtempSync(join(root, `${basename(dirname(home)) || 'home'}-`));
}

function readPointer(pointer: string): string | undefined {
  try {
    return readFileSync(pointer, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
