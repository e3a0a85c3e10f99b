/** A text within a statement of DuckDB. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The name of a table or column within a statement of DuckDB. */
export function identifier(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

/**
 * A folder such as `country=US`. DuckDB, pyarrow and Spark decode the value; whatever a shell, a glob or a file system
 * might take for something else is encoded, and of a value of NULL, which DuckDB takes for none, the first letter.
 */
export function hiveFolder(column: string, value: string): string {
  const percent = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
  return `${column}=${encodeURIComponent(value).replace(/[!'()*~]|^n(?=ull$)/gi, percent)}`;
}
