/**
 * Parses JSON without losing values that JavaScript would refuse or round. NaN, Infinity and -Infinity, which Python's
 * json.dumps writes by default, become strings; so do integers beyond ±(2^53 - 1), because a rounded id is a different id.
 * @returns `undefined` for anything else that is not JSON; the parser's error would quote it, and it could echo the key
 */
export function parseJson(text: string): unknown {
  try {
    if (!hasLongInteger(text)) return JSON.parse(text);
  } catch {
    // Perhaps only NaN or Infinity.
  }
  try {
    return JSON.parse(withQuotes(text));
  } catch {
    return undefined;
  }
}

/** The most objects, or lists, of a body. A usual page has a few thousand; each takes up to 100 bytes after parsing. */
export const mostObjects = 500_000;

/** Returns true if a body would need far more memory parsed than as text. Also counts braces and brackets within texts. */
export function isSprawling(body: Buffer): boolean {
  if (body.length < 2 * mostObjects) return false;
  return ['{', '['].some((opening) => {
    let at = -1;
    for (let found = 0; found <= mostObjects; found++) {
      at = body.indexOf(opening, at + 1);
      if (at === -1) return false;
    }
    return true;
  });
}

/**
 * Returns true if a text may have an integer of 16 digits or more, which JSON.parse may round. Looks at every 16th character
 * only: a regular expression over the whole text would take half the time of JSON.parse.
 */
function hasLongInteger(text: string): boolean {
  for (let at = 15; at < text.length; at += 16) {
    let from = at;
    while (isDigit(text.charCodeAt(from - 1))) from--;
    while (isDigit(text.charCodeAt(at))) at++;
    if (at - from >= 16 && !isWithin.test(text.charAt(from - 1))) return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** What precedes the digits of a fraction, or of an id in an address or a word. */
const isWithin = /[.\w/=]/;

/** Matches a whole string, to skip it, or a number or word that JSON.parse may round or refuse. */
const stringOrToken = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])(?:NaN|-?Infinity|-?[1-9]\d{15,}(?![\d.eE]))/g;

/** @throws RangeError for a string of millions of escapes, which no record has */
function withQuotes(text: string): string {
  return text.replace(stringOrToken, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
  );
}
