import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readJob } from '../../src/config/read-job.ts';
import { ConfigError } from '../../src/errors.ts';
import { jobText, today } from './job-text.ts';

describe('a job file is found', () => {
  let cwd: string;
  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'gmsi jobs '));
    await mkdir(join(cwd, 'jobs'));
    for (const path of ['jobs/g7.yaml', 'jobs/other.yml', 'mine.yaml'])
      await writeFile(join(cwd, path), jobText());
  });
  afterEach(() => rm(cwd, { recursive: true }));

  const refusal = (nameOrPath: string): Promise<unknown> =>
    readJob(nameOrPath, today, cwd).catch((error: unknown) => error);

  test.each([
    ['g7', 'g7', 'jobs/g7.yaml'],
    ['other', 'other', 'jobs/other.yml'],
    ['mine.yaml', 'mine', 'mine.yaml'],
    ['./jobs/g7.yaml', 'g7', './jobs/g7.yaml'],
  ])('by %s', async (nameOrPath, name, path) => {
    expect(await readJob(nameOrPath, today, cwd)).toMatchObject({ name, path });
  });

  test('by the path of an example, and by its name once it is copied, as the error says', async () => {
    const root = fileURLToPath(new URL('../..', import.meta.url));
    const path = 'jobs/examples/g7-inflation.yaml';
    expect(await readJob(path, today, root)).toMatchObject({ name: 'g7-inflation', path });
    const { hint } = (await readJob('g7-inflation', today, root).catch((error) => error)) as ConfigError;
    expect(hint).toBe(`It is an example. To make it your job: cp ${path} jobs/`);

    // Elsewhere, the examples are in the package.
    await rm(join(cwd, 'jobs'), { recursive: true });
    for (const wrong of ['g7-inflation', 'jobs/g7-inflation.yaml']) {
      const error = (await refusal(wrong)) as ConfigError;
      const command = /^It is an example\. To make it your job: (mkdir jobs && cp \S+ jobs\/)$/.exec(
        error.hint!,
      );
      execFileSync('sh', ['-c', command![1]!], { cwd });
      expect(await readJob(wrong, today, cwd)).toMatchObject({ path: 'jobs/g7-inflation.yaml' });
      expect(await refusal('g7-inflation.yaml')).toMatchObject({
        hint: 'Did you mean g7-inflation? Known names: g7-inflation.',
      });
      await rm(join(cwd, 'jobs'), { recursive: true });
    }
    expect(await refusal('xyz')).toMatchObject({
      hint: expect.stringMatching(
        /^gmsi init makes a first one\. Examples to copy into jobs\/: \S+jobs\/examples$/,
      ),
    });
  });

  test('by its name in either normal form: it is one job', async () => {
    const [composed, decomposed] = ['prix-élevés', 'prix-élevés'.normalize('NFD')];
    await writeFile(join(cwd, `jobs/${decomposed}.yaml`), jobText());
    for (const typed of [composed!, decomposed!, `jobs/${composed}.yaml`])
      expect(await readJob(typed, today, cwd)).toMatchObject({ name: composed });
    expect(await refusal(`jobs/${composed}.yml`)).toBeInstanceOf(ConfigError);
  });

  test('by an absolute path', async () => {
    const path = join(cwd, 'mine.yaml');
    expect(await readJob(path, today, cwd)).toMatchObject({ name: 'mine', path });
  });

  test.each([
    ['g6', 'There is no job file g6 (looked for jobs/g6.yaml and jobs/g6.yml).'],
    ['g7.yaml', 'There is no job file g7.yaml (looked for g7.yaml).'],
    ['nowhere/g7.yaml', 'There is no job file nowhere/g7.yaml (looked for nowhere/g7.yaml).'],
  ])('or else the nearest is named: %s', async (nameOrPath, message) => {
    const hint = 'Did you mean g7? Known names: g7, other.';
    const error = await refusal(nameOrPath);
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({ message, hint, kind: 'fatal' });
  });

  test('or else those that there are', async () => {
    expect(await refusal('inflation')).toMatchObject({
      hint: 'Known names: g7, other.',
    });
  });

  test('and a folder is not one, nor a link that leads nowhere', async () => {
    await symlink('/nowhere/gone.yaml', join(cwd, 'jobs/gone.yaml'));
    expect(await refusal('gone')).toMatchObject({
      message:
        'The job file jobs/gone.yaml cannot be read: it is a link to /nowhere/gone.yaml, which does not exist',
    });
    expect(await refusal('jobs/')).toMatchObject({
      message: 'The job file jobs/ cannot be read: it is a folder',
    });
  });

  test('and a pipe, which would block, is not one, nor a link out of the folder, which could show any file', async () => {
    execFileSync('mkfifo', [join(cwd, 'jobs/pipe.yaml')]);
    expect(await refusal('pipe')).toMatchObject({
      message: 'The job file jobs/pipe.yaml cannot be read: it is not a regular file',
      kind: 'fatal',
    });
    await symlink('/etc/passwd', join(cwd, 'jobs/link.yaml'));
    expect(await refusal('link')).toMatchObject({
      message: 'The job file jobs/link.yaml cannot be read: it is a link out of its folder, to /etc/passwd',
    });
  });

  test('also behind links within the folder, as Kubernetes mounts it', async () => {
    await mkdir(join(cwd, 'jobs/..1'));
    await writeFile(join(cwd, 'jobs/..1/mounted.yaml'), jobText());
    await symlink('..1', join(cwd, 'jobs/..data'));
    await symlink('..data/mounted.yaml', join(cwd, 'jobs/mounted.yaml'));
    expect(await readJob('mounted', today, cwd)).toMatchObject({ name: 'mounted' });
  });

  test.each(['g7', 'jobs/g7.yaml', './jobs/g7.yml'])(
    'and two of one name are refused, by whichever they are named: %s',
    async (nameOrPath) => {
      await writeFile(join(cwd, 'jobs/g7.yml'), jobText());
      const error = (await refusal(nameOrPath)) as ConfigError;
      expect(error.message).toMatch(/jobs\/g7\.ya?ml and .*jobs\/g7\.ya?ml are both the job g7\.$/);
      expect(error.hint).toBe('Rename or remove one of them.');
    },
  );

  test('and one that is not UTF-8 is refused, instead of read with U+FFFD in its names', async () => {
    await writeFile(join(cwd, 'jobs/latin1.yaml'), Buffer.from('topics: [Café]', 'latin1'));
    expect(await refusal('latin1')).toMatchObject({ message: 'jobs/latin1.yaml is not UTF-8 text.' });
  });
});
