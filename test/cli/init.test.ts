import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { columnsOf } from '../../src/terminal/text.ts';
import { aFolder } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';
import { hasScript, startOnTerminal } from './on-terminal.ts';
import { aPlace } from './place.ts';

const down = '\x1b[B';

/** Returns a function that waits for a question to stand below what was answered before, and answers it. */
function answerOn(terminal: ReturnType<typeof startOnTerminal>) {
  let from = 0;
  return async (question: string, keys: readonly string[]) => {
    const asked = `◆  ${question}`;
    await vi.waitFor(() => expect(terminal.written.slice(from)).toContain(asked));
    from = terminal.written.indexOf(asked, from) + asked.length;
    for (const key of keys) {
      const before = terminal.written.length;
      terminal.type(key);
      // Keys that arrive together are read as one paste.
      await vi.waitFor(() => expect(terminal.written.length).toBeGreaterThan(before));
    }
  };
}

it('says what to do instead if nobody can answer', async () => {
  await using folder = await aFolder();
  const { code, stderr } = await gmsiHere(['init'], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toMatch(/needs a terminal.*\n {2}→ .*\.env\.example/);
});

describe.skipIf(!hasScript)('on a terminal (skipped without script(1) of util-linux)', () => {
  it('asks again only for what did not work, never shows a secret, and writes what then loads', async () => {
    await using place = await aPlace({ volume: 0.01, keys: ['the-right-key'] });
    const { folder, sandbox, warehouse } = place;
    await folder.write('.env', 'LOG_LEVEL=warn\n');
    await folder.write('.git/HEAD', 'ref: refs/heads/main\n');
    await folder.write('.gitignore', 'node_modules\n.env');
    const terminal = startOnTerminal(['init'], 100, { cwd: folder.path, env: { HOME: folder.path } });
    const answer = answerOn(terminal);
    await answer('Do you have an API key', ['\r']);
    await answer('Address of the service', [`${sandbox.url}`, '\r']);
    await answer('API key', ['the-wrong-key', '\r']);
    await answer('Where should the headlines go?', [down, '\r']);
    const wrong = Object.assign(new URL(warehouse.url), { password: 'the-wrong-password' });
    await answer('Database URL', [wrong.href, '\r']);
    await answer('Where should the headlines go?', [down, '\r']);
    await answer('Database URL', [warehouse.url, '\r']);
    await answer('Do you have an API key', ['\r']);
    // The address is offered again.
    await answer('Address of the service', ['\r']);
    await answer('API key', ['the-right-key', '\r']);
    await answer('Make a job file?', ['\r']);
    await answer('Countries', ['uk', '\t', '\r']);
    await answer('Topics', ['Inflation-Food', '\t', '\r']);
    await answer('Load headlines from which day?', ['\r']);
    await answer('Load new headlines every hour', ['\r']);
    await answer('Name of the job', ['\r']);
    expect(await terminal.ended).toBe(0);

    expect(terminal.written).toMatch(/The warehouse cannot be used yet[\s\S]*refuses the user/);
    expect(terminal.written).toMatch(/The service cannot be used yet[\s\S]*401/);
    expect(terminal.written).not.toMatch(/INFO|WARN/);
    const lines = stripVTControlCharacters(terminal.written).match(/^(■|◆ {2}Service|│ +→).*/gm) ?? [];
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(100);
    expect(await readFile(join(folder.path, '.gitignore'), 'utf8')).toBe('node_modules\n.env\n.gmsi\n');
    expect(terminal.written).toMatch(/Next: gmsi plan first/);
    for (const secret of [
      'the-wrong-key',
      'the-right-key',
      'the-wrong-password',
      new URL(warehouse.url).password,
    ])
      expect(terminal.written).not.toContain(secret);
    expect((await stat(join(folder.path, '.env'))).mode & 0o777).toBe(0o600);
    expect(await readFile(join(folder.path, '.env'), 'utf8')).toBe(
      `LOG_LEVEL=warn\nGMSI_BASE_URL=${sandbox.url}\nGMSI_API_KEY=the-right-key\nDATABASE_URL=${warehouse.url}\n`,
    );
    // Initials find a country before another name that contains them.
    expect(await readFile(join(folder.path, 'jobs', 'first.yaml'), 'utf8')).toContain('countries:\n  - GB\n');
    const plan = await gmsiHere(['plan', 'first'], { cwd: folder.path });
    expect(plan).toMatchObject({ code: 0, stderr: '' });
    // One window and one live answer an hour, so nothing that backfills could use up.
    expect(await readFile(join(folder.path, 'jobs/first.yaml'), 'utf8')).toMatch(
      /^budget:\n {2}reserve: 1440$/m,
    );
    expect(plan.stdout).not.toContain('reserve');

    // In the same folder, it asks for nothing that is set and works.
    const env = await readFile(join(folder.path, '.env'), 'utf8');
    const again = startOnTerminal(['init'], 100, { cwd: folder.path, env: { HOME: folder.path } });
    const answerAgain = answerOn(again);
    await answerAgain('Make a job file?', ['\r']);
    await answerAgain('Countries', ['DE', '\t', '\r']);
    await answerAgain('Topics', ['Inflation-Food', '\t', '\r']);
    await answerAgain('Load headlines from which day?', ['\r']);
    await answerAgain('Load new headlines every hour', ['n']);
    await answerAgain('Name of the job', ['2', '\r']);
    expect(await again.ended).toBe(0);
    expect(again.written).not.toMatch(/Do you have an API key|Where should the headlines go/);
    const said = stripVTControlCharacters(again.written).replaceAll(/\s+│?\s*/g, ' ');
    expect(said).toContain(`${sandbox.url} and database ${new URL(warehouse.url).pathname.slice(1)} on`);
    expect(await readFile(join(folder.path, '.env'), 'utf8')).toBe(env);
    expect(await readFile(join(folder.path, 'jobs/first2.yaml'), 'utf8')).toMatch(
      /- DE[\s\S]*end_date: today\n$/,
    );
  });

  it('writes nothing if it is interrupted at the first question', async () => {
    await using folder = await aFolder();
    const terminal = startOnTerminal(['init'], 80, { cwd: folder.path, env: { HOME: folder.path } });
    await vi.waitFor(() => expect(terminal.written).toContain('Do you have an API key'));
    terminal.type('\x03');
    expect(await terminal.ended).toBe(130);
    expect(terminal.written).toContain('Nothing was written.');
    await expect(stat(join(folder.path, '.env'))).rejects.toThrow('ENOENT');
  });
});
