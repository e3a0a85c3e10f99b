import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, systemReason } from './errors.ts';

/** Of which machine and process a folder is. A temporary folder may be shared by containers, each with processes of its own. */
const ofProcess = (pid: number | string) => `gmsi-${hostname()}-${pid}-`;

/**
 * Creates a folder of this process in the system's temporary folder. First removes those of dead processes of this
 * machine: a process that is killed leaves what it has unpacked.
 * @returns its path; the caller removes it
 * @throws ConfigError if the system's folder is missing or cannot be written
 */
export async function temporaryFolder(): Promise<string> {
  for (const name of await readdir(tmpdir()).catch(unusable)) {
    const pid = /-(\d+)-[^-]*$/.exec(name)?.[1];
    if (pid === undefined || !name.startsWith(ofProcess(pid)) || isAlive(Number(pid))) continue;
    // Another user's, or another process is removing it.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
  return mkdtemp(join(tmpdir(), ofProcess(process.pid))).catch(unusable);
}

function unusable(cause: unknown): never {
  throw new ConfigError(`The temporary folder ${tmpdir()} cannot be used: ${systemReason(cause)}`, {
    cause,
    hint: 'Make it writable (in a container, mount a volume there), or set TMPDIR to another folder.',
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
