import {
  accessSync,
  chownSync,
  constants,
  existsSync,
  lchownSync,
  linkSync,
  mkdtempSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ConfigError } from '../../errors.ts';
import { makeFolder } from '../../make-folder.ts';
import { type Account, canEnter, serverAccount } from './account.ts';

/** Where the embedded warehouse is and who runs it. */
export interface Location {
  /** Contains `data/`, with the server's password and log. */
  readonly cluster: string;
  readonly account: Account | undefined;
}

/** The folder in which root keeps files that the server's user must be able to reach. Only root can create it. */
export const systemRoot = '/var/lib/gmsi';

/**
 * Returns the cluster's folder for a GMSI_HOME, created if it is missing. It is `<home>/postgres`, unless the program runs as
 * root and the server's user cannot get there (a clone below `/root`): then it is a folder below `/var/lib/gmsi`, and
 * `<home>/postgres-is-in` says which.
 * @throws ConfigError if GMSI_HOME cannot be written.
 */
export function locateCluster(home: string): Location {
  const inHome = join(home, 'postgres');
  const pointer = join(home, 'postgres-is-in');
  try {
    makeWritable(home);
    const movedTo = readPointer(pointer);
    const account = serverAccount(join(movedTo ?? inHome, 'data'));
    if (movedTo) return { cluster: movedTo, account };
    if (account && !canEnter(home, account)) return moveAway(home, pointer, account);
    makeFolder(inHome, 0o755);
    if (account) chownSync(inHome, account.uid, account.gid);
    return { cluster: inHome, account };
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new ConfigError(`The embedded warehouse cannot be kept in ${home}: ${(cause as Error).message}`, {
      cause,
      hint: 'Set GMSI_HOME to another folder, or DATABASE_URL to a PostgreSQL server of your own.',
    });
  }
}

function moveAway(home: string, pointer: string, account: Account): Location {
  if (existsSync(join(home, 'postgres', 'data'))) {
    throw new ConfigError(`The user that must run PostgreSQL can no longer enter ${home}.`, {
      hint: 'Let every user enter it and the folders above it (chmod a+x), or set GMSI_HOME to another folder.',
    });
  }
  // Random rather than derived from the path: a user who deletes GMSI_HOME to start again must not get the old data.
  const cluster = mkdtempSync(join(sharedRoot(home, account), `${basename(dirname(home)) || 'home'}-`));
  // Does not follow a link: the folder is new, but the account may own the one above it.
  lchownSync(cluster, account.uid, account.gid);
  const draft = `${pointer}.${basename(cluster)}`;
  writeFileSync(draft, `${cluster}\n`);
  try {
    // A link, not a rename: if several processes begin at once, the first one decides.
    linkSync(draft, pointer);
    return { cluster, account };
  } catch (error) {
    rmdirSync(cluster);
    const first = readPointer(pointer);
    if (!first) throw error;
    return { cluster: first, account };
  } finally {
    rmSync(draft);
  }
}

/**
 * Returns the folder for copies of the server's programs and, for root, for data that must move; made if it is missing.
 * @throws the error of the file system
 */
export function sharedRoot(home: string, account: Account | undefined): string {
  if (!account) return home;
  makeWritable(systemRoot);
  return systemRoot;
}

/** @throws the error of the file system */
function makeWritable(folder: string): void {
  makeFolder(folder, 0o755);
  accessSync(folder, constants.W_OK);
}

/** Returns where the cluster was moved to; `undefined` if that place is gone (a new container on an old volume). */
export function readPointer(pointer: string): string | undefined {
  if (!existsSync(pointer)) return undefined;
  const cluster = readFileSync(pointer, 'utf8').trim();
  if (existsSync(cluster)) return cluster;
  rmSync(pointer, { force: true });
  return undefined;
}
