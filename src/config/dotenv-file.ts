import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { ConfigError } from '../errors.ts';

/** `NAME=value`, as Node.js reads it, with optional `export` and blanks. */
const assignment = /^\s*(?:export\s+)?([\w.-]+)\s*=\s*(.*?)\s*$/;
const quotes = ['"', "'", '`'];
/** Quotes that editors and chats write instead of straight ones. */
const typographic = '“”„‟‘’‚‛«»';

/**
 * Returns the values of a `.env` file; none if there is no file. Node.js ignores a line that it cannot read, and an open quote
 * swallows the lines below it, so that a key seems not to be set. This function refuses such a line.
 * @throws ConfigError with file and line, but without the text, which may be a secret
 */
export function readDotenvFile(path: string, isSetting: (name: string) => boolean): Record<string, string> {
  if (!existsSync(path)) return {};
  const text = readText(path);
  const lines = text.split(/\r\n?|\n/);
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at]!;
    const refuse = (what: string, hint: string): never => {
      throw new ConfigError(`${path}, line ${at + 1}: ${what}.`, { hint });
    };
    if (/^\s*(#|$)/.test(line)) continue;
    const [, name, value] = assignment.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      const meant = line.split(/[\s=]+/).find(isSetting);
      const what = meant === undefined ? 'this is not NAME=value' : `${meant} is not followed by =`;
      return refuse(what, `Write it as ${meant ?? 'NAME'}=value, or put a # before it.`);
    }
    const isOurs = isSetting(name);
    const quoted = quotes.includes(value[0]!);
    const end = quoted ? closingLine(lines, at, value) : at;
    const fault = quoted ? faultOfQuoted(lines, at, end, value, isOurs) : faultOfPlain(value, isOurs);
    // An unknown name may be part of a secret that was pasted over two lines.
    if (fault) refuse(`the value of ${isOurs ? name : 'a variable'} ${fault[0]}`, fault[1]);
    at = end!;
  }
  return parseEnv(text) as Record<string, string>;
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

function faultOfPlain(value: string, isOurs: boolean): Fault | undefined {
  if (typographic.includes(value[0] ?? ' ') || typographic.includes(value.at(-1) ?? ' '))
    return ['is in typographic quotes', 'Use straight quotes, or none.'];
  if (!isOurs) return undefined;
  if (/[^\s]#/.test(value)) return ['would end at its #', 'Put it in single quotes.'];
  if (quotes.includes(value.at(-1)!))
    return ['ends with a quote that was not opened', 'Put one before it, or none.'];
  return undefined;
}

function faultOfQuoted(
  lines: readonly string[],
  from: number,
  to: number | undefined,
  value: string,
  isOurs: boolean,
): Fault | undefined {
  const hint = `Close it with ${value[0]} on the same line.`;
  if (to === undefined) return ['begins with a quote that is not closed', hint];
  // A value may have several lines, except for one of our settings, or if a line looks like the next setting.
  const swallowed = lines.slice(from + 1, to + 1);
  if (swallowed.length > 0 && (isOurs || swallowed.some((line) => /^\s*(export\s+)?[A-Z]\w*\s*=/.test(line))))
    return [
      `has a quote that is not closed, and would swallow ${to === from + 1 ? 'the next line' : `${to - from} lines`}`,
      hint,
    ];
  const rest = afterQuote(from === to ? value.slice(1) : lines[to]!, value[0]!);
  return /^\s*(#|$)/.test(rest ?? '')
    ? undefined
    : ['continues after its closing quote', 'Put all of it between the quotes.'];
}

/** Returns the line on which a quoted value ends; `undefined` if it never does. */
function closingLine(lines: readonly string[], from: number, value: string): number | undefined {
  const [quote] = value;
  if (afterQuote(value.slice(1), quote!) !== undefined) return from;
  const offset = lines.slice(from + 1).findIndex((line) => afterQuote(line, quote!) !== undefined);
  return offset < 0 ? undefined : from + 1 + offset;
}

/** Returns the text after the first quote that is not escaped; `undefined` if there is none. */
function afterQuote(text: string, quote: string): string | undefined {
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\' && text[at + 1] === quote) at++;
    else if (text[at] === quote) return text.slice(at + 1);
  }
  return undefined;
}
