import {
  type DatabaseConnection,
  DefaultConnectionProvider,
  DefaultQueryExecutor,
  type Driver,
  Kysely,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  sql,
} from 'kysely';
import pg from 'pg';
import { parseIntoClientConfig } from 'pg-connection-string';
import type { TlsSettings, WarehouseAddress } from '../config/warehouse-address.ts';
import { ConfigError } from '../errors.ts';
import { version } from '../package.ts';
import type { Database } from './database.ts';
import { isStale, namedDatabaseError } from './errors.ts';
import { firstAnswer } from './first-answer.ts';
import { isMissingObject, migrationStatus } from './migrate.ts';
import { type Patience, retried } from './retries.ts';
import { prepareSession } from './session-settings.ts';
import { tlsOptions, withoutTls } from './tls.ts';

/** The warehouse's database; every table is in the schema `gmsi`. Work is tried once. */
export class Warehouse extends Kysely<Database> {
  readonly #dialect: PostgresDialect;
  readonly #driver: Driver;
  /** The same connections without patience, for work that is tried once. */
  readonly plain: Warehouse;

  constructor(dialect: PostgresDialect, driver: Driver, plain?: Warehouse, patience?: Patience) {
    const connections = new Connections(driver, () => migrationStatus(this), patience);
    const adapter = dialect.createAdapter();
    const executor = new DefaultQueryExecutor(dialect.createQueryCompiler(), adapter, connections);
    super({ config: { dialect }, dialect, driver, executor });
    this.#dialect = dialect;
    this.#driver = driver;
    this.plain = plain ?? this;
  }

  /** The same connections with patience. */
  patient(patience: Patience): PatientWarehouse {
    return new PatientWarehouse(this.#dialect, this.#driver, this.plain, patience);
  }
}

/**
 * A warehouse that repeats statements and transactions while the server restarts or has no free connection, and after a reply
 * that was lost. So what it is asked must be safe to do twice. What asks for this type counts on the repetition.
 */
export class PatientWarehouse extends Warehouse {
  readonly isPatient = true;
}

class Connections extends DefaultConnectionProvider {
  readonly #explain: () => Promise<unknown>;
  readonly #patience: Patience | undefined;

  /** @param explain throws if a newer program has migrated the schema: then a statement may name what is no longer there */
  constructor(driver: Driver, explain: () => Promise<unknown>, patience: Patience | undefined) {
    super(driver);
    this.#explain = explain;
    this.#patience = patience;
  }

  /** @param work one statement, or a whole transaction */
  override provideConnection<T>(work: (connection: DatabaseConnection) => Promise<T>): Promise<T> {
    const once = async () => {
      try {
        return await super.provideConnection(work);
      } catch (error) {
        if (isMissingObject(error)) await this.#explain();
        throw error;
      }
    };
    return this.#patience ? retried(once, this.#patience) : once();
  }
}

const { DATE, INT8 } = pg.types.builtins;

/**
 * Opens a pool of connections; nothing is sent until the first query.
 * @param connections the most connections, and so the most pages that are committed at the same time
 */
export function connect(address: WarehouseAddress, connections: number): Warehouse {
  const pool = openPool(address, connections, {
    types: {
      getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
        // A day has no time zone, so it stays text. No count here comes near 2^53.
        if (oid === DATE) return (text: string) => text;
        if (oid === INT8) return Number;
        return pg.types.getTypeParser(oid, format as 'text');
      }) as typeof pg.types.getTypeParser,
    },
  });
  const dialect = new PostgresDialect({ pool: preparing(pool) });
  const driver = dialect.createDriver();
  // Only hands the pool to the driver, so there is nothing to wait for.
  void driver.init();
  return new Warehouse(dialect, driver);
}

function openPool(address: WarehouseAddress, connections: number, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({
    application_name: `gmsi ${version}`,
    ...wayTo(address),
    max: connections,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    // pg awaits this before it hands out the connection, although the type does not say so.
    onConnect: prepareSession as (client: pg.ClientBase) => void,
    ...options,
  });
  // The pool replaces an idle connection that breaks, as in a restart of the server; the next query reports the error.
  pool.on('error', () => {});
  // A connection that breaks in use fails its query and also emits an error; without a listener that would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Opens a connection for code that needs the driver's. It is closed, not returned: the server rolls back what is not committed. */
export async function openConnection(address: WarehouseAddress) {
  const pool = openPool(address, 1);
  const client = await pool.connect();
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.release(true);
      await pool.end();
    },
  };
}

/** Returns the server's address as pg reads it from the URL or the environment, to build the address of another user. */
export function placeOf(address: WarehouseAddress) {
  const { host, port, database } = new pg.Client(wayTo(address));
  const { sslmode, sslrootcert } = tlsOf(address);
  return { host, port, database: database ?? '', sslmode, sslrootcert };
}

function tlsOf(address: WarehouseAddress): TlsSettings {
  if (address.kind === 'pg-environment') return address.tls ?? {};
  return { ...address.tls, ...withoutTls(address.url.reveal()).tls };
}

function wayTo(address: WarehouseAddress): pg.PoolConfig {
  const ssl = tlsOptions(tlsOf(address));
  if (address.kind === 'pg-environment') return { ssl };
  const config = parseIntoClientConfig(withoutTls(address.url.reveal()).address);
  // After the address, which would otherwise switch encryption on in its own way for sslnegotiation=direct.
  return { ...config, ...(ssl !== undefined && { ssl }) } as pg.PoolConfig;
}

/**
 * Connections that prepare each statement with parameters, so that the server parses and plans it once; for an upsert into a
 * partitioned table, planning is a large part of a small page's cost. Closes a returned connection that cannot be used again.
 */
function preparing(pool: pg.Pool): PostgresPool {
  return {
    async connect() {
      const client = await pool.connect();
      let isOver = false;
      const query = (text: string, values: readonly unknown[]) => {
        const sent =
          values.length > 0
            ? client.query({ name: nameOf(text), text, values: [...values] })
            : client.query(text);
        return sent.catch((error: unknown) => {
          // After an error that is not the server's answer, the connection may still receive the rest of an earlier answer.
          isOver ||= isStale(error) || !(error instanceof pg.DatabaseError);
          throw error;
        });
      };
      return { query, release: () => client.release(isOver) } as unknown as PostgresPoolClient;
    },
    end: () => pool.end(),
  };
}

const names = new Map<string, string>();

/** Returns a name that is the same for the same text, on every connection. */
function nameOf(statement: string): string {
  const name = names.get(statement) ?? `gmsi_${names.size + 1}`;
  names.set(statement, name);
  return name;
}

/**
 * Returns the version of the server. Called first, so that a wrong address fails at once.
 * @throws ConfigError if the address, the user or the version is wrong, or nothing answers for some seconds;
 * WarehouseUnavailable if a server is not ready
 */
export async function checkServer(warehouse: Warehouse): Promise<{ version: string; user: string }> {
  try {
    const { rows } = await firstAnswer(() =>
      sql<{ number: number; encoding: string; version: string; user: string; database: string }>`
      select current_setting('server_version_num')::int as number, current_setting('server_encoding') as encoding,
             current_setting('server_version') as version, current_user as user, current_database() as database
    `.execute(warehouse),
    );
    const server = rows[0]!;
    if (server.number < 150_000) {
      throw new ConfigError(`The warehouse runs on PostgreSQL ${server.version}; 15 or newer is needed.`, {
        hint: 'Upgrade the server, or unset DATABASE_URL to use the embedded warehouse.',
      });
    }
    // Other encodings refuse some headlines; SQL_ASCII stores all, but does not know their characters.
    if (server.encoding !== 'UTF8') {
      throw new ConfigError(
        `The database ${server.database} has the encoding ${server.encoding}; the warehouse needs UTF8.`,
        {
          hint:
            'Create one (createdb --template=template0 --encoding=UTF8 <name>; add --locale=C.UTF-8 if it ' +
            'refuses the locale) and set DATABASE_URL to it.',
        },
      );
    }
    return server;
  } catch (error) {
    throw namedDatabaseError(error);
  }
}
