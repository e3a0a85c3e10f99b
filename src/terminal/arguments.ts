import { InvalidArgumentError } from '@commander-js/extra-typings';

// Loaded for every command, even for `--help`, so it imports nothing large.

/** Reads a whole number, within bounds if there are any. */
export function wholeNumber({ from = 0, to = Number.MAX_SAFE_INTEGER } = {}): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= from && value <= to) return value;
    const least = from === 0 ? '' : ` of at least ${from}`;
    const bounds = to === Number.MAX_SAFE_INTEGER ? least : ` from ${from} to ${to}`;
    throw new InvalidArgumentError(`It must be a whole number${bounds}.`);
  };
}

/** Reads a day of the calendar as `2025-12-31`. */
export function day(text: string): string {
  const time = Date.parse(`${text}T00:00:00Z`);
  if (
    /^\d{4}-\d{2}-\d{2}$/.test(text) &&
    !Number.isNaN(time) &&
    new Date(time).toISOString().startsWith(text)
  ) {
    return text;
  }
  throw new InvalidArgumentError('Give a UTC day, such as 2025-12-31.');
}

/** Reads one value of an option that may be repeated. */
export function gathered(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}
