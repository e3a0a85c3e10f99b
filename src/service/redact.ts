import { inspect } from 'node:util';
import type { Secret } from '../secret.ts';

/** A shorter key is not removed: removing "a" from every message would make it unreadable. */
export const shortestHidden = 8;

/** Replaces the key. */
export const hiddenKey = '[key]';

/** Returns true if a key is long enough to be removed from texts. */
export function isHidden(key: Secret): boolean {
  return key.reveal().length >= shortestHidden;
}

export type Redactor = ReturnType<typeof redactorOf>;

/**
 * Removes the API key from the service's answers, which could echo it: as it is, in base64, and either of them escaped as in
 * JSON, URLs and HTML. JSON is redacted after it is parsed, so that no other way to escape a text in it matters, and every
 * error before it is reported, so that the key reaches no message, log, row or other request. A key shorter than
 * `shortestHidden` is not removed.
 */
export function redactorOf(secret: Secret) {
  const { length } = secret.reveal();
  const pattern = isHidden(secret) ? patternOf(secret.reveal()) : /(?!)/g;

  function isIn(from: string): boolean {
    // No form is shorter than the key. Most texts of a record are.
    return from.length >= length && from.search(pattern) !== -1;
  }

  function text(from: string): string {
    return from.replace(pattern, hiddenKey);
  }

  /** Removes the key from the texts and names of parsed JSON, which may be nested deeper than a recursion could go. */
  function json(from: unknown): { readonly json: unknown; readonly isEchoed: boolean } {
    const whole = { json: from };
    const left: object[] = [whole];
    let isEchoed = false;
    for (let at = left.pop(); at !== undefined; at = left.pop()) {
      const fields = at as Record<string, unknown>;
      for (const name in fields) {
        const value = fields[name];
        if (typeof value === 'object' && value !== null) left.push(value);
        const isShown = typeof value === 'string' && isIn(value);
        if (isShown) fields[name] = text(value);
        const isNamed = isIn(name);
        if (isNamed) {
          fields[text(name)] = fields[name];
          delete fields[name];
        }
        isEchoed ||= isShown || isNamed;
      }
    }
    return { json: whole.json, isEchoed };
  }

  /** Returns true if the key is in a text that may be base64 as a whole, as a cursor often is. */
  function isInToken(token: string): boolean {
    return isIn(token) || isIn(Buffer.from(token, 'base64').toString('latin1'));
  }

  /** Removes the key from an error's message, stack and hint; drops a cause that shows the key. */
  function error(from: unknown): unknown {
    if (!(from instanceof Error) || !shows(from)) return from;
    for (const name of ['message', 'stack', 'hint', 'words'] as const) {
      const said = (from as unknown as Record<string, unknown>)[name];
      if (typeof said === 'string') Object.defineProperty(from, name, { value: text(said) });
    }
    if (shows(from.cause)) Object.defineProperty(from, 'cause', { value: undefined });
    return from;
  }

  function shows(from: unknown): boolean {
    return isIn(inspect(from, { breakLength: Number.POSITIVE_INFINITY }));
  }

  return { text, json, isIn, isInToken, error };
}

/** Returns a pattern of the key and of its base64, also that of URLs. */
function patternOf(key: string): RegExp {
  const inUrls: Readonly<Record<string, string>> = { '+': '-', '/': '_' };
  const encoded = ([0, 1, 2] as const).map((before) =>
    Array.from(base64Within(key, before), (char) => `(?:${escaped(char)}|${inUrls[char] ?? char})`),
  );
  return new RegExp([Array.from(key, escaped), ...encoded].map((form) => form.join('')).join('|'), 'g');
}

/**
 * Returns a pattern of a printable ASCII character: as it is, or escaped as in JSON, URLs, HTML and JavaScript, up to eight times
 * over (`\\u002b`, `%252B`, `&amp;#43;`). More would let a hostile text take long.
 */
function escaped(char: string): string {
  const code = char.charCodeAt(0);
  const hex = code.toString(16).replace(/[a-f]/, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const isWord = /[a-z\d]/i.test(char);
  const asItIs = isWord ? char : `\\\\{0,8}\\${char}`;
  const named = isWord ? '' : '|[a-zA-Z]{1,31}';
  const inHtml = `&(?:amp;){0,8}(?:#0{0,8}${code}|#[xX]0{0,8}${hex}${named});`;
  return `(?:${asItIs}|(?:\\\\{1,8}|%)u00${hex}|\\\\{1,8}x${hex}|%(?:25){0,8}${hex}|${inHtml})`;
}

/** Returns the base64 characters that depend only on the key. @param before number of bytes before the key, modulo 3 */
function base64Within(key: string, before: number): string {
  const bytes = Buffer.from('\0'.repeat(before) + key);
  return bytes.toString('base64').slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
}
