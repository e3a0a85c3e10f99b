/** A body is not JSON, even with the tolerated extensions; `cause` is the parser's error, which quotes the body. */
export class NotJson extends SyntaxError {
  override readonly name = 'NotJson';
}

const unsafeInteger = /^-?[1-9]\d{15,}$/;

/**
 * Parses a JSON body without losing what JavaScript would refuse or round. NaN, Infinity and -Infinity, which Python's
 * json.dumps writes by default, become strings of that name; integers beyond ±(2^53 - 1) become strings of their digits,
 * because a rounded id is a different id. Throws `NotJson` for anything else that is not JSON.
 */
export function parseBody(text: string): unknown {
  if (mayHoldUnsafeInteger(text)) return parse(quoteUnparsable(text));
  try {
    return parse(text);
  } catch (error) {
    if (text.includes('NaN') || text.includes('Infinity')) return parse(quoteUnparsable(text));
    throw error;
  }
}

/** The digits that an integer has at least if JavaScript would round it. */
const unsafeDigits = 16;

/**
 * Whether a text has so many digits in a row where an integer can begin; also within strings, which only costs time. The
 * digits of a fraction follow its point and do not count. Looks only at each sixteenth character until that is a digit.
 */
function mayHoldUnsafeInteger(text: string): boolean {
  for (let at = unsafeDigits - 1; at < text.length; at += unsafeDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (start > 0 && isDigit(text.charCodeAt(start - 1))) start--;
    while (isDigit(text.charCodeAt(at + 1))) at++;
    if (at - start + 1 >= unsafeDigits && (start === 0 || /[[:,\s-]/.test(text.charAt(start - 1))))
      return true;
  }
  return false;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new NotJson('The body is not JSON.', { cause });
  }
}

/** The beginning of a string, or a number or word. */
const stringOrToken = /"|[\dA-Za-z-][\dA-Za-z.+-]*/g;

/** Puts every token outside strings that JSON.parse would refuse or round into quotes. */
function quoteUnparsable(text: string): string {
  let quoted = '';
  let copied = 0;
  stringOrToken.lastIndex = 0;
  for (let found = stringOrToken.exec(text); found; found = stringOrToken.exec(text)) {
    const [token] = found;
    if (token === '"') {
      stringOrToken.lastIndex = endOfString(text, found.index);
    } else if (isUnparsable(token)) {
      quoted += `${text.slice(copied, found.index)}"${token}"`;
      copied = stringOrToken.lastIndex;
    }
  }
  return quoted + text.slice(copied);
}

function isUnparsable(token: string): boolean {
  if (token === 'NaN' || token === 'Infinity' || token === '-Infinity') return true;
  return token.length > 15 && unsafeInteger.test(token) && !Number.isSafeInteger(Number(token));
}

/** The index after the closing quote of the string that opens at `at`. @throws NotJson if it is not closed */
export function endOfString(text: string, at: number): number {
  for (let end = at + 1; ; end++) {
    end = text.indexOf('"', end);
    if (end === -1) throw new NotJson('The body is not JSON.');
    let before = end;
    while (text[before - 1] === '\\') before--;
    // A quote after an odd number of backslashes is escaped.
    if ((end - before) % 2 === 0) return end + 1;
  }
}
