import { randomBytes } from 'node:crypto';
import {
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { readInFolder } from '../config/read-in-folder.ts';
import { ConfigError, systemReason } from '../errors.ts';
import { makeFolder } from '../make-folder.ts';
import { type Manifest, manifestName, readManifest, writeManifest } from './manifest.ts';
import { type ExportTarget, type OpenMode, refuseTaken, writable } from './target.ts';
import { makeFile } from './write-file.ts';

/**
 * Begins an export to a folder. Writes it beside its final place and then renames it, which replaces an earlier export.
 * @throws ConfigError if the folder contains something else, or if nothing can be written beside it
 */
export async function openFolder(out: string, mode: OpenMode): Promise<ExportTarget> {
  await refuseMountPoint(out);
  refuseTaken(`The folder ${out}`, await heldIn(out), mode);
  // Follows links, to replace the folder, not the link.
  const target = await realpath(out).catch(() => resolve(out));
  const held = mode === 'continue' ? await readHeld(target, out) : undefined;
  const { path, [Symbol.asyncDispose]: remove } = await makeBeside(target, out);
  return {
    place: target,
    path,
    held,
    async publish(manifest) {
      await writable(async () => {
        for (const file of manifest.files) await keep(join(target, file.path), join(path, file.path));
        await writeFile(await makeFile(path, manifestName), writeManifest(manifest));
      });
      await replace(target, path);
    },
    [Symbol.asyncDispose]: remove,
  };
}

/**
 * Creates a folder beside the final place, with its mode, or else only for the user. When disposed, removes it and the parents
 * that were created for it, unless they are in use by then.
 * @param out the place, as the user named it
 */
export async function makeBeside(target: string, out: string) {
  const path = `${target}.partial-${randomBytes(4).toString('hex')}`;
  let firstMade: string | undefined;
  try {
    firstMade = makeFolder(dirname(target), 0o700);
    await removeAbandoned(target);
    const there = await stat(target).catch(() => undefined);
    // Whoever may read a file may enter the folder.
    const mode = there ? there.mode | ((there.mode & 0o444) >> 2) | 0o700 : 0o700;
    await mkdir(path, mode & 0o777);
  } catch (cause) {
    throw unusable(out, cause);
  }
  return {
    path,
    async [Symbol.asyncDispose](): Promise<void> {
      await rm(path, { recursive: true, force: true });
      // Fails if the folder is not empty.
      if (firstMade !== undefined) await rmdir(dirname(target)).catch(() => {});
    },
  };
}

/** Removes what killed exports have left beside a place. Only one export to it runs at a time (`exportTable`). */
async function removeAbandoned(target: string): Promise<void> {
  const folder = dirname(target);
  const beside = `${basename(target)}.partial-`;
  // If an export was killed while it replaced the folder, the replaced one is the only copy.
  const isThere = await lstat(target).catch(() => undefined);
  for (const name of await readdir(folder))
    if (name.startsWith(beside) && (isThere || !name.endsWith('-replaced')))
      await rm(join(folder, name), { recursive: true, force: true });
}

async function readHeld(target: string, out: string): Promise<Manifest | undefined> {
  const json = await readInFolder(join(target, manifestName), manifestName).then(String, () => undefined);
  if (json === undefined) return undefined;
  const paths = await readdir(target, { recursive: true });
  const sizes = await Promise.all(
    // A link has another size than the file that the export wrote, so its month is written again.
    paths.map(async (path) => [path.replaceAll(sep, '/'), (await lstat(join(target, path))).size] as const),
  );
  return readManifest(json, `The folder ${out}`, new Map(sizes));
}

/** Links or copies a file of the replaced export into the new one, unless the new one has it already. */
async function keep(old: string, path: string): Promise<void> {
  if (await stat(path).catch(() => undefined)) return;
  await mkdir(dirname(path), { recursive: true, mode: (await stat(dirname(old))).mode & 0o777 });
  // Some file systems have no links.
  await link(old, path).catch(() => copyFile(old, path));
}

/** Refuses a folder that cannot be renamed or replaced before the export, not at its end. */
async function refuseMountPoint(out: string): Promise<void> {
  const folder = await realpath(out).catch(() => undefined);
  if (folder === undefined || (await stat(folder)).dev === (await stat(dirname(folder))).dev) return;
  throw new ConfigError(`The folder ${out} is a mount point.`, {
    hint: 'Export to a folder below it.',
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

export function unusable(out: string, cause: unknown): ConfigError {
  return new ConfigError(`The folder ${out} cannot be written: ${systemReason(cause)}`, {
    cause,
    hint:
      `The export is written to ${dirname(resolve(out))} and then renamed, so that folder must be writable (in a container, it ` +
      'needs a volume). Or name another one: with --out, or under exports in the job file.',
  });
}
