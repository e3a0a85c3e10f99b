import { hash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type pg from 'pg';
import { Batch, type NamedStatement, prepareValue, SentBefore } from './batch.ts';

/** Runs a statement on a connection. */
export type Query = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>;

const names = new Map<string, string>();

function named(text: string, values: readonly unknown[] = []): NamedStatement {
  const name = names.get(text) ?? `gmsi_${hash('sha256', text).slice(0, 16)}`;
  names.set(text, name);
  return { name, text, parameters: values.map((value) => prepareValue(value)) };
}

/** Names of the statements that a connection has prepared. */
const preparedBy = new WeakMap<pg.ClientBase, Set<string>>();

/** How the text of a statement begins that is sent with the next one. Kysely hands nothing on to a connection but texts. */
const mark = '/* later */';

/**
 * A statement of a transaction that is sent with the next one, or with the COMMIT, because nobody needs its answer. Its error
 * is that of the statement with which it was sent.
 */
export function later(query: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`${sql.raw(mark)} ${query}`;
}

/**
 * Prepares every statement with parameters, so that a connection parses and plans it once: for an upsert into a partitioned
 * table that is a twentieth of the cost of a page of 1000 rows, for smaller pages far more.
 *
 * What begins a transaction is sent with its first statement: of what a small window costs, messages are a good part
 * (docs/benchmarks.md).
 */
export function preparedOn(client: pg.ClientBase): Query {
  const prepared = preparedBy.get(client) ?? new Set<string>();
  preparedBy.set(client, prepared);
  let transaction: 'none' | 'unsent' | 'sent' = 'none';
  let held: readonly NamedStatement[] = [];

  const run = (statements: readonly NamedStatement[], after?: string) =>
    answer((callback) => client.query(new Batch(statements, prepared, callback, after)));

  /** The end is a query of its own, which the server begins only when all of it has arrived. */
  async function runWithEnd(statements: readonly NamedStatement[], end: string): Promise<pg.QueryResult> {
    const [ran, ended] = await Promise.allSettled([
      run(statements, end),
      answer((callback) => client.query(new SentBefore({ text: end }, callback))),
    ]);
    if (ran.status === 'rejected') throw ran.reason;
    if (ended.status === 'rejected') throw ended.reason;
    return ended.value;
  }

  return async (text, values) => {
    if (beginsTransaction.test(text)) {
      held = statementsOf(text);
      transaction = 'unsent';
      return nothing;
    }
    if (text.startsWith(mark)) {
      if (transaction === 'none') throw new Error(`outside of a transaction nothing is sent later: ${text}`);
      held = [...held, named(text, values)];
      return nothing;
    }
    const [before, isUnsent, isEnd] = [held, transaction === 'unsent', endsTransaction.test(text)];
    held = [];
    if (isEnd) transaction = 'none';
    else if (isUnsent) transaction = 'sent';
    const isEmpty = isUnsent && (text === 'rollback' || !before.some((one) => one.text.startsWith(mark)));
    if (isEnd && isEmpty) return nothing;
    if (text === 'rollback') return client.query(text);
    if (values.length > 0) return run([...before, named(text, values)]);
    if (before.length === 0) return client.query(text);
    if (isEnd) return runWithEnd(before, text);
    await run(before);
    return client.query(text);
  };
}

function answer(ask: (callback: (error: Error | null, result: pg.QueryResult) => void) => void) {
  return new Promise<pg.QueryResult>((resolve, reject) => {
    ask((error, result) => (error ? reject(error) : resolve(result)));
  });
}

const nothing = { command: '', rowCount: null, rows: [] } as unknown as pg.QueryResult;

export const beginsTransaction = /^(begin|start transaction)\b/;
export const endsTransaction = /\b(commit|rollback)$/;

/** Of a text that begins a transaction; none has a semicolon in a literal. */
function statementsOf(text: string): NamedStatement[] {
  return text.split(';').map((statement) => named(statement.trim()));
}
