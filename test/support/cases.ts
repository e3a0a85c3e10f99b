/** The rows of a table that is written as text: a case a line, its cells between bars. */
export function cases(parts: TemplateStringsArray, ...values: readonly unknown[]): string[][] {
  const lines = String.raw(parts, ...values)
    .trim()
    .split('\n');
  return lines.map((line) => line.split(/ \|(?= )/).map((cell) => cell.trim()));
}
