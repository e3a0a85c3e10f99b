/** Groups rows by a text, in the order of the first row of each group. */
export function groupedBy<One>(
  rows: readonly One[],
  keyOf: (row: One) => string,
): Map<string, readonly [One, ...One[]]> {
  const groups = new Map<string, [One, ...One[]]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}
