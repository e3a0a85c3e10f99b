import pg from 'pg';
import type { TestWarehouse } from './test-warehouse.ts';

/**
 * Ends all connections to a warehouse and lets it take no writes for a while, as the server that was the primary before a
 * failover. Resolves at its beginning.
 */
export async function takesNoWrites({ url }: Pick<TestWarehouse, 'url'>, ms: number): Promise<void> {
  const database = new URL(url).pathname.slice(1);
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`
    alter database ${database} set default_transaction_read_only = on;
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`);
  setTimeout(async () => {
    await admin.query(`alter database ${database} reset default_transaction_read_only`);
    await admin.end();
  }, ms);
}
