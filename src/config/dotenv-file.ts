import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from '../errors.ts';

const quotes = ['"', "'", '`'];

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
    const fault = name === undefined ? undefined : faultOf(line, name, values[name]);
    if (fault) throw new ConfigError(`${path}, line ${index + 1}: ${name} ${fault[0]}.`, { hint: fault[1] });
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
  if (bytes.includes(0)) {
    throw new ConfigError(`${path} is not UTF-8 text.`, { hint: 'Save it as UTF-8; it looks like UTF-16.' });
  }
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

type Fault = readonly [what: string, hint: string];

/** @param read the value that Node.js reads */
function faultOf(line: string, name: string, read: string | undefined): Fault | undefined {
  const [, written] = new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=\\s*(.*?)\\s*$`).exec(line) ?? [];
  if (written === undefined) return ['is not set by this line', `Write it as ${name}=value.`];
  const first = written[0] ?? '';
  if (!quotes.includes(first)) {
    if (/\S#/.test(written)) return ['would end at its #', 'Put it in single quotes.'];
  } else if (!new RegExp(`^.[^${first}]*${first}\\s*(#|$)`).test(written))
    return ['begins with a quote that does not close it', `Close it with ${first} at the end of the line.`];
  if (read === undefined)
    return ['is within a quote that is not closed', 'Close it in one of the lines above.'];
  return undefined;
}
