import type pg from 'pg';
import type { WarehouseAddress } from '../config/warehouse-address.ts';
import { openConnection } from './connect.ts';
import { safePath } from './session-settings.ts';

/** The result of one statement; values are as the server writes them. */
export interface StatementResult {
  /** The command that was run, such as `INSERT`. */
  readonly command: string;
  /** Rows that were found, or written; `null` if that means nothing. */
  readonly rowCount: number | null;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/**
 * Sends statements in one message, so that an error undoes all of them except explicit transactions. The session has the
 * settings of the role and the database, except the search_path: the user may be a superuser, and `public` open to others.
 * @throws pg.DatabaseError with the server's error
 */
export async function runStatements(
  address: WarehouseAddress,
  statements: string,
  onNotice: (notice: pg.DatabaseError) => void,
): Promise<readonly StatementResult[]> {
  await using connection = await openConnection(address);
  const { client } = connection;
  await client.query(`reset all; ${safePath}`);
  client.on('notice', (notice) => onNotice(notice as unknown as pg.DatabaseError));
  const asWritten = { getTypeParser: () => (text: string) => text } as unknown as pg.CustomTypesConfig;
  const results = await client.query<(string | null)[]>({
    text: statements,
    rowMode: 'array',
    types: asWritten,
  });
  return [results].flat().map(({ command, rowCount, fields, rows }) => ({
    command,
    rowCount,
    rows,
    columns: fields.map(({ name }) => name),
  }));
}
