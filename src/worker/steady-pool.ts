import type pg from 'pg';
import { withWarehouseRetries } from '../pipeline/warehouse-retries.ts';

/**
 * A pool whose statements are tried again while the warehouse restarts or cuts connections. graphile-worker 0.17.3 needs it:
 * where it cannot write down that a task is done, it gives up all of its work (and its batches, which are meant to try again,
 * throw at the first failure). Each of its statements is a transaction of its own, and does nothing the second time.
 */
export function steadyPool(pool: pg.Pool): pg.Pool {
  const query = (...statement: Parameters<pg.Pool['query']>) =>
    withWarehouseRetries(() => pool.query(...statement) as unknown as Promise<pg.QueryResult>);
  const client = { query, release: () => {} };
  type Callback = Parameters<pg.Pool['connect']>[0];
  return Object.assign(Object.create(pool) as pg.Pool, {
    query,
    // With a callback, it is for listening, which needs a connection and tries again by itself.
    connect: (callback?: Callback) => (callback ? pool.connect(callback) : Promise.resolve(client)),
    // Statements wait for a connection; the fewer there are, the more workers a server can have.
    options: { ...pool.options, max: Number.POSITIVE_INFINITY },
  });
}
