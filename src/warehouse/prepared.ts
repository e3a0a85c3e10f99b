import { hash } from 'node:crypto';
import type pg from 'pg';
import { Batch, type NamedStatement } from './batch.ts';

/** Runs a statement on a connection. */
export type Query = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;

const names = new Map<string, string>();

function named(text: string, values: readonly unknown[] = []): NamedStatement {
  const name = names.get(text) ?? `gmsi_${hash('sha256', text).slice(0, 16)}`;
  names.set(text, name);
  return { name, text, values };
}

/** Names of the statements that a connection has prepared. */
const preparedBy = new WeakMap<pg.ClientBase, Set<string>>();

/**
 * Prepares every statement with parameters, so that a connection parses and plans it once: for an upsert into a partitioned
 * table that is a twentieth of the cost of a page of 1000 rows, for smaller pages far more.
 *
 * What begins a transaction is sent with its first statement, in one message.
 */
export function preparedOn(client: pg.ClientBase): Query {
  const prepared = preparedBy.get(client) ?? new Set<string>();
  preparedBy.set(client, prepared);
  let held: readonly NamedStatement[] = [];

  const run = (statements: readonly NamedStatement[]) =>
    new Promise<pg.QueryResult>((resolve, reject) => {
      client.query(
        new Batch(statements, prepared, (error, result) => (error ? reject(error) : resolve(result))),
      );
    });

  return async (text, values) => {
    const before = held;
    held = [];
    if (beginsTransaction.test(text)) {
      held = statementsOf(text);
      return nothing;
    }
    if (endsTransaction.test(text)) {
      // One that was not sent has not begun.
      return before.length > 0 ? nothing : client.query(text);
    }
    if (values.length > 0) return run([...before, named(text, values)]);
    if (before.length > 0) await run(before);
    return client.query(text);
  };
}

const nothing = { command: '', rowCount: null, rows: [] } as unknown as pg.QueryResult;

export const beginsTransaction = /^(begin|start transaction)\b/;
export const endsTransaction = /\b(commit|rollback)$/;

/** Of a text that begins a transaction; none has a semicolon in a literal. */
function statementsOf(text: string): NamedStatement[] {
  return text.split(';').map((statement) => named(statement.trim()));
}
