import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readDotenvFile } from './dotenv-file.ts';

/**
 * Sets variables in the `.env` of a folder and leaves its other lines alone; `undefined` comments a variable out. Afterwards
 * only the user may read the file.
 * @throws ConfigError if a value cannot be written so that it is read back unchanged
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
  await writeFile(path, text, { mode: 0o600 });
  // The mode applies to a new file only.
  await chmod(path, 0o600);
  const read = readDotenvFile(path, (name) => name in values);
  const lost = Object.entries(values).find(([name, value]) => read[name] !== value);
  if (lost) throw new Error(`${lost[0]} cannot be written to ${path}.`);
  return path;
}

/** A value as dotenv reads it back, which has no escapes except `\n` and `\r` between double quotes. */
function quoted(value: string): string {
  if (/^[\w.:/@%+=?&~,;!-]*$/.test(value)) return value;
  const quote = ["'", '"', '`'].find((one) => !value.includes(one)) ?? "'";
  return `${quote}${value}${quote}`;
}
