/** A body is not JSON, even with the tolerated extensions; `cause` is the parser's error, which quotes the body. */
export class NotJson extends SyntaxError {
  override readonly name = 'NotJson';
}

/**
 * Parses JSON without losing what JavaScript would refuse or round. NaN, Infinity and -Infinity, which Python's json.dumps
 * writes by default, become strings of that name; integers beyond ±(2^53 - 1) become strings of their digits, because a
 * rounded id is a different id.
 * @throws NotJson for anything else that is not JSON
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(hasLongInteger.test(text) ? withQuotes(text) : text);
  } catch {
    return parseQuoted(text);
  }
}

function parseQuoted(text: string): unknown {
  try {
    return JSON.parse(withQuotes(text));
  } catch (cause) {
    throw new NotJson('The body is not JSON.', { cause });
  }
}

/** Objects, or lists, that a body may have: a usual page has some thousands, and parsed, each takes up to a hundred bytes. */
export const mostObjects = 500_000;

/** Whether a body would take far more memory parsed than as text. Braces and brackets within texts count, too. */
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

/** Matches within strings, too, which only costs time; not the digits of a fraction. */
const hasLongInteger = /(?:^|[-:,[\s])\d{16}/;

/** A string, to pass over as a whole; or a number or word that JSON.parse may round or refuse. */
const stringOrToken = /"[^"\\]*(?:\\.[^"\\]*)*"|(?<![\w.+-])(?:NaN|-?Infinity|-?[1-9]\d{15,}(?![\d.eE]))/g;

/** @throws RangeError for a string of millions of escapes, which no record has */
function withQuotes(text: string): string {
  return text.replace(stringOrToken, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`,
  );
}
