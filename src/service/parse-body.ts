import { NotJson, parseJson } from './json.ts';

/** Small enough that V8 keeps the text on its usual heap: each larger one is mapped by itself, which costs more than parsing it. */
const pieceBytes = 32 * 1024;

/**
 * Parses a body, a large page in pieces of whole records. Gives what `parseJson` gives for its text.
 * @throws NotJson if it is not JSON
 */
export function parseBody(body: Buffer): unknown {
  return (body.length > 2 * pieceBytes ? parseInPieces(body) : undefined) ?? parseJson(body.toString());
}

/**
 * The places at which a body is cut are guesses, and they may lie within texts or lists of a record. Parsing proves them: it
 * goes from left to right, so a list that is complete with a piece of the body put into it is at the same level after as
 * before.
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
    // The list at the guessed place is that of the page only if what is put there is found in it.
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
