/**
 * Returns the one spelling of a name that people, programs and file systems write differently: macOS decomposes accents (NFD),
 * tables of Word and Excel have no-break spaces, and files begin with a byte order mark.
 */
export function oneName(name: string): string {
  return name
    .normalize('NFC')
    .replace(/[^\S\r\n]+/g, ' ')
    .trim();
}

/** Returns the one of several names that is the same name; a name that stands there as it is wins. */
export function sameName(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name;
  const wanted = oneName(name);
  return names.find((other) => oneName(other) === wanted);
}
