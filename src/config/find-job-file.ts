import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { ConfigError } from '../errors.ts';
import { nearest } from '../nearest.ts';
import { inPackage } from '../package.ts';

const endings = ['.yaml', '.yml'];
/** The job files that come with the package. */
const examples = inPackage('jobs');

/** A job file as found: its path as it is shown to people, its text, and its name without folder and ending. */
export interface JobFileText {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

/**
 * Reads a job file given by its path, or by the name of a file in `jobs/` without its ending: of the working folder, or of
 * the package if that has no such folder. If it has one, a mistyped name must not spend requests on an example. Relative
 * paths are relative to `cwd`.
 * @throws ConfigError naming the nearest job file
 */
export async function findJobFile(nameOrPath: string, cwd: string): Promise<JobFileText> {
  const isPath = /[\\/]/.test(nameOrPath) || endings.includes(extname(nameOrPath));
  const folder = existsSync(resolve(cwd, 'jobs')) ? 'jobs' : examples;
  const candidates = isPath ? [nameOrPath] : endings.map((ending) => join(folder, nameOrPath + ending));
  for (const path of candidates) {
    const text = await readIfThere(resolve(cwd, path), path);
    if (text !== undefined) return { path, name: jobName(path), text };
  }
  throw await notFound(nameOrPath, candidates, cwd);
}

/** How to name a file's job in a command: its name if it is in `jobs/`, else its path. */
export function typedJob(path: string): string {
  const typed = ['jobs', examples].includes(dirname(path)) ? jobName(path) : path;
  return /^[\w./-]+$/.test(typed) ? typed : `"${typed}"`;
}

function jobName(path: string): string {
  return basename(path, extname(path));
}

async function readIfThere(absolute: string, path: string): Promise<string | undefined> {
  try {
    return await readFile(absolute, 'utf8');
  } catch (cause) {
    if (isSystemError(cause) && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')) return undefined;
    const reason = isSystemError(cause) && cause.code === 'EISDIR' ? 'it is a folder' : String(cause);
    throw new ConfigError(`The job file ${path} cannot be read: ${reason}`, { cause });
  }
}

async function notFound(
  nameOrPath: string,
  candidates: readonly string[],
  cwd: string,
): Promise<ConfigError> {
  const folders = new Set(['jobs', ...candidates.map((path) => dirname(path))]);
  const present = (await Promise.all([...folders].map((folder) => jobFilesIn(folder, cwd)))).flat();
  const wanted = jobName(nameOrPath);
  const byName = new Map(present.map((path) => [jobName(path), path]));
  const meant = byName.get(nearest(wanted, byName.keys()) ?? '');
  const hint =
    meant !== undefined
      ? `Did you mean ${['jobs', examples].includes(dirname(meant)) ? jobName(meant) : meant}?`
      : folders.has(examples)
        ? `Jobs that come with the program: ${present.map(jobName).join(', ')}. Your own go into a folder jobs/.`
        : present.length > 0
          ? `Job files here: ${present.join(', ')}`
          : `A job is a path to a YAML file, or the name of one in jobs/; examples are in ${examples}.`;
  return new ConfigError(`There is no job file ${nameOrPath} (looked for ${candidates.join(' and ')}).`, {
    hint,
  });
}

/** The job files that can be named without a path: those in `jobs/`, or the package's examples if there is no such folder. */
export async function allJobFiles(
  cwd: string,
): Promise<{ readonly folder: string; readonly paths: string[]; readonly areExamples: boolean }> {
  const areExamples = !existsSync(resolve(cwd, 'jobs'));
  const folder = areExamples ? examples : 'jobs';
  return { folder, paths: await jobFilesIn(folder, cwd), areExamples };
}

/** Paths of the job files in a folder, in the order of their names; none if there is no such folder. */
export async function jobFilesIn(folder: string, cwd: string): Promise<string[]> {
  try {
    const names = await readdir(resolve(cwd, folder));
    return names
      .filter((name) => endings.includes(extname(name)))
      .toSorted()
      .map((name) => join(folder, name));
  } catch (error) {
    if (isSystemError(error)) return [];
    throw error;
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error;
}
