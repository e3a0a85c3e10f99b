import { readdir } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { readInFolder, utf8Text } from '../config/read-in-folder.ts';
import { ConfigError } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { inPackage } from '../package.ts';
import { type Check, parseCheck } from './check-file.ts';

/** The folder of the program's own checks. */
const builtIn = inPackage('jobs/checks');

/**
 * Returns all checks by name: the program's own, and those in `jobs/checks` of the working directory, which replace the
 * program's of the same name.
 * @throws BrokenCheck
 */
export async function findChecks(cwd: string, knownFeeds: readonly string[]): Promise<Check[]> {
  const paths = [await checksIn(builtIn), await checksIn(resolve(cwd, 'jobs/checks'))];
  const checks = await Promise.all(
    paths.flat().map(async (path) => {
      const name = told(path, cwd);
      return parseCheck(name, utf8Text(name, await readInFolder(path, name)), knownFeeds);
    }),
  );
  const byName = new Map(checks.map((check) => [check.name, check]));
  return [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Returns the checks with these names. @throws ConfigError naming the nearest check */
export function onlyThese(checks: readonly Check[], names: readonly string[]): Check[] {
  const known = checks.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ConfigError(`There is no check "${unknown}".`, { hint: knownNames(unknown, known) });
  return names.length === 0 ? [...checks] : checks.filter(({ name }) => names.includes(name));
}

/** Paths of the check files in a folder; none if there is no such folder. */
async function checksIn(folder: string): Promise<string[]> {
  try {
    const names = await readdir(folder);
    return names.filter((name) => name.endsWith('.sql')).map((name) => join(folder, name));
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw new ConfigError(`The folder ${folder} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Returns a path as a person would write it: relative if it is below the working directory. */
function told(path: string, cwd: string): string {
  const short = relative(cwd, path);
  return short.startsWith('..') ? path : short;
}
