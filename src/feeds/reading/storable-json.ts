/** Levels of nesting to keep: far more than any record needs, far fewer than JSON.stringify or jsonb can handle. */
export const deepestKept = 200;

const tooDeep = `nested deeper than ${deepestKept} levels`;

/**
 * Returns JSON text that `jsonb` accepts. NUL characters and lone surrogates (in keys, too) become U+FFFD; NaN and infinities
 * become strings. Replaces values nested deeper than `deepestKept` levels by a short text, because neither JSON.stringify nor
 * PostgreSQL can handle unlimited nesting.
 * @param depth levels of nesting around the value
 */
export function storableJson(value: unknown, depth = 0): string {
  const text = JSON.stringify(isPlain(value, depth) ? value : madePlain(value, depth));
  // JSON.stringify writes `\u` only for control characters and lone surrogates, so most texts end here.
  return text.includes('\\u') ? text.replace(escapes, storableEscape) : text;
}

/** Returns text that a `text` column accepts: NUL characters and lone surrogates become U+FFFD. */
export function storableText(text: string): string {
  const wellFormed = text.toWellFormed();
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\ufffd') : wellFormed;
}

// Matches every escape whole, so that the `u` after an escaped backslash is not taken for an escape.
const escapes = /\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g;

function storableEscape(whole: string, code: string): string {
  return code.length > 1 ? '\ufffd' : whole;
}

function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return true;
  if (depth === deepestKept) return false;
  if (Array.isArray(value)) return value.every((item) => isPlain(item, depth + 1));
  for (const name in value) if (!isPlain((value as Record<string, unknown>)[name], depth + 1)) return false;
  return true;
}

function madePlain(value: unknown, depth: number): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === deepestKept) return tooDeep;
  if (Array.isArray(value)) return value.map((item) => madePlain(item, depth + 1));
  // Object.fromEntries defines its keys, so that a key `__proto__` stays a key.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, madePlain(item, depth + 1)]));
}
