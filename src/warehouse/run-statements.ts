import type pg from 'pg';
import type { WarehouseAddress } from '../config/environment.ts';
import { openPool } from './connect.ts';

/** The results of statements, in their order; values are as the server writes them. */
export interface StatementEvents {
  rows(columns: readonly { name: string; type: number }[], rows: readonly (string | null)[][]): void;
  /** What was done, such as `INSERT 0 1`; `hasRows` if there were rows, too. */
  done(tag: string, hasRows: boolean): void;
  /** The data of `copy … to stdout`. */
  copied(data: Buffer): void;
  notice(notice: pg.DatabaseError): void;
}

/**
 * Sends statements as psql does, all in one message: the results come one by one, and an error undoes everything except
 * explicit transactions. The session has the settings of the role and the database.
 * @param settings further settings for the session, such as `TimeZone`
 * @throws pg.DatabaseError with the server's error
 */
export async function runStatements(
  address: WarehouseAddress,
  statements: string,
  settings: Readonly<Record<string, string | undefined>>,
  events: StatementEvents,
): Promise<void> {
  const pool = openPool(address, 1, { options: settings.options ?? '' });
  try {
    const client = await pool.connect();
    try {
      await client.query('reset all');
      for (const [name, value] of Object.entries(settings)) {
        if (name !== 'options' && value)
          await client.query('select set_config($1, $2, false)', [name, value]);
      }
      client.on('notice', (notice) => events.notice(notice as unknown as pg.DatabaseError));
      await send(client, statements, events);
    } finally {
      client.release(true);
    }
  } finally {
    await pool.end();
  }
}

interface Wire {
  query(text: string): void;
  sendCopyFail(why: string): void;
}

function send(client: pg.PoolClient, statements: string, events: StatementEvents): Promise<void> {
  return new Promise((done, failed) => {
    let columns: { name: string; type: number }[] | undefined;
    let rows: (string | null)[][] = [];
    client.query({
      submit: (wire: Wire) => wire.query(statements),
      handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }) {
        columns = fields.map(({ name, dataTypeID }) => ({ name, type: dataTypeID }));
        rows = [];
      },
      handleDataRow: ({ fields }: { fields: (string | null)[] }) => void rows.push(fields),
      handleCommandComplete({ text }: { text: string }) {
        if (columns) events.rows(columns, rows);
        events.done(text, columns !== undefined);
        columns = undefined;
      },
      handleEmptyQuery() {},
      handleCopyInResponse: (wire: Wire) => wire.sendCopyFail('there is nothing to read here'),
      handleCopyData: ({ chunk }: { chunk: Buffer }) => events.copied(chunk),
      handlePortalSuspended() {},
      handleError: failed,
      handleReadyForQuery: () => done(),
    } as unknown as pg.Submittable);
  });
}
