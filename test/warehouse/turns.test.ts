import { sql } from 'kysely';
import { expect, vi } from 'vitest';
import { planWindows } from '../../src/plan/plan-windows.ts';
import { Secret } from '../../src/secret.ts';
import { connect, type Warehouse } from '../../src/warehouse/connect.ts';
import { LockHeld, namedDatabaseError } from '../../src/warehouse/errors.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { saveTopics } from '../../src/warehouse/tables/lookups.ts';
import { claimPlace, takeLock, takeTurn, type Waiting } from '../../src/warehouse/turns.ts';
import { aLogin } from '../support/a-login.ts';
import { isMoved } from '../support/moved-time.ts';
import { aJob } from '../support/run-backfill.ts';
import { it } from '../support/serving.ts';
import { anEmptyDatabase, aWarehouse } from '../support/test-warehouse.ts';

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

/** Takes a turn and keeps it, as a session of somebody who has nothing better to do. */
async function kept(db: Warehouse, name: string) {
  const trx = await db.startTransaction().execute();
  await takeTurn(trx, name, {});
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
  return {
    pid: rows[0]!.pid,
    [Symbol.asyncDispose]: () =>
      trx
        .rollback()
        .execute()
        .then(() => {}),
  };
}

function aWait() {
  const said: string[] = [];
  const stop = new AbortController();
  const log = { warn: (message: string) => void said.push(message) };
  return { said, stop, waiting: { log, stop: stop.signal } };
}

const works: readonly [what: string, work: (db: Warehouse, waiting: Waiting) => Promise<unknown>][] = [
  ['migrating', migrate],
  [
    'planning gmsi-headlines',
    (db, waiting) => planWindows(db, aJob(), scope, noOptions, '2026-11-20', waiting),
  ],
];

// Most of their time they wait.
it.concurrent.each(works)(
  '%s waits for another session, says for which, and ends at the stop signal',
  async (what, work) => {
    await using database = await (what === 'migrating' ? anEmptyDatabase() : aWarehouse());
    await using other = connect({ kind: 'url', url: new Secret(database.url) }, 2);
    const { said, stop, waiting } = aWait();
    {
      await using holder = await kept(database.db, what);
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
  const lock = { call: 'pg_try_advisory_lock', key: 1, what: 'planning' };
  const error = await takeLock(ask, lock, waiting, patience).catch((one: unknown) => one);
  expect(error).toBeInstanceOf(LockHeld);
  expect(error).toMatchObject({
    kind: 'retryable',
    message: 'The lock for planning is held by process 4711 of analyst (psql).',
    hint: 'End that session (select pg_terminate_backend(4711)), and run the command again.',
  });
  expect(said).toHaveLength(1);
});

it('a place to export to is left to another process of gmsi, and refused with a reason if a reader holds it', async () => {
  await using warehouse = await aWarehouse({ connections: 4 });
  const claimed = () => claimPlace(warehouse.db, 'g7');
  {
    await using first = await claimed();
    await using second = await claimed();
    expect([first.isOurs, second.isOurs]).toEqual([true, false]);
  }
  await using reader = await aLogin(warehouse, 'gmsi_reader');
  {
    await using holder = await kept(reader.db, 'exporting to g7');
    await expect(claimed()).rejects.toThrow(
      new RegExp(`^The lock for exporting to g7 is held by process ${holder.pid} of ${reader.name} \\(gmsi `),
    );
  }
  await using free = await claimed();
  expect(free.isOurs).toBe(true);
});

it.skipIf(isMoved)('no session waits for ever for a lock in the server', async ({ db }) => {
  const { rows } = await sql`show lock_timeout`.execute(db);
  expect(rows).toEqual([{ lock_timeout: '5min' }]);
  const trx = await db.startTransaction().execute();
  await sql`lock table gmsi.topics`.execute(trx);
  const refused = db.transaction().execute(async (other) => {
    await sql`set local lock_timeout = '10ms'`.execute(other);
    await sql`select from gmsi.topics`.execute(other);
  });
  const error = namedDatabaseError(await refused.catch((one: unknown) => one));
  expect(error).toBeInstanceOf(LockHeld);
  expect((error as LockHeld).message).not.toContain('canceling');
  await trx.rollback().execute();
});

it('lists are stored while a reader holds whatever a reader can', async () => {
  await using warehouse = await aWarehouse({ connections: 3 });
  const reading = await warehouse.db.startTransaction().execute();
  await sql`set local role gmsi_reader`.execute(reading);
  await sql`lock table gmsi.lookups, gmsi.topics in access share mode`.execute(reading);
  await sql`select pg_advisory_xact_lock(hashtext('gmsi.lookups'))`.execute(reading);
  await saveTopics(
    warehouse.db,
    [{ name: 'Trade', category: null, classificationRule: null, extra: {} }],
    new Date(),
  );
  await reading.rollback().execute();
  const { rows } = await sql`select topic from gmsi.topics`.execute(warehouse.db);
  expect(rows).toEqual([{ topic: 'Trade' }]);
});
