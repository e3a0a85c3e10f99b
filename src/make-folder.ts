import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its missing parents. `mkdir` with `recursive` is not used, because it never returns below a folder in
 * which nothing can be created, such as `/proc`.
 * @returns the topmost folder that was created; `undefined` if all existed
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
