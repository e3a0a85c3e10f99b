import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';

/** A database of a test's own: migrated, empty, gone when disposed. */
export interface TestWarehouse extends AsyncDisposable {
  readonly db: Warehouse;
  readonly url: string;
}

/** Clones the migrated template: a fresh warehouse in a few dozen milliseconds. */
export async function aWarehouse({ connections = 6 } = {}): Promise<TestWarehouse> {
  return aDatabase(`template ${inject('template')}`, connections);
}

/** Clones a warehouse as it stands, to be changed without changing it. Closes its connections: nobody may be on it. */
export async function aCloneOf({ db, url }: TestWarehouse): Promise<TestWarehouse> {
  await db.destroy();
  return aDatabase(`template ${new URL(url).pathname.slice(1)}`, 6);
}

/** A database without a schema, for tests of migrations. */
export async function anEmptyDatabase(): Promise<TestWarehouse> {
  return aDatabase("template template0 encoding 'UTF8'", 6);
}

async function aDatabase(from: string, connections: number): Promise<TestWarehouse> {
  const name = `gmsi_${randomUUID().replaceAll('-', '')}`;
  await asAdmin(`create database ${name} ${from}`);
  const url = new URL(inject('serverUrl'));
  url.pathname = `/${name}`;
  const db = connect({ kind: 'url', url: new Secret(url.href) }, connections);
  return {
    db,
    url: url.href,
    async [Symbol.asyncDispose]() {
      await db.destroy();
      await asAdmin(`drop database ${name} with (force)`);
    },
  };
}

async function asAdmin(statement: string): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('serverUrl') });
  await admin.connect();
  try {
    await admin.query(statement);
  } finally {
    await admin.end();
  }
}
