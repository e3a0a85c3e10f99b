import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it that are missing. `mkdir` with `recursive` never ends if a folder exists but nothing can
 * be created in it, as in `/proc`.
 * @returns the first folder that was made; `undefined` if all existed
 * @throws the error of the file system
 */
export function makeFolder(path: string, mode = 0o777): string | undefined {
  const above = dirname(path);
  const first = existsSync(path) || existsSync(above) ? undefined : makeFolder(above, mode);
  try {
    mkdirSync(path, { mode });
    return first ?? path;
  } catch (error) {
    const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory();
    if (isThere) return first;
    throw error;
  }
}
