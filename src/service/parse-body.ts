/** A body is not JSON, even with the tolerated extensions; `cause` is the parser's error, which quotes the body. */
export class NotJson extends SyntaxError {
  override readonly name = 'NotJson';
}

// An integer of 16 digits or more after a delimiter; also found within texts, which only costs time. The digits of a
// fraction follow its point and do not match.
const mayBeUnsafeInteger = /(?:^|[[:,\s-])\d{16}/;
const unsafeInteger = /^-?[1-9]\d{15,}$/;

/**
 * Parses a JSON body without losing what JavaScript would refuse or round. NaN, Infinity and -Infinity, which Python's
 * json.dumps writes by default, become strings of that name; integers beyond ±(2^53 - 1) become strings of their digits,
 * because a rounded id is a different id. Throws `NotJson` for anything else that is not JSON.
 */
export function parseBody(text: string): unknown {
  if (mayBeUnsafeInteger.test(text)) return parse(quoteUnparsable(text));
  try {
    return JSON.parse(text);
  } catch (error) {
    if (text.includes('NaN') || text.includes('Infinity')) return parse(quoteUnparsable(text));
    throw notJson(error);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notJson(error);
  }
}

function notJson(cause: unknown): NotJson {
  return new NotJson('The body is not JSON.', { cause });
}

/** Puts every token outside strings that JSON.parse would refuse or round into quotes. */
function quoteUnparsable(text: string): string {
  let quoted = '';
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') {
      at = endOfString(text, at);
    } else if (startsToken(text.charCodeAt(at))) {
      const end = endOfToken(text, at);
      const token = text.slice(at, end);
      if (isUnparsable(token)) {
        quoted += `${text.slice(copied, at)}"${token}"`;
        copied = end;
      }
      at = end;
    } else {
      at++;
    }
  }
  return quoted + text.slice(copied);
}

function isUnparsable(token: string): boolean {
  if (token === 'NaN' || token === 'Infinity' || token === '-Infinity') return true;
  return token.length > 15 && unsafeInteger.test(token) && !Number.isSafeInteger(Number(token));
}

/** The index after the closing quote of the string that opens at `at`, or the text's length if it is not closed. */
function endOfString(text: string, at: number): number {
  for (let index = at + 1; index < text.length; index++) {
    if (text[index] === '\\') index++;
    else if (text[index] === '"') return index + 1;
  }
  return text.length;
}

function endOfToken(text: string, at: number): number {
  let index = at + 1;
  while (index < text.length && continuesToken(text.charCodeAt(index))) index++;
  return index;
}

// Digits, letters and `-` start a token; `+` and `.` occur within one only.
function startsToken(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || isLetter(code);
}

function continuesToken(code: number): boolean {
  return startsToken(code) || code === 0x2b || code === 0x2e;
}

function isLetter(code: number): boolean {
  return (code >= 0x41 && code <= 0x5a) || (code >= 0x61 && code <= 0x7a);
}
