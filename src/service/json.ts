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

/** V8 keeps texts of this size on its normal heap. It maps larger ones separately, which costs more than parsing them. */
const pieceBytes = 32 * 1024;

/**
 * Parses a body; a large page in pieces of whole records. Returns the same as `parseJson` for the whole text.
 * @throws NotJson if it is not JSON
 */
export function parseBody(body: Buffer): unknown {
  return (body.length > 2 * pieceBytes ? parseInPieces(body) : undefined) ?? parseJson(body.toString());
}

/**
 * The places at which a body is cut are guesses, which may lie within texts or lists of a record. Parsing proves them: each
 * piece must be a complete list by itself.
 * @returns `undefined` if a guess was wrong
 */
function parseInPieces(body: Buffer): unknown {
  const begins = body.indexOf('[{') + 1;
  const ends = body.lastIndexOf('}]') + 1;
  if (begins === 0 || ends <= begins) return undefined;
  const withRecords = (records: string) =>
    parseJson(body.toString('utf8', 0, begins) + records + body.toString('utf8', ends));
  try {
    const page = withRecords('');
    const records = recordsOf(page);
    // The guessed place is in the page's list only if a value put there appears in that list.
    if (records?.length !== 0 || recordsOf(withRecords('0'))?.length !== 1) return undefined;
    for (const [from, to] of cut(body, begins, ends)) {
      for (const record of parseJson(`[${body.toString('utf8', from, to)}]`) as unknown[])
        records.push(record);
    }
    return page;
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

function recordsOf(page: unknown): unknown[] | undefined {
  const records: unknown = Array.isArray(page) ? page : (page as { data?: unknown } | null)?.data;
  return Array.isArray(records) ? records : undefined;
}

/** Cuts at commas between records that begin with the same field as the first one. */
function* cut(body: Buffer, begins: number, ends: number): Generator<[from: number, to: number]> {
  const opening = body.toString('utf8', begins, body.indexOf(':', begins) + 1);
  const boundary = [`},${opening}`, `}, ${opening}`].find((boundary) => body.includes(boundary)) ?? '';
  for (let from = begins; from < ends; ) {
    const found = boundary === '' ? -1 : body.indexOf(boundary, from + pieceBytes);
    const to = found === -1 || found >= ends ? ends : found + 1;
    yield [from, to];
    from = to + 1;
  }
}
