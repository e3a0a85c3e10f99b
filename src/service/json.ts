import { deepestKept } from '../feeds/reading/storable-json.ts';

/** A body is not JSON, even with the accepted extensions. `cause` is the parser's error, which quotes the body. */
export class NotJson extends SyntaxError {
  override readonly name = 'NotJson';
}

/**
 * Parses JSON without losing values that JavaScript would refuse or round. NaN, Infinity and -Infinity, which Python's
 * json.dumps writes by default, become strings; so do integers beyond ±(2^53 - 1), because a rounded id is a different id.
 * @throws NotJson for anything else that is not JSON
 */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    if (!isRounded(value, 0)) return value;
  } catch {
    // Perhaps only NaN or Infinity.
  }
  try {
    return JSON.parse(withQuotes(text));
  } catch (cause) {
    throw new NotJson('The body is not JSON.', { cause });
  }
}

/** The most objects, or lists, of a body. A usual page has a few thousand; each takes up to 100 bytes after parsing. */
export const mostObjects = 500_000;

/** Returns true if a body would need far more memory parsed than as text. Also counts braces and brackets within texts. */
export function isSprawling(body: Buffer): boolean {
  if (body.length < 2 * mostObjects) return false;
  return ['{', '['].some((opening) => {
    let at = -1;
    for (let met = 0; met <= mostObjects; met++) {
      at = body.indexOf(opening, at + 1);
      if (at === -1) return false;
    }
    return true;
  });
}

/** Returns true if an integer may have been rounded. Looks no deeper than records are kept. */
function isRounded(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (typeof value !== 'object' || value === null || depth > deepestKept + 2) return false;
  if (Array.isArray(value)) return value.some((item) => isRounded(item, depth + 1));
  for (const name in value) if (isRounded((value as Record<string, unknown>)[name], depth + 1)) return true;
  return false;
}

/** Matches a whole string, to skip it, or a number or word that JSON.parse may round or refuse. */
const stringOrToken = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])(?:NaN|-?Infinity|-?[1-9]\d{15,}(?![\d.eE]))/g;

/** @throws RangeError for a string of millions of escapes, which no record has */
function withQuotes(text: string): string {
  return text.replace(stringOrToken, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
  );
}
