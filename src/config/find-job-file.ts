import { existsSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { ConfigError, systemReason } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { oneName } from '../one-name.ts';
import { inPackage } from '../package.ts';
import { readInFolder, utf8Text } from './read-in-folder.ts';
import { typed } from './typed.ts';

const endings = ['.yaml', '.yml'];
/** The job files that come with the package. */
const examples = inPackage('jobs');

/** A job file: its path as shown to people, its text, and its name without folder and ending. */
export interface JobFileText {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Reads a job file by its path, or by its name in `jobs/` without the ending. Without `jobs/` in `cwd`, a name means one of the
 * package's examples; with it, a mistyped name must not spend requests on an example. Paths are relative to `cwd`.
 * @throws ConfigError that suggests the nearest job file
 */
export async function findJobFile(nameOrPath: string, cwd: string): Promise<JobFileText> {
  const isPath = /[\\/]/.test(nameOrPath) || endings.includes(extname(nameOrPath));
  const folder = existsSync(resolve(cwd, 'jobs')) ? 'jobs' : examples;
  const candidates = isPath ? [nameOrPath] : endings.map((ending) => join(folder, nameOrPath + ending));
  for (const path of candidates) {
    const text = await readIfThere(resolve(cwd, path), path);
    if (text !== undefined) return { path, name: jobNameOf(path), text };
  }
  // A file whose name is written in another normal form, as macOS does.
  const inFolder = isPath ? dirname(nameOrPath) : folder;
  const name = isPath ? jobNameOf(nameOrPath) : oneName(nameOrPath);
  const other = (await jobFilesIn(inFolder, cwd)).find(
    (path) => jobNameOf(path) === name && (!isPath || extname(path) === extname(nameOrPath)),
  );
  if (other !== undefined) return findJobFile(other, cwd);
  throw await notFound(nameOrPath, candidates, cwd);
}

/** Returns the word that names a file's job in a command: its name if it is in `jobs/`, else its path. */
export function typedJob(path: string): string {
  return typed(['jobs', examples].includes(dirname(path)) ? jobNameOf(path) : path);
}

/** Returns the name of a file's job: without folder and ending, however the file system writes it. */
export function jobNameOf(path: string): string {
  return oneName(basename(path, extname(path)));
}

/**
 * Reads a job file by its path again.
 * @returns `undefined` if it was removed from its folder
 * @throws ConfigError if it cannot be read, or if the folder is gone, as with a disk that is not mounted
 */
export async function readJobFileAgain(path: string, cwd: string): Promise<JobFileText | undefined> {
  const text = await readIfThere(resolve(cwd, path), path);
  if (text !== undefined) return { path, name: jobNameOf(path), text };
  const folder = dirname(path);
  if (existsSync(resolve(cwd, folder))) return undefined;
  throw new ConfigError(`The job file ${path} cannot be read: the folder ${folder} is gone`);
}

async function readIfThere(absolute: string, path: string): Promise<string | undefined> {
  try {
    const bytes = await readInFolder(absolute, `The job file ${path}`);
    refuseTwin(absolute, path);
    return utf8Text(path, bytes);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    const code = isSystemError(cause) ? cause.code : undefined;
    const link = code === 'ENOENT' ? await readlink(absolute).catch(() => undefined) : undefined;
    if ((code === 'ENOENT' && link === undefined) || code === 'ENOTDIR') return undefined;
    const reason = link ? `it is a link to ${link}, which does not exist` : systemReason(cause);
    throw new ConfigError(`The job file ${path} cannot be read: ${reason}`, { cause });
  }
}

/**
 * Refuses a file beside one of the same name with the other ending: a job is known by its name, so each would replace the
 * other.
 */
function refuseTwin(absolute: string, path: string): void {
  const ending = extname(path);
  const other = endings.find((one) => one !== ending);
  if (!endings.includes(ending) || !existsSync(absolute.slice(0, -ending.length) + other)) return;
  const twin = path.slice(0, -ending.length) + other;
  throw new ConfigError(`${path} and ${twin} are both the job ${jobNameOf(path)}.`, {
    hint: 'Rename or remove one of them.',
  });
}

async function notFound(nameOrPath: string, candidates: readonly string[], cwd: string) {
  const { paths } = await allJobFiles(cwd);
  const known = paths.map(jobNameOf);
  const hint = known.length > 0 ? knownNames(jobNameOf(nameOrPath), known) : 'gmsi init makes a first one.';
  return new ConfigError(`There is no job file ${nameOrPath} (looked for ${candidates.join(' and ')}).`, {
    hint,
  });
}

/** Returns the job files that can be named without a path: those in `jobs/`, or the package's examples without that folder. */
export async function allJobFiles(
  cwd: string,
): Promise<{ readonly folder: string; readonly paths: string[]; readonly areExamples: boolean }> {
  const areExamples = !existsSync(resolve(cwd, 'jobs'));
  const folder = areExamples ? examples : 'jobs';
  return { folder, paths: await jobFilesIn(folder, cwd), areExamples };
}

/** True for a file that is one of the package's examples, unchanged: in a copy of them, or in a clone. */
export async function isExample(path: string, cwd: string): Promise<boolean> {
  const bytesOf = (path: string) => readInFolder(path, path).catch(() => undefined);
  const bytes = await bytesOf(resolve(cwd, path));
  const example = await bytesOf(join(examples, basename(path)));
  return bytes !== undefined && example?.equals(bytes) === true;
}

/** Returns the paths of the job files in a folder, sorted by name; none if there is no such folder. */
export async function jobFilesIn(folder: string, cwd: string): Promise<string[]> {
  try {
    const names = await readdir(resolve(cwd, folder));
    return names
      .filter((name) => endings.includes(extname(name)))
      .toSorted()
      .map((name) => join(folder, name));
  } catch (error) {
    if (isSystemError(error) && ['ENOENT', 'ENOTDIR'].includes(error.code!)) return [];
    throw new ConfigError(`The folder ${folder} cannot be read: ${error}`, { cause: error });
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error;
}
