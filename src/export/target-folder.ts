import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, realpath, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ConfigError, GmsiError } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';
import { manifestName } from './manifest.ts';

/** The files could not be written completely; most likely, the disk is full. */
export class ExportNotWritten extends GmsiError {
  override readonly kind = 'retryable';
}

/** The files do not hold what the warehouse counted. */
export class ExportDiffers extends GmsiError {
  override readonly kind = 'retryable';
}

/** Runs work in which only the file system can fail. @throws ExportNotWritten, AbortError */
export async function writable<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (cause) {
    const error = cause as Error;
    if (error.name === 'AbortError') throw error;
    throw new ExportNotWritten(`The export could not be written: ${error.message}`, {
      cause,
      hint: 'Is the disk full? Make room, or name another folder with --out, and run it again. Nothing was kept.',
    });
  }
}

/**
 * Begins an export. Its folder may exist if it is empty or, with `overwrite`, if it is an export.
 * @returns a folder beside its final place, which is removed if disposed before `finish` renames it to `out`, replacing an
 * earlier export
 * @throws ConfigError if it holds something else, or if nothing can be written beside it
 */
export async function makePartial(out: string, overwrite: boolean) {
  await refuseMountPoint(out);
  await refuseTaken(out, overwrite);
  // Follows links, so that the folder is replaced and not the link.
  const target = await realpath(out).catch(() => resolve(out));
  const path = `${target}.partial-${randomBytes(4).toString('hex')}`;
  let firstMade: string | undefined;
  try {
    firstMade = makeFolder(dirname(target));
    await mkdir(path);
  } catch (cause) {
    throw unusable(out, cause);
  }
  let isFinished = false;
  return {
    path,
    /** @returns the absolute path of the folder that was asked for */
    async finish(): Promise<string> {
      await replace(target, path);
      isFinished = true;
      return target;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      if (isFinished) return;
      await rm(path, { recursive: true, force: true });
      // Fails if somebody has put something there meanwhile.
      if (firstMade !== undefined) await rmdir(dirname(target)).catch(() => {});
    },
  };
}

async function refuseTaken(out: string, overwrite: boolean): Promise<void> {
  const held = await heldIn(out);
  if (held.length === 0) return;
  const isExport = held.includes(manifestName);
  if (isExport && overwrite) return;
  throw new ConfigError(`The folder ${out} is not empty.`, {
    hint: isExport
      ? 'Name another one with --out, or add --overwrite to replace that export.'
      : 'Name another one with --out; --overwrite replaces nothing but an export.',
  });
}

/** It cannot be renamed or replaced; reported before the export, not at its end. */
async function refuseMountPoint(out: string): Promise<void> {
  const folder = await realpath(out).catch(() => undefined);
  if (folder === undefined || (await stat(folder)).dev === (await stat(dirname(folder))).dev) return;
  throw new ConfigError(`The folder ${out} is a mount point.`, {
    hint: 'Name a folder below it with --out.',
  });
}

async function heldIn(out: string): Promise<string[]> {
  try {
    return await readdir(out);
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return [];
    throw unusable(out, error);
  }
}

async function replace(target: string, path: string): Promise<void> {
  const old = `${path}-replaced`;
  try {
    const isThere = await lstat(target).catch(() => undefined);
    if (isThere) await rename(target, old);
    await rename(path, target).catch(async (error) => {
      if (isThere) await rename(old, target);
      throw error;
    });
    await rm(old, { recursive: true, force: true });
  } catch (cause) {
    throw unusable(target, cause);
  }
}

function unusable(out: string, cause: unknown): ConfigError {
  return new ConfigError(`The folder ${out} cannot be written: ${(cause as Error).message}`, {
    cause,
    hint: 'Name another one with --out, or make the folder that contains it writable: the export is written there and then renamed.',
  });
}
