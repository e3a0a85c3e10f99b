import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from '../errors.ts';

const quotes = ['"', "'", '`'];
/** Quotes that editors and chats write instead of straight ones. */
const typographic = '“”„‟‘’‚‛«»';

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
    throw new ConfigError(`${path} is not UTF-8 text.`, {
      hint: 'Save it as UTF-8; it looks like UTF-16.',
    });
  }
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

type Fault = readonly [what: string, hint: string];

/** @param read the value that Node.js reads */
function faultOf(line: string, name: string, read: string | undefined): Fault | undefined {
  const [, written] = new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=\\s*(.*?)\\s*$`).exec(line) ?? [];
  if (written === undefined) return ['is not set by this line', `Write it as ${name}=value.`];
  const [first = '', last = ''] = [written[0], written.at(-1)];
  if (first !== '' && (typographic.includes(first) || typographic.includes(last)))
    return ['is in typographic quotes', 'Use straight quotes, or none.'];
  if (quotes.includes(first)) {
    const end = written.indexOf(first, 1);
    if (end < 0)
      return ['begins with a quote that is not closed', `Close it with ${first} on the same line.`];
    if (!/^\s*(#|$)/.test(written.slice(end + 1)))
      return ['continues after its closing quote', 'Put all of it between the quotes.'];
  } else {
    if (quotes.includes(last))
      return ['ends with a quote that was not opened', 'Put one before it, or none.'];
    if (/\S#/.test(written)) return ['would end at its #', 'Put it in single quotes.'];
  }
  if (read === undefined)
    return ['is within a quote that is not closed', 'Close it in one of the lines above.'];
  return undefined;
}
