import type { ColumnType, Row } from '../../feeds/feed.ts';

/** One column of rows as a PostgreSQL array literal, such as `{0.5,NULL,0.25}`; cheaper than any encoding by the driver. */
export function arrayLiteral(rows: readonly Row[], column: string, type: ColumnType): string {
  const quoted = type === 'text' || type === 'jsonb';
  let literal = '{';
  for (let i = 0; i < rows.length; i++) {
    if (i > 0) literal += ',';
    const value = rows[i]![column];
    if (value === null || value === undefined) literal += 'NULL';
    else if (quoted) literal += quote(String(value));
    else literal += value;
  }
  return `${literal}}`;
}

function quote(text: string): string {
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
}
