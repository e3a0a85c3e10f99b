/** Returns a word of a command as a person types it in a shell. */
export function typed(word: string): string {
  if (/^[\w./:@%+=,-]+$/.test(word)) return word;
  return /["$`\\!]/.test(word) ? `'${word.replaceAll("'", `'\\''`)}'` : `"${word}"`;
}

/**
 * Returns options of a command as a person types them, from what Commander has made of them: ` --country US --full-refresh`;
 * empty without options.
 */
export function typedOptions(options: object): string {
  return Object.entries(options as Record<string, unknown>)
    .flatMap(([name, given]) => [given].flat().map((value) => [name, value] as const))
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name, value]) => {
      const flag = ` --${name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
      return value === true ? flag : `${flag} ${typed(String(value))}`;
    })
    .join('');
}
