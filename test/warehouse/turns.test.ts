import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { expect, vi } from 'vitest';
import { planWindows } from '../../src/plan/plan-windows.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { LockHeld, namedDatabaseError } from '../../src/warehouse/errors.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { saveTopics } from '../../src/warehouse/tables/lookups.ts';
import { advisoryLock, claimPlace, takeLock, type Waiting } from '../../src/warehouse/turns.ts';
import { aLogin } from '../support/a-login.ts';
import { isMoved } from '../support/moved-time.ts';
import { aJob } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { anEmptyDatabase, aWarehouse } from '../support/test-warehouse.ts';
import { sqlIn } from '../support/warehouse-state.ts';
import { aRow, upsert } from './a-row.ts';

const scope = {
  feed: 'gmsi-headlines',
  matchType: 'COMBINED',
  countries: ['US'],
  topics: ['Inflation-Food'],
  tickers: [''],
  variants: [''],
  from: '2026-10-01',
  to: '2026-10-31',
};
const noOptions = { fullRefresh: false, retryRefused: false };

/** Runs a statement that takes a lock, and keeps it, as a session of somebody who has nothing better to do. */
async function kept(db: Warehouse, lock: RawBuilder<unknown>) {
  const trx = await db.startTransaction().execute();
  await lock.execute(trx);
  const rows = await sqlIn(trx)<{ pid: number }>`select pg_backend_pid() as pid`;
  return {
    trx,
    pid: rows[0]!.pid,
    [Symbol.asyncDispose]: () =>
      trx
        .rollback()
        .execute()
        .then(() => {}),
  };
}

/** As the program makes the key of a name. */
function advisory(name: string) {
  const key = createHash('sha256').update(name).digest().readBigInt64BE();
  return sql`select pg_advisory_xact_lock(${String(key)})`;
}

function aWait() {
  const said: string[] = [];
  const stop = new AbortController();
  const log = { warn: (message: string) => void said.push(message) };
  return { said, stop, waiting: { log, stop: stop.signal } };
}

const plan = (db: Warehouse, waiting: Waiting) =>
  planWindows(db, aJob(), scope, noOptions, '2026-11-20', waiting);

const works = {
  'migrating an empty database': {
    what: 'migrating',
    warehouse: anEmptyDatabase,
    lock: advisory('migrating'),
    work: migrate,
  },
  'migrating a warehouse': {
    what: 'migrating',
    warehouse: async () => {
      const warehouse = await aWarehouse();
      // Something is left to do.
      await sql`update gmsi.kysely_migration set checksum = 'older' where name = 'repeatable'`.execute(
        warehouse.db,
      );
      return warehouse;
    },
    lock: sql`select from gmsi.kysely_migration where name = '0001_service' for update`,
    work: migrate,
  },
  planning: {
    what: 'planning gmsi-headlines',
    warehouse: async () => {
      const warehouse = await aWarehouse();
      await sqlIn(warehouse.db)`insert into gmsi.turns (turn) values ('planning gmsi-headlines')`;
      return warehouse;
    },
    lock: sql`select from gmsi.turns where turn = 'planning gmsi-headlines' for update`,
    work: plan,
  },
};

// Most of their time they wait.
it.concurrent.each(Object.entries(works))(
  '%s waits for a session, names it, and ends at the stop signal',
  async (_, { what, warehouse, lock, work }) => {
    await using database = await warehouse();
    await using other = connect({ kind: 'url', url: new Secret(database.url) }, 2);
    const { said, stop, waiting } = aWait();
    {
      await using holder = await kept(database.db, lock);
      const waits = work(other, waiting).catch((error: Error) => error);
      await vi.waitFor(() => expect(said).toHaveLength(1), { timeout: 20_000 });
      expect(said[0]).toMatch(
        new RegExp(`^waiting for process ${holder.pid} of \\w+ \\(.+\\), which holds the lock for ${what}$`),
      );
      stop.abort();
      expect(await waits).toMatchObject({ name: 'AbortError' });
    }
    // Nothing is left of it.
    await work(other, {});
  },
);

it('gives up after some time, and names whom to end', async () => {
  const holder = { pid: 4711, name: 'process 4711 of analyst (psql)' };
  const ask = async (text: string) => ({ rows: [text.includes('pg_try') ? { is_taken: false } : holder] });
  const patience = { saidAfter: 5, givenUpAfter: 20, askedEvery: 1 };
  const { said, waiting } = aWait();
  const lock = advisoryLock('pg_try_advisory_lock', 1, 'planning');
  const error = await takeLock(ask, lock, waiting, patience).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(LockHeld);
  expect(error).toMatchObject({
    kind: 'retryable',
    message: 'The lock for planning is held by process 4711 of analyst (psql).',
    hint: 'End that session (select pg_terminate_backend(4711)), and run the command again.',
  });
  expect(said).toHaveLength(1);
});

it('a place to export to is left to its owner, and refused if a reader has it', async () => {
  await using warehouse = await aWarehouse({ connections: 4 });
  const claimed = () => claimPlace(warehouse.db, 'g7');
  {
    await using first = await claimed();
    await using second = await claimed();
    expect([first.isOurs, second.isOurs]).toEqual([true, false]);
  }
  await using reader = await aLogin(warehouse, 'gmsi_reader');
  {
    await using holder = await kept(reader.db, advisory('exporting to g7'));
    await expect(claimed()).rejects.toThrow(
      new RegExp(`^The lock for exporting to g7 is held by process ${holder.pid} of ${reader.name} \\(gmsi `),
    );
  }
  await using free = await claimed();
  expect(free.isOurs).toBe(true);
});

it.skipIf(isMoved)('no session waits for ever for a lock in the server', async ({ db }) => {
  expect(await sqlIn(db)`show lock_timeout`).toEqual([{ lock_timeout: '5min' }]);
  const trx = await db.startTransaction().execute();
  await sqlIn(trx)`lock table gmsi.topics`;
  const refused = db.transaction().execute(async (other) => {
    await sqlIn(other)`set local lock_timeout = '10ms'`;
    await sqlIn(other)`select from gmsi.topics`;
  });
  const error = namedDatabaseError(await refused.catch((one: unknown) => one));
  expect(error).toBeInstanceOf(LockHeld);
  expect((error as LockHeld).message).not.toContain('canceling');
  await trx.rollback().execute();
});

it('loads go on while a reader holds whatever a reader can', async () => {
  await using warehouse = await aWarehouse({ connections: 3 });
  await using reader = await aLogin(warehouse, 'gmsi_reader');
  await using holder = await kept(reader.db, sql`select`);
  const reading = holder.trx;
  const readable = sql<{ name: string }>`
    select format('gmsi.%I', relname) as name from pg_class
    where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p') and has_table_privilege(oid, 'select')`;
  const names = (await readable.execute(reading)).rows.map(({ name }) => name);
  await sql.raw(`lock table ${names} in access share mode`).execute(reading);
  // Every lock that the program has ever taken.
  for (const name of ['migrating', 'planning gmsi-headlines']) await advisory(name).execute(reading);
  await sql`
    select pg_advisory_xact_lock(hashtext(name)) from unnest(array['gmsi.lookups', 'gmsi.ensure_month_partition']) as name
    union all
    select pg_advisory_xact_lock(hashtext('gmsi.roll_up'), n) from generate_series(0, 1023) as n`.execute(
    reading,
  );
  await sql`update gmsi.kysely_migration set checksum = 'older' where name = 'repeatable'`.execute(
    warehouse.db,
  );

  await migrate(warehouse.db);
  expect(await plan(warehouse.db, {})).toBeGreaterThan(0);
  await upsert(warehouse.db, [aRow({ published_at: '2026-10-02T00:00:00Z', directional_score: 0.5 })]);
  const topic = { name: 'Trade', category: null, classificationRule: null, extra: {} };
  await saveTopics(warehouse.db, [topic], new Date());
  const rows = await sqlIn(warehouse.db)`
    select (select count(*) from gmsi.sentiment_daily) as days, (select count(*) from gmsi.topics) as topics`;
  expect(rows).toEqual([{ days: 2, topics: 1 }]);
  for (const table of ['turns', 'kysely_migration'])
    await expect(sql.raw(`select from gmsi.${table} for update`).execute(reader.db)).rejects.toThrow(
      'permission denied',
    );
});
