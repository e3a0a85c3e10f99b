import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError } from '../../errors.ts';
import { serverAccount } from './account.ts';
import { control, findBinaries } from './binaries.ts';
import { usersOf } from './hold.ts';
import { readPointer, sharedRoot, systemRoot } from './location.ts';
import { runningAt } from './server.ts';

/** Copies of the server's programs, complete or not. */
const programs = /^postgresql-\d/;

/** The files of a GMSI_HOME's embedded server on this machine. */
export interface Remains {
  /** Folders with a server's data, which is what was loaded. */
  readonly clusters: readonly string[];
  /** Everything to remove, including the clusters; nothing of other homes. */
  readonly paths: readonly string[];
}

/**
 * Finds what `locateCluster` and `findBinaries` have made for a GMSI_HOME, below it and where they had to move.
 * @throws ConfigError for a folder in such a place that is not theirs
 */
export function findRemains(home: string): Remains {
  const pointer = join(home, 'postgres-is-in');
  const moved = existsSync(pointer) ? readPointer(pointer) : undefined;
  const clusters = [join(home, 'postgres'), ...(moved ? [moved] : [])].filter((path) => existsSync(path));
  for (const cluster of clusters) refuseForeign(cluster, home);
  const copies = [home, ...(moved ? unsharedRoot(moved) : [])].flatMap((folder) =>
    namesIn(folder)
      .filter((name) => programs.test(name))
      .map((name) => join(folder, name)),
  );
  return { clusters, paths: [...clusters, ...copies, ...(existsSync(pointer) ? [pointer] : [])] };
}

/** Stops the server, if it runs, and removes what is there. @throws ConfigError for a server that is in use, or does not stop */
export async function removeRemains(home: string, { clusters, paths }: Remains): Promise<void> {
  for (const cluster of clusters) await stop(home, join(cluster, 'data'));
  for (const path of paths) {
    // The content first: if the folder is a link to another disk, removing the link would leave it.
    for (const name of clusters.includes(path) ? namesIn(path) : [])
      rmSync(join(path, name), { recursive: true, force: true });
    rmSync(path, { recursive: true, force: true });
  }
  for (const folder of [home, ...clusters.map(dirname)]) {
    try {
      rmdirSync(folder);
    } catch {
      // It is not empty, or is a mount point.
    }
  }
}

/**
 * Refuses a folder that is not a cluster: another user may have written the pointer file, and a home may contain an unrelated
 * folder `postgres`.
 */
function refuseForeign(cluster: string, home: string): void {
  const isInPlace = [home, systemRoot].includes(dirname(cluster));
  const names = namesIn(cluster);
  const isOurs = names.every((name) => name === 'data' || name.startsWith('making-'));
  const isCluster = !names.includes('data') || existsSync(join(cluster, 'data', 'gmsi-password'));
  if (isInPlace && isOurs && isCluster) return;
  throw new ConfigError(`${cluster} was not made by the embedded server, so it is not removed.`, {
    hint: 'Check its content; if nobody needs it, remove it yourself.',
  });
}

/** Returns the folder that all homes share, if no other home uses it. */
function unsharedRoot(cluster: string): string[] {
  const root = dirname(cluster);
  const isShared = namesIn(root).some((name) => join(root, name) !== cluster && !programs.test(name));
  return isShared ? [] : [root];
}

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Refuses a server with users, such as a worker or a page: they would fail, or set up an empty one. */
async function refuseUsed(data: string): Promise<void> {
  const address = runningAt(data);
  // A server that does not answer has no users that this could spare.
  const users = address ? await usersOf(address).catch(() => []) : [];
  if (users.length === 0) return;
  const [what, them] = users.length === 1 ? ['process', 'it'] : ['processes', 'them'];
  throw new ConfigError(
    `The embedded server is in use by ${what} ${users.join(', ')}, so nothing is removed.`,
    {
      hint: `Stop ${them} (ps -fp ${users.join(',')} shows the command), and run it again.`,
    },
  );
}

async function stop(home: string, data: string): Promise<void> {
  if (!existsSync(join(data, 'postmaster.pid'))) return;
  const account = serverAccount(data);
  const binaries = findBinaries(account, () => sharedRoot(home, account));
  const isRunning = () => control(binaries, ['status'], { account, data });
  if (!(await isRunning())) return;
  await refuseUsed(data);
  await control(binaries, ['stop', '-m', 'fast', '-w'], { account, data });
  if (!(await isRunning())) return;
  throw new ConfigError(`The server in ${data} does not stop.`, {
    hint: 'End what uses it, and the server itself (its process id is the first line of postmaster.pid); then run it again.',
  });
}
