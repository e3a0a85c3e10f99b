import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { appendFile, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readDotenvFile } from './dotenv-file.ts';

/**
 * Sets variables in a folder's `.env` and keeps its other lines; `undefined` comments a variable out. Only the user may read the
 * file. A new file replaces the old one, because a process that has opened the old one could read what is written into it.
 * @throws Error if a value would not be read back unchanged; then the file stays as it was
 */
export async function writeDotenv(
  folder: string,
  values: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const path = join(folder, '.env');
  let text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^[ \\t]*(?:export[ \\t]+)?${name}[ \\t]*=.*$`, 'm');
    if (value === undefined) text = text.replace(line, (found) => `#${found}`);
    else if (line.test(text)) text = text.replace(line, () => `${name}=${quoted(value)}`);
    else text = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${name}=${quoted(value)}\n`;
  }
  // If .env is a link, replaces its target, not the link.
  const target = await realpath(path).catch(() => path);
  const draft = `${target}.${randomUUID()}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    const read = readDotenvFile(draft, (name) => name in values);
    const lost = Object.entries(values).find(([name, value]) => read[name] !== value);
    if (lost) throw new Error(`${lost[0]} cannot be written to ${path}.`);
    await rename(draft, target);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}

/**
 * Adds names to the `.gitignore` of a folder in a git repository, unless they are there.
 * @returns whether git ignores them, and whether the file was changed for that
 */
export async function ignoreInGit(folder: string, names: readonly string[]) {
  if (!isInGit(folder)) return { isIgnored: false, isChanged: false };
  const path = join(folder, '.gitignore');
  const text = existsSync(path) ? await readFile(path, 'utf8') : '';
  const lines = text.split(/\r?\n/).map((line) => line.trim().replace(/^\/|\/$/g, ''));
  const added = names.filter((name) => !lines.includes(name));
  const start = text === '' || text.endsWith('\n') ? '' : '\n';
  if (added.length > 0) await appendFile(path, `${start}${added.join('\n')}\n`);
  return { isIgnored: true, isChanged: added.length > 0 };
}

function isInGit(folder: string): boolean {
  return existsSync(join(folder, '.git')) || (dirname(folder) !== folder && isInGit(dirname(folder)));
}

/** Quotes a value so that dotenv reads it back; dotenv has no escapes except `\n` and `\r` in double quotes. */
function quoted(value: string): string {
  if (/^[\w.:/@%+=?&~,;!-]*$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((one) => !value.includes(one)) ?? "'";
  return `${quote}${value}${quote}`;
}
