/**
 * Returns the one spelling of a name that people, programs and file systems write differently: macOS decomposes accents (NFD),
 * tables of Word and Excel have no-break spaces, and files begin with a byte order mark.
 */
export function oneName(name: string): string {
  if (plain.test(name)) return name;
  return name
    .normalize('NFC')
    .replace(/[^\S\r\n]+/g, ' ')
    .trim();
}

/** Matches names that need no change, as nearly all do: testing that is much faster than changing nothing. */
const plain = /^[!-~]*$/;

/** Returns the one of several names that is the same name; a name that stands there as it is wins. */
export function sameName(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const wanted = oneName(name);
  return names.find((other) => oneName(other) === wanted);
}
