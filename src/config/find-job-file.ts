import { existsSync } from 'node:fs';
import { readdir, readlink } from 'node:fs/promises';
import { basename, dirname, extname, join, relative, resolve } from 'node:path';
import { ConfigError, systemReason } from '../errors.ts';
import { knownNames } from '../nearest.ts';
import { oneName } from '../one-name.ts';
import { inPackage } from '../package.ts';
import { readInFolder, utf8Text } from './read-in-folder.ts';
import { typed } from './typed.ts';

const endings = ['.yaml', '.yml'];
/** Job files that come with the package. Nobody's jobs, until they are copied. */
const examples = inPackage('jobs/examples');

/** A job file: its path as shown to people, its text, and its name without folder and ending. */
export interface JobFileText {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Reads a job file by its path, or by its name in `jobs/` without the ending. Paths are relative to `cwd`.
 * @throws ConfigError that suggests the nearest job file, or how to copy the example of this name
 */
export async function findJobFile(nameOrPath: string, cwd: string): Promise<JobFileText> {
  const isPath = /[\\/]/.test(nameOrPath) || endings.includes(extname(nameOrPath));
  const candidates = isPath ? [nameOrPath] : endings.map((ending) => join('jobs', nameOrPath + ending));
  for (const path of candidates) {
    const text = await readIfThere(resolve(cwd, path), path);
    if (text !== undefined) return { path, name: jobNameOf(path), text };
  }
  // A file whose name is written in another normal form, as macOS does.
  const inFolder = isPath ? dirname(nameOrPath) : 'jobs';
  const name = isPath ? jobNameOf(nameOrPath) : oneName(nameOrPath);
  const other = (await jobFilesIn(inFolder, cwd)).find(
    (path) => jobNameOf(path) === name && (!isPath || extname(path) === extname(nameOrPath)),
  );
  if (other !== undefined) return findJobFile(other, cwd);
  throw await notFound(nameOrPath, candidates, cwd);
}

/** Returns the word that names a file's job in a command: its name if it is in `jobs/`, else its path. */
export function typedJob(path: string): string {
  return typed(dirname(path) === 'jobs' ? jobNameOf(path) : path);
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
  return new ConfigError(`There is no job file ${nameOrPath} (looked for ${candidates.join(' and ')}).`, {
    hint: await hintFor(jobNameOf(nameOrPath), cwd),
  });
}

async function hintFor(name: string, cwd: string): Promise<string> {
  const known = (await jobFilesIn('jobs', cwd)).map(jobNameOf);
  const example = (await jobFilesIn(examples, cwd)).find((path) => jobNameOf(path) === name);
  if (example !== undefined && !known.includes(name)) {
    const toMake = existsSync(resolve(cwd, 'jobs')) ? '' : 'mkdir jobs && ';
    return `It is an example. To make it your job: ${toMake}cp ${shownFrom(cwd, example)} jobs/`;
  }
  return known.length > 0 ? knownNames(name, known) : `gmsi init makes a first one. ${aboutExamples(cwd)}`;
}

function shownFrom(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return typed(short.startsWith('..') ? path : short);
}

/** Says where the examples are. */
export function aboutExamples(cwd: string): string {
  return `Examples to copy into jobs/: ${shownFrom(cwd, examples)}`;
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
