import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfig, settings } from '../../src/config/environment.ts';
import { aFolder } from '../cli/gmsi.ts';
import { gmsiHere } from '../cli/in-process.ts';
import { root, sourcePaths } from '../docs/pages.ts';

const secret = 'sEcReT-k3y';

/** The configuration with this text as `.env`. */
async function configOf(text: string | Buffer) {
  await using folder = await aFolder();
  await writeFile(join(folder.path, '.env'), text);
  return readConfig({}, folder.path);
}

describe('a .env file', () => {
  it.each([
    ['plain', `GMSI_API_KEY=${secret}\n`],
    ['with export', `export GMSI_API_KEY=${secret}\n`],
    ['with a byte order mark', `\uFEFFGMSI_API_KEY=${secret}\n`],
    ['with the line ends of Windows', `LOG_LEVEL=info\r\nGMSI_API_KEY=${secret}\r\n`],
    ['in quotes, with a comment', `# the key\nGMSI_API_KEY="${secret}" # of 2026\n`],
    ['set a second time', `GMSI_API_KEY=old\nGMSI_API_KEY=${secret}\n`],
    ['with blanks around it', `  GMSI_API_KEY = ${secret}  # of 2026\n`],
    ['beside a value of several lines', `CERT="-----BEGIN\nabc=\n-----END"\nGMSI_API_KEY='${secret}'\n`],
  ])('is read: %s', async (_, text) => {
    expect((await configOf(text)).apiKey!.reveal()).toBe(secret);
  });

  it.each([
    ['in double quotes', `"${secret}"`, 'in quotes'],
    ['in single quotes', `'${secret}'\n`, 'in quotes'],
    ['with its name', `GMSI_API_KEY=${secret}\n`, 'begins with GMSI_API_KEY='],
  ])('a key %s in a file of its own is refused, and not shown', async (_, text, what) => {
    await using folder = await aFolder();
    await writeFile(join(folder.path, 'key'), text);
    const read = () => readConfig({ GMSI_API_KEY_FILE: 'key' }, folder.path);
    expect(read).toThrow(`The API key ${what.startsWith('in') ? 'is ' : ''}${what}`);
    expect(read).not.toThrow(secret);
  });

  it('gives way to the environment, also to a variable that is empty there', async () => {
    await using folder = await aFolder();
    await writeFile(join(folder.path, '.env'), 'DATABASE_URL=postgres://h/db\nGMSI_API_KEY=old\n');
    const read = (env: Record<string, string>) => readConfig(env, folder.path);
    expect(read({}).warehouse.kind).toBe('url');
    expect(read({ DATABASE_URL: '' }).warehouse.kind).toBe('embedded');
    expect(read({ GMSI_API_KEY: ' ' }).apiKey).toBeUndefined();
  });

  it.each([
    ['a name without =', `LOG_LEVEL=info\nGMSI_API_KEY\n`, /line 2: GMSI_API_KEY is not read as/],
    ['a blank for the =', `GMSI_API_KEY ${secret}\n`, /line 1: GMSI_API_KEY is not read as/],
    ["a shell's set", `set GMSI_API_KEY=${secret}\n`, /line 1: GMSI_API_KEY is not read as/],
    ['a quote that is not closed', `GMSI_API_KEY="${secret}\n`, /line 1: GMSI_API_KEY is not read as/],
    [
      "a quote of a line's that swallows ours",
      `LOG_LEVEL="info\nGMSI_API_KEY="${secret}"\n`,
      /line 1: LOG_LEVEL is not read as/,
    ],
    [
      "a quote of another program's",
      `OTHER='x\n\nGMSI_API_KEY='${secret}'\n`,
      /line 3: GMSI_API_KEY is not read as/,
    ],
    ['more after the quote', `GMSI_API_KEY="${secret}"x\n`, /line 1: GMSI_API_KEY is not read as/],
    ['a # within', `DATABASE_URL=postgres://u:${secret}#1@host/db\n`, /DATABASE_URL is not read as written/],
    ['another encoding', Buffer.from(`GMSI_API_KEY=${secret}\n`, 'utf16le'), /is not UTF-8 text/],
  ])('with %s is refused, by file and line, without what stands there', async (_, text, what) => {
    const error = await configOf(text).catch((caught: unknown) => caught as Error);
    expect(error).toMatchObject({ name: 'ConfigError', message: expect.stringMatching(what) });
    expect((error as Error).message).toContain('.env');
    const { message, hint } = error as unknown as { message: string; hint: string };
    expect(message + hint).not.toContain(secret);
  });
});

it('names a setting that does not exist, and the one that was likely meant', async () => {
  await using folder = await aFolder();
  await folder.write('.env', `GMSI_API_KEYS=${secret}\nGMSI_REDIS_URL=redis://here\n`);
  const env = {
    gmsi_home: 'x',
    GMSI_METRIC_PORT: '1',
    GMSI_EMPTY: '',
    // As Kubernetes sets them beside a service called gmsi-work.
    GMSI_WORK_PORT: 'tcp://10.0.0.1:80',
    GMSI_WORK_SERVICE_HOST: '10.0.0.1',
    GMSI_WORK_PORT_80_TCP: 'x',
  };
  const { warnings } = readConfig(env, folder.path);
  expect(warnings).toEqual([
    'GMSI_API_KEYS is set, but there is no such setting: did you mean GMSI_API_KEY?',
    'GMSI_REDIS_URL is set, but there is no such setting: it does nothing',
    'gmsi_home is set, but there is no such setting: did you mean GMSI_HOME?',
    'GMSI_METRIC_PORT is set, but there is no such setting: did you mean GMSI_METRICS_PORT?',
  ]);
});

it('shows it to a person who runs a command', async () => {
  await using folder = await aFolder();
  const env = { GMSI_API_KEYS: secret, DATABASE_URL: 'postgres://u:p@127.0.0.1:1/db' };
  const { stderr } = await gmsiHere(['check', '--quiet'], { cwd: folder.path, env });
  expect(stderr).toContain('GMSI_API_KEYS is set, but there is no such setting');
  expect(stderr).not.toContain(secret);
});

it('knows every setting that the program and its examples name', () => {
  const files = [
    ...sourcePaths(),
    '.env.example',
    'docker-compose.yml',
    'Dockerfile',
    'README.md',
    'docs/reference.md',
  ];
  const named = files.flatMap(
    (path) => readFileSync(`${root}${path}`, 'utf8').match(/\bGMSI_[A-Z_]+\b/g) ?? [],
  );
  expect([...new Set(named)].filter((name) => !settings.includes(name))).toEqual([]);
});
