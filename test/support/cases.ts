/** The rows of a table that is written as text: a row a line, its cells between bars; what is indented further continues it. */
export function cases(parts: TemplateStringsArray, ...values: readonly unknown[]): string[][] {
  const text = String.raw(parts, ...values);
  const [margin = ''] = /^\n */.exec(text) ?? [];
  const rows = text.trim().split(new RegExp(`${margin}(?! )`));
  return rows.map((row) =>
    row
      .replaceAll(/\n */g, ' ')
      .split(/ \|(?= )/)
      .map((cell) => cell.trim()),
  );
}
