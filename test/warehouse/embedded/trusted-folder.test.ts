import { chmod, chown, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/errors.ts';
import { sharedRoot } from '../../../src/warehouse/embedded/location.ts';
import { aFolder, type Folder, gmsi } from '../../cli/gmsi.ts';
import { cases } from '../../support/cases.ts';

const server = { uid: 65_534, gid: 65_534 };
const somebody = 12_345;

describe.skipIf(process.getuid?.() !== 0)('for root, a place for all (skipped: only root needs one)', () => {
  let folder: Folder;
  let place: string;
  beforeEach(async () => {
    folder = await aFolder();
    await chmod(folder.path, 0o755);
    place = join(folder.path, 'gmsi');
    await writeFile(join(folder.path, 'a file'), '');
  });
  afterEach(() => folder[Symbol.asyncDispose]());

  const take = () => sharedRoot('/root/home', server, [join(folder.path, 'a file/gmsi'), place]);

  it('is made if it is not there, and used again', async () => {
    expect(take()).toBe(place);
    expect(take()).toBe(place);
  });

  it('may belong to the account of the server, and be where all may write but not rename', async () => {
    await chmod(folder.path, 0o1777);
    await mkdir(place);
    await chown(place, server.uid, server.gid);
    expect(take()).toBe(place);
  });

  const steps: Record<string, () => Promise<unknown>> = {
    make: () => mkdir(place),
    'make a file': () => writeFile(place, ''),
    link: async () => symlink(await mkdir(join(folder.path, 'a/b'), { recursive: true }).then(String), place),
    'give it away': () => chown(place, somebody, somebody),
    'give away what is above': () => chown(folder.path, somebody, somebody),
    'open what is above': () => chmod(folder.path, 0o777),
    'open it': () => chmod(place, 0o757),
    'open it to a group': () => chmod(place, 0o1775),
  };

  it.each(cases`
    belongs to somebody else | make, give it away | it belongs to another user \(12345\)
    is a link to somewhere else, though that is root’s | link | it is a symbolic link
    can be written by everybody | make, open it | others may write to it
    can be written by a group | make, open it to a group | others may write to it
    can be exchanged by somebody who may write above it | make, open what is above | others may write to 
    lies in a folder of somebody else | make, give away what is above | belongs to another user \(12345\)
    cannot be made at all | make a file | has no place that every user can reach
  `)('is refused if it %s', async (_, made, reason) => {
    for (const step of made!.split(', ')) await steps[step]!();
    expect(take).toThrow(ConfigError);
    expect(take).toThrow(new RegExp(reason!));
    expect(take).toThrow(expect.objectContaining({ hint: expect.stringContaining('GMSI_HOME') }));
  });

  it('is not run from once somebody else owns it, and the command ends with 2', async () => {
    const cluster = join(place, 'home-x');
    await mkdir(join(cluster, 'data'), { recursive: true });
    for (const path of [cluster, join(cluster, 'data')]) await chown(path, server.uid, server.gid);
    await chown(place, somebody, somebody);
    await folder.write('home/postgres-is-in', `${cluster}\n`);
    const env = { GMSI_HOME: join(folder.path, 'home') };
    const { code, stderr } = await gmsi(['jobs'], { cwd: folder.path, env });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/does not use .*gmsi: it belongs to another user \(12345\)\.\n {2}→ /),
    ]);
  });
});
