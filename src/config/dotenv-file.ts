import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from '../errors.ts';
import { utf8Text } from './read-in-folder.ts';

/**
 * Returns the values of a `.env` file; none if there is no file. Node.js ignores a line that it cannot read, and an open quote
 * swallows the lines below it, so that a key seems not to be set. This function refuses a line that is meant to set one of our
 * settings and does not.
 * @throws ConfigError with file and line, but without the text, which may be a secret
 */
export function readDotenvFile(path: string, isSetting: (name: string) => boolean): Record<string, string> {
  if (!existsSync(path)) return {};
  const text = readText(path);
  const values = parseEnv(text) as Record<string, string>;
  for (const [index, line] of text.split(/\r\n?|\n/).entries()) {
    const words = /^\s*#/.test(line) ? [] : line.split(/[\s=]+/).filter((word) => word !== '');
    const name = words.slice(0, 2).find(isSetting);
    if (name === undefined) continue;
    const meant = meantBy(line, name);
    if (meant !== undefined && meant === parseEnv(line)[name] && name in values) continue;
    throw new ConfigError(`${path}, line ${index + 1}: ${name} is not read as written.`, {
      hint: `Write ${name}='value', in single quotes, and close every quote in the lines above.`,
    });
  }
  return values;
}

function readText(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw new ConfigError(`${path} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return utf8Text(path, bytes);
}

/**
 * Returns the value that a person means by a line; `undefined` if the line does not set the name, or has a quote that is not
 * closed.
 */
function meantBy(line: string, name: string): string | undefined {
  const [, written] = new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=\\s*(.*?)\\s*$`).exec(line) ?? [];
  if (written === undefined || !/^["'`]/.test(written)) return written?.replace(/(^|\s+)#.*$/, '');
  return /^(["'`])(.*?)\1\s*(#.*)?$/.exec(written)?.[2];
}
