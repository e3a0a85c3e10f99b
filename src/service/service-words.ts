const longest = 300;
/** How much of a body is searched; the message is at its beginning. */
const lookedAt = 4000;
/** Where services put their message, best first; FastAPI uses `detail`. */
const wordFields = ['detail', 'message', 'error', 'msg', 'errors', 'title', 'reason'] as const;

/**
 * Returns the message of a refusal for a person: the text of `{"detail": …}`, FastAPI's list of `{loc, msg}`, `{"message"}`,
 * `{"error"}`, a page's title, or the body itself. One line of at most 300 characters, without control characters, so that it
 * can neither fill nor forge a log. Error bodies are not documented (docs/service.md, "Errors").
 * @param redact removes the key
 */
export function serviceWords(sent: string, redact: (text: string) => string = (text) => text): string {
  // Redacts before cutting, so that no part of the key remains at an edge, and again after decoding.
  const body = redact(sent);
  const words = clean(redact(jsonWords(body) ?? htmlWords(body) ?? body.slice(0, lookedAt)));
  if (words === '') return 'no further words';
  return words.length > longest ? `${words.slice(0, longest - 1).toWellFormed()}…` : words;
}

function jsonWords(body: string): string | undefined {
  try {
    return wordsOf(JSON.parse(body), 0);
  } catch {
    return undefined;
  }
}

function wordsOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || depth > 4) return undefined;
  if (Array.isArray(value)) {
    const words = value.slice(0, 10).map((item) => wordsOf(item, depth + 1));
    return words.filter((word) => word !== undefined).join('; ') || undefined;
  }
  const fields = value as Record<string, unknown>;
  for (const name of wordFields) {
    const words = wordsOf(fields[name], depth + 1);
    if (words) return Array.isArray(fields.loc) ? `${fields.loc.join('.')}: ${words}` : words;
  }
  return undefined;
}

function htmlWords(body: string): string | undefined {
  const start = body.slice(0, lookedAt);
  if (!/^\s*</.test(start)) return undefined;
  const title = /<(?:title|h1)\b[^>]*>([^<]+)/i.exec(start)?.[1];
  return title?.trim() || 'an HTML page without a title';
}

function clean(text: string): string {
  return text
    .slice(0, lookedAt)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim();
}
