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

/**
 * Removes the API key from the service's answers, which could echo it: as it is, escaped in JSON, in a URL, or in base64.
 * Every body is redacted before it is parsed, and every error before it is reported, so that the key reaches no message, log,
 * row or other request. A key shorter than `shortestHidden` is not removed.
 */
export function redactorOf(secret: Secret) {
  const forms = isHidden(secret) ? formsOf(secret.reveal()) : [];

  function text(from: string): string {
    return forms.reduce((shown, form) => shown.replaceAll(form, hiddenKey), from);
  }

  /** Returns true if a UTF-8 text contains the key. */
  function isIn(bytes: Buffer): boolean {
    return forms.some((form) => bytes.includes(form));
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
    const shown = inspect(from, { breakLength: Number.POSITIVE_INFINITY });
    return forms.some((form) => shown.includes(form));
  }

  return { text, isIn, error };
}

/** Returns all forms of a key, the longest first, because one may be part of another. */
function formsOf(key: string): string[] {
  const json = JSON.stringify(key).slice(1, -1);
  const forms = new Set([
    key,
    json,
    json.replaceAll('/', '\\/'),
    encodeURIComponent(key),
    new URLSearchParams({ key }).toString().slice('key='.length),
    ...([0, 1, 2] as const).flatMap((before) => [
      base64Within(key, before, 'base64'),
      base64Within(key, before, 'base64url'),
    ]),
  ]);
  return [...forms].sort((a, b) => b.length - a.length);
}

/** Returns the base64 characters that depend only on the key. @param before number of bytes before the key, modulo 3 */
function base64Within(key: string, before: number, way: 'base64' | 'base64url'): string {
  const bytes = Buffer.from('\0'.repeat(before) + key);
  return bytes.toString(way).slice(Math.ceil((before * 4) / 3), Math.floor((bytes.length * 4) / 3));
}
