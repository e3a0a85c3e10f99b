import type pg from 'pg';

/** PostgreSQL's own numeric types, which psql aligns to the right. */
const numeric = new Set([20, 21, 23, 700, 701, 1700]);

/** The result of a query as psql prints it, blanks at the ends of lines and the count of rows left out. */
export async function asPsqlPrints(client: pg.Client, text: string): Promise<string> {
  const { rows, fields } = await client.query<(string | null)[]>({
    text,
    rowMode: 'array',
    types: { getTypeParser: () => (value: string) => value },
  });
  const cells = rows.map((row) => row.map((value) => value ?? ''));
  const widths = fields.map(({ name }, column) =>
    Math.max(name.length, ...cells.map((row) => row[column]!.length)),
  );
  const aligned = (row: string[]) =>
    row.map((value, column) =>
      numeric.has(fields[column]!.dataTypeID)
        ? value.padStart(widths[column]!)
        : value.padEnd(widths[column]!),
    );
  const line = (values: string[]) => ` ${values.join(' | ')}`.trimEnd();
  const head = line(fields.map(({ name }, column) => centred(name, widths[column]!)));
  const rule = widths.map((width) => '-'.repeat(width + 2)).join('+');
  return [head, rule, ...cells.map((row) => line(aligned(row)))].join('\n');
}

function centred(text: string, width: number): string {
  return text.padStart(text.length + Math.floor((width - text.length) / 2)).padEnd(width);
}
