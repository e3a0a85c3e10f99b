import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { emptyAgain, schemaOf, sessionName } from './empty-again.ts';

/** A database of a test's own: migrated, empty, gone when disposed. */
export interface TestWarehouse extends AsyncDisposable {
  readonly db: Warehouse;
  readonly url: string;
}

interface Standing {
  readonly name: string;
  readonly db: Warehouse;
  readonly url: string;
}

/** What a test needs in its warehouse beside the schema of the program. */
type Preparation = (warehouse: Standing) => Promise<unknown>;

interface Reusable extends Standing {
  readonly prepare: Preparation | undefined;
  /** What `schemaOf` said when it was new. */
  readonly fresh: string;
}

/** Warehouses whose tests are over, empty again; with their connections, whose start is most of what a database costs. */
const free: Reusable[] = [];

/** How many connections a warehouse is used by. */
const usual = 6;

export interface Wanted {
  /** Another number than usual is for a test of connections, which gets new ones. */
  readonly connections?: number;
  readonly prepare?: Preparation;
  /** For a test of partitions or plans: an earlier test may have left some partitions, empty. */
  readonly isNew?: boolean;
}

/** An empty warehouse: one that an earlier test of this worker has left and that is as it was, or a clone of the template. */
export async function aWarehouse(wanted: Wanted = {}): Promise<TestWarehouse> {
  const { connections = usual, prepare, isNew = false } = wanted;
  const left = isNew ? -1 : free.findIndex((one) => one.prepare === prepare);
  const standing = left >= 0 ? free.splice(left, 1)[0]! : await aReusable(prepare);
  const db = connections === usual ? standing.db : connectTo(standing.url, connections);
  return {
    db,
    url: standing.url,
    async [Symbol.asyncDispose]() {
      if (db !== standing.db) await db.destroy();
      const others = free.filter((one) => one.prepare === prepare);
      if (others.length < 2 && (await emptyAgain(standing.db, standing.fresh))) free.push(standing);
      else await drop(standing);
    },
  };
}

async function aReusable(prepare: Preparation | undefined): Promise<Reusable> {
  const standing = await aDatabase(`template ${inject('template')}`);
  await prepare?.(standing);
  return { ...standing, prepare, fresh: await schemaOf(standing.db) };
}

/**
 * Clones a warehouse in its present state, so that the clone can be changed. Closes its connections, because it must not be
 * in use.
 */
export async function aCloneOf({ db, url }: TestWarehouse): Promise<TestWarehouse> {
  await db.destroy();
  return disposable(await aDatabase(`template ${new URL(url).pathname.slice(1)}`));
}

/** A database without a schema, for tests of migrations. */
export async function anEmptyDatabase(): Promise<TestWarehouse> {
  return disposable(await aDatabase("template template0 encoding 'UTF8'"));
}

function disposable(standing: Standing): TestWarehouse {
  return { db: standing.db, url: standing.url, [Symbol.asyncDispose]: () => drop(standing) };
}

async function aDatabase(from: string): Promise<Standing> {
  const name = `${inject('template')}_${randomUUID().slice(0, 8)}`;
  await asAdmin(`create database ${name} ${from}`);
  const url = new URL(inject('serverUrl'));
  url.pathname = `/${name}`;
  return { name, db: connectTo(url.href, usual), url: url.href };
}

function connectTo(url: string, connections: number): Warehouse {
  const own = new URL(url);
  own.searchParams.set('application_name', sessionName);
  return connect({ kind: 'url', url: new Secret(own.href) }, connections);
}

async function drop({ name, db }: Standing): Promise<void> {
  await db.destroy();
  await asAdmin(`drop database ${name} with (force)`);
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
