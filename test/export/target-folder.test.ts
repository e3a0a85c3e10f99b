import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { type Manifest, manifestName } from '../../src/export/manifest.ts';
import type { OpenMode } from '../../src/export/target.ts';
import { openFolder } from '../../src/export/target-folder.ts';
import { aFolder, type Folder } from '../cli/gmsi.ts';

let folder: Folder;
let out: string;

beforeEach(async () => {
  folder = await aFolder();
  out = join(folder.path, 'export');
});
afterEach(() => folder[Symbol.asyncDispose]());

const manifest = { files: [] as Manifest['files'] } as Manifest;

async function exportTo(target: string, file: string, mode: OpenMode = 'new'): Promise<void> {
  await using partial = await openFolder(target, mode);
  await writeFile(join(partial.path, file), file);
  await partial.publish(manifest);
}

describe('the folder of an export', () => {
  it('appears with its name only when it is finished', async () => {
    await using partial = await openFolder(out, 'new');
    await writeFile(join(partial.path, 'part-0.parquet'), '');
    expect(await readdir(folder.path)).toEqual([expect.stringMatching(/^export\.partial-[0-9a-f]{8}$/)]);
    await partial.publish(manifest);
    expect(partial.place).toBe(out);
    expect(await readdir(folder.path)).toEqual([basename(out)]);
    expect(await readdir(out)).toEqual([manifestName, 'part-0.parquet']);
  });

  it('does not exist if it was not finished, nor do folders that were made for it', async () => {
    const below = join(folder.path, 'made', 'export');
    await expect(
      (async () => {
        await using partial = await openFolder(below, 'new');
        await writeFile(join(partial.path, 'part-0.parquet'), '');
        throw new Error('power cut');
      })(),
    ).rejects.toThrow('power cut');
    expect(await readdir(folder.path)).toEqual([]);
  });

  it('is rid of what killed exports have left beside it, but not of the only copy of an export', async () => {
    for (const name of ['00000001', '00000002-replaced']) await mkdir(`${out}.partial-${name}`);
    await mkdir(`${out}.mine`);
    await exportTo(out, 'part-0.parquet');
    const kept = ['export', 'export.mine', 'export.partial-00000002-replaced'];
    expect(await readdir(folder.path)).toEqual(kept);
    await exportTo(out, 'part-0.parquet', 'replace');
    expect(await readdir(folder.path)).toEqual(kept.slice(0, 2));
  });

  it('may stand there empty', async () => {
    await mkdir(out);
    await exportTo(out, 'new');
    expect(await readdir(out)).toEqual([manifestName, 'new']);
  });

  it('replaces an export if it may, also behind a link, and leaves nothing of it', async () => {
    await exportTo(join(folder.path, 'real'), 'old');
    await symlink(join(folder.path, 'real'), out);
    await expect(openFolder(out, 'new')).rejects.toThrow('is not empty');
    await exportTo(out, 'new', 'replace');
    expect(await readdir(folder.path)).toEqual(['export', 'real']);
    expect(await readdir(join(folder.path, 'real'))).toEqual([manifestName, 'new']);
  });

  it('that is continued counts a link as a file that is missing, whatever it leads to', async () => {
    const file = { path: 'month=2024-01/part-0.csv', rows: 1, bytes: 3, sha256: 'a' };
    const months = [{ month: '2024-01', rows: 1, fingerprint: 'a' }];
    const held = {
      ...{ gmsi: '0', table: 'headlines', format: 'csv', complete: true, rows: 1, columns: {}, only: {} },
      ...{ as_of: null, changed_since: null, from: null, to: null, exported_at: '2024-02-01T00:00:00Z' },
      ...{ partitioned_by: ['month'], months, files: [file], versions: false, continues: null, changed: [] },
    };
    await folder.write(`export/${file.path}`, 'abc');
    await folder.write(`export/${manifestName}`, held);
    const read = async () => {
      await using partial = await openFolder(out, 'continue');
      return partial.held?.months[0]?.fingerprint;
    };
    expect(await read()).toBe('a');
    await folder.write('elsewhere', 'xyz');
    await rm(join(out, file.path));
    await symlink(join(folder.path, 'elsewhere'), join(out, file.path));
    expect(await read()).toBe('');
    await rename(join(out, manifestName), join(folder.path, 'manifest'));
    await symlink(join(folder.path, 'manifest'), join(out, manifestName));
    expect(await read()).toBeUndefined();
  });

  it('replaces nothing but an export', async () => {
    await folder.write('export/thesis.txt', 'years of work');
    await expect(openFolder(out, 'replace')).rejects.toMatchObject({
      message: `The folder ${out} is not empty.`,
      hint: expect.stringContaining('--overwrite replaces nothing but an export'),
      kind: 'fatal',
    });
    expect(await readdir(folder.path)).toEqual(['export']);
  });

  it('cannot be a mount point, which cannot be renamed', async () => {
    await expect(openFolder('/dev', 'new')).rejects.toThrow('The folder /dev is a mount point.');
  });

  it('cannot be where a file is, nor below one', async () => {
    await folder.write('export', 'a file');
    await expect(openFolder(out, 'replace')).rejects.toThrow(ConfigError);
    await expect(openFolder(join(out, 'below'), 'new')).rejects.toThrow(/cannot be written: not a directory/);
  });
});
