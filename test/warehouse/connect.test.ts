import { sql } from 'kysely';
import pg from 'pg';
import { expect } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { createLog } from '../../src/terminal/log.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { namedDatabaseError, WarehouseUnavailable } from '../../src/warehouse/errors.ts';
import { keepProcess } from '../../src/warehouse/keep-process.ts';
import { prepareSession } from '../../src/warehouse/session-settings.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { isMoved } from '../support/moved-time.ts';
import { tcpServer } from '../support/other-servers.ts';
import { it, test } from '../support/serving.ts';
import { aWarehouse } from '../support/test-warehouse.ts';
import { countRows, sqlIn } from '../support/warehouse-state.ts';

test('a statement with parameters is prepared once a connection, one without is not', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  for (const n of [1, 2, 3]) await sqlIn(db)`select ${n}::int`;
  await sqlIn(db)`select 4`;
  const rows = await sqlIn(db)<{ statement: string }>`
    select statement from pg_prepared_statements where statement not like '%pg_prepared%'`;
  expect(rows).toEqual([{ statement: 'select $1::int' }]);
});

test('a connection that has missed a partition is not used again, and the page is tried on another one', async () => {
  await using warehouse = await aWarehouse({ connections: 1, isNew: true });
  const { db } = warehouse;
  const connection = async () => (await sqlIn(db)<{ pid: number }>`select pg_backend_pid() as pid`)[0]!.pid;
  const before = await connection();
  const missed = sql`
    insert into gmsi.headlines (headline_id, country, topic, match_type, published_at, is_backfilled, load_id)
    values (gen_random_uuid(), 'US', 'Wars', 'COMBINED', '2026-01-01', true, ${1})`.execute(db);
  expect(namedDatabaseError(await missed.catch((error) => error))).toBeInstanceOf(WarehouseUnavailable);
  expect(await connection()).not.toBe(before);
});

test('a connection whose statements are older than a column that somebody has added is not used again', async () => {
  await using warehouse = await aWarehouse({ connections: 1 });
  const { db } = warehouse;
  const countries = () => sql`select * from gmsi.countries where country <> ${'XX'}`.execute(db);
  await countries();
  await asSomebodyElse(warehouse.url, 'alter table gmsi.countries add column desk_note text');
  expect(namedDatabaseError(await countries().catch((error) => error))).toBeInstanceOf(WarehouseUnavailable);
  await countries();
});

/** Each loses a connection in its own way, and rejects with what pg says then. */
const losses: [string, (client: pg.Client, url: string) => Promise<unknown>][] = [
  [
    'is ended by the server under a statement',
    (client) => client.query('select pg_terminate_backend(pg_backend_pid())'),
  ],
  [
    'was ended by the server between two statements of a transaction',
    async (client, url) => {
      await client.query('begin');
      const { rows } = await client.query('select pg_backend_pid() as pid');
      const said = new Promise((resolve) => client.once('error', resolve));
      await asSomebodyElse(url, `select pg_terminate_backend(${rows[0].pid})`);
      await said;
      return client.query('rollback');
    },
  ],
  [
    'was closed here',
    async (client) => {
      await client.end();
      return client.query('select 1');
    },
  ],
  [
    'is cut by the network',
    async (_, url) => {
      await using proxy = await aCuttingProxy(url);
      const client = new pg.Client({ connectionString: proxy.url });
      client.on('error', () => {});
      await client.connect();
      proxy.loseReplyTo(/select 42/);
      return client.query('select 42');
    },
  ],
  [
    'does not answer in time',
    async (_, url) => {
      const client = new pg.Client({ connectionString: url, query_timeout: 1 });
      await client.connect();
      const late = await client.query('select pg_sleep(0.2)').catch((error: unknown) => error);
      await client.end();
      throw late;
    },
  ],
  [
    'never comes to stand',
    async () => {
      await using server = await tcpServer(() => {});
      const connectionString = `postgres://nobody@127.0.0.1:${server.port}/none`;
      await new pg.Client({ connectionString, connectionTimeoutMillis: 20 }).connect();
    },
  ],
];
test.each(losses)('a connection that %s is worth another try', async (_, lose) => {
  await using warehouse = await aWarehouse();
  const client = new pg.Client({ connectionString: warehouse.url });
  client.on('error', () => {});
  await client.connect();
  const error = await lose(client, warehouse.url).then(
    () => 'nothing',
    (lost: unknown) => lost,
  );
  await client.end().catch(() => {});
  expect(namedDatabaseError(error)).toBeInstanceOf(WarehouseUnavailable);
});

test.each(['25P03', '57P05'])('a session that was idle for too long (%s) is worth another try', (code) => {
  const ended = Object.assign(new Error('terminating connection'), { code });
  expect(namedDatabaseError(ended)).toBeInstanceOf(WarehouseUnavailable);
});

test('a server without a free connection is not one that does not run', () => {
  const refused = Object.assign(new Error('sorry, too many clients already'), { code: '53300' });
  expect(namedDatabaseError(refused)).toMatchObject({
    kind: 'warehouse',
    message: 'The warehouse has no free connection: sorry, too many clients already',
    hint: expect.stringContaining('max_connections'),
  });
});

async function asSomebodyElse(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement);
  await client.end();
}

test.skipIf(isMoved)(
  "a new connection on which the server is too slow for the user's own statement_timeout is tried again",
  async ({ warehouse }) => {
    const client = new pg.Client({ connectionString: warehouse.url, statement_timeout: 20 });
    await client.connect();
    const query = client.query.bind(client) as (text: string) => Promise<pg.QueryResult>;
    // As slow as a server that gets no time on its processor.
    client.query = ((text: string) => query(`select pg_sleep(1); ${text}`)) as typeof client.query;
    await expect(prepareSession(client)).rejects.toThrow(WarehouseUnavailable);
    await client.end();
  },
);

const about = { command: 'test', run_by: 'test', version: 'test', concurrency: null };
const log = createLog({ level: 'silent', readable: false });

/** A process whose heart beats only when told to. */
const aQuietProcess = (db: Warehouse, onRestore: () => Promise<void>) =>
  keepProcess(db.patient({}), about, { leaseSeconds: 3600, log, onRestore });

it.for([1, 2])('restores although reply %i of the heartbeat is lost', async (nth, { warehouse, db }) => {
  await using proxy = await aCuttingProxy(warehouse.url);
  await using cut = connect({ kind: 'url', url: new Secret(proxy.url) }, 2);
  let restored = 0;
  await using process = await aQuietProcess(cut, async () => {
    restored++;
  });
  expect(restored).toBe(0);
  await sqlIn(db)`delete from gmsi.processes`;
  proxy.loseReplyTo(/"gmsi"\."processes"/, nth);
  await process.beat();
  expect(restored).toBeGreaterThan(0);
  expect(await countRows(db, 'processes')).toBe(1);
  const once = restored;
  await process.beat();
  expect(restored).toBe(once);
});

it('does what a restore asks for with the next heartbeat if that failed', async ({ db }) => {
  let restored = 0;
  await using process = await aQuietProcess(db, async () => {
    if (++restored === 1) throw new Error('not now');
  });
  await sqlIn(db)`delete from gmsi.processes`;
  await expect(process.beat()).rejects.toThrow('not now');
  await process.beat();
  expect(restored).toBe(2);
  expect(await countRows(db, 'processes')).toBe(1);
});
