import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import type { Warehouse } from '../../src/warehouse/connect.ts';
import { notMoved } from '../../src/warehouse/move.ts';
import { nameMoment } from '../../src/warehouse/tables/moments.ts';
import { beatProcess } from '../../src/warehouse/tables/processes.ts';
import { takeRequest } from '../../src/warehouse/tables/requests.ts';
import { aGate } from '../support/a-gate.ts';
import { aLogin } from '../support/a-login.ts';
import { aLoad, aProcess, silence } from '../support/a-process.ts';
import { setAsOfDelay } from '../support/as-of-delay.ts';
import { aCuttingProxy } from '../support/cutting-proxy.ts';
import { relay } from '../support/other-servers.ts';
import { aPostgresql15, hasPostgresql15 } from '../support/postgresql-15.ts';
import { aJobFor, runBackfill, runSync, stoppedAt } from '../support/run-backfill.ts';
import { serving } from '../support/serving.ts';
import { anEmptyDatabase, aWarehouse } from '../support/test-warehouse.ts';
import { heldBy, servedBy } from '../support/truth.ts';
import {
  aWindowIn,
  countRows,
  coverageOf,
  forgetWindowsIn,
  requestsBooked,
  sqlIn,
  untilOneWaits,
} from '../support/warehouse-state.ts';
import { aRow, upsert } from '../warehouse/a-row.ts';
import { type Running, says, startGmsi } from './gmsi.ts';
import { gmsiHere } from './in-process.ts';

const cwd = '/';

/** Runs the command in this process. */
function move(from: { readonly url: string }, to: string, ...options: string[]) {
  return gmsiHere(['migrate', '--to', to, ...options], { cwd, env: { DATABASE_URL: from.url } });
}

/** An empty database, and a user who may only create a schema in it: a move has to migrate it first, which takes a second. */
async function anOrdinaryTarget() {
  const database = await anEmptyDatabase();
  const login = await aLogin(database);
  await sql
    .raw(`grant create on database ${new URL(database.url).pathname.slice(1)} to ${login.name}`)
    .execute(database.db);
  return {
    ...database,
    url: login.url,
    async [Symbol.asyncDispose]() {
      await login[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

/** Every row of every table of the schema, as JSON, in order: what the fingerprints of a move stand for. */
async function everything(db: Warehouse): Promise<Record<string, string[]>> {
  const tables = await tablesOf(db);
  const all: Record<string, string[]> = {};
  for (const table of tables.filter((name) => !(name in notMoved))) {
    const rows = await sqlIn(db)<{ row: string }>`
      select to_jsonb(t)::text as row from ${sql.table(`gmsi.${table}`)} t order by 1`;
    all[table] = rows.map(({ row }) => row);
  }
  return all;
}

async function tablesOf(db: Warehouse): Promise<string[]> {
  const rows = await sqlIn(db)<{ relname: string }>`
    select relname from pg_class
    where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`;
  return rows.map(({ relname }) => relname);
}

/** A value of each type, with what a format of text may spoil. */
const values: Readonly<Record<string, string>> = {
  text: `E'a\\tb\\\\N "c" \\n ü 𝄞'`,
  uuid: `'5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22'`,
  jsonb: `'{"b": 1.10, "a": [null, "\\\\N", "\\u00fc"]}'`,
  boolean: 'true',
  bigint: '9007199254740993',
  integer: '7',
  'double precision': `'-4.9406564584124654e-324'`,
  date: `'2024-02-01'`,
  'timestamp with time zone': `'2024-02-29 23:59:59.123456+00'`,
  datemultirange: `'{[2024-01-01,2024-02-01),[2025-01-01,)}'`,
  'integer[]': `'{1,NULL,3}'`,
  'uuid[]': `'{5f0c1c9e-3c0a-4b52-8d5e-0d7f3a9b1c22}'`,
  'timestamp with time zone[]': `'{-infinity,infinity}'`,
  'time without time zone': `'16:30'`,
  'text[]': `E'{"a,b",NULL}'`,
};

const aSeries = '(select min(series_id) from gmsi.series)';

/** Where a column takes only some values. */
const special: Readonly<Record<string, string>> = {
  'alerts.kind': `'late'`,
  'alerts.process_id': '(select min(process_id) from gmsi.processes)',
  'check_results.severity': `'warn'`,
  'check_results.result': `'warned'`,
  'closes.timezone': `'Europe/Berlin'`,
  'drain_sightings.window_id': '(select min(window_id) from gmsi.queue)',
  'headline_revisions.known_to': `'infinity'`,
  'headline_revisions.reason': `'moved'`,
  'imported_files.process_id': '(select min(process_id) from gmsi.processes)',
  'jobs.export_process_id': '(select min(process_id) from gmsi.processes)',
  'moments.name': `'paper'`,
  'queue.cause': `'temporary'`,
  'queue.series_id': aSeries,
  'queue.state': `'pending'`,
  'readings.series_id': aSeries,
  'readings.source': `'w'`,
  'series_days.series_id': aSeries,
  'live_sightings.series_id': aSeries,
  'revisions.reason': `'returned'`,
  'revisions.known_to': `'infinity'`,
  'loads.outcome': `'done'`,
  'origin.served_by': `'sandbox'`,
  'schedules.command': `'sync'`,
  'schedules.paused_because': `'budget'`,
  'schedules.process_id': '(select min(process_id) from gmsi.processes)',
  'wire_fields.kept_in': `'extra'`,
};

/** Adds a row to each table that has none. */
async function fill(db: Warehouse): Promise<void> {
  const { rows: columns } = await sql<{ table: string; partitioned: boolean; column: string; type: string }>`
    select relname as table, relkind = 'p' as partitioned, attname as column, format_type(atttypid, atttypmod) as type
    from pg_class c join pg_attribute a on attrelid = c.oid
    where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p') and not relispartition
      and attnum > 0 and not attisdropped and attgenerated = '' and attidentity = '' order by 1, attnum`.execute(
    db,
  );
  // Others refer to these.
  const tables = [...new Set(['processes', 'series', 'queue', ...(await tablesOf(db))])];
  for (const table of tables) {
    if (table in notMoved || (await countRows(db, table)) > 0) continue;
    const own = columns.filter((column) => column.table === table);
    if (own[0]!.partitioned) await sqlIn(db)`select gmsi.ensure_month_partition(${table}, '2024-02-01')`;
    const given = own.map(({ column, type }) => special[`${table}.${column}`] ?? values[type] ?? type);
    const names = own.map(({ column }) => `"${column}"`);
    await sql.raw(`insert into gmsi.${table} (${names}) values (${given})`).execute(db);
  }
}

const scope = { countries: ['US', 'NO'], topics: ['Inflation-Food'], from: '2024-01-01', to: '2024-03-31' };
const job = aJobFor(scope, { step: 'P15D', service: { end_date: 'inclusive', page_size: 10 } });
const loading = serving({ limits: null, volume: 0.1 });

/** A warehouse with a headline, and an empty one to which it moves. */
async function aPair() {
  const [warehouse, target] = [await aWarehouse(), await aWarehouse()];
  await upsert(warehouse.db, [aRow({ headline: 'Prices rise', directional_score: 0.1 })]);
  return {
    warehouse,
    target,
    db: warehouse.db,
    move: (to = target.url, ...options: string[]) => move(warehouse, to, ...options),
    async expectAll() {
      expect(await everything(target.db)).toEqual(await everything(warehouse.db));
    },
    /** Expects that the new warehouse loads, and that the old one refuses to. */
    async expectMoved() {
      await booked(target.db);
      for (const use of [booked, aProcess])
        await expect(Promise.resolve(use(warehouse.db))).rejects.toThrow(
          /^This warehouse was moved to database .* at .* UTC\.$/,
        );
    },
    async [Symbol.asyncDispose]() {
      for (const own of [target, warehouse]) await own[Symbol.asyncDispose]();
    },
  };
}

type Pair = Awaited<ReturnType<typeof aPair>>;

const done = { code: 0 };

describe('moving a warehouse', () => {
  loading('brings every row, and leaves it in the old one', async ({ warehouse, db, sandbox }) => {
    await using target = await anOrdinaryTarget();
    await runBackfill({ job, db, sandbox });
    await sqlIn(db)`update gmsi.headlines set directional_score = -0.5, changed_at = clock_timestamp()
      where headline_id in (select headline_id from gmsi.headlines limit 5)`;
    await fill(db);
    await setAsOfDelay(db, 42_000);
    // The numbers of deleted windows are not used again, because rows name them.
    const aWindow = (db: Warehouse) =>
      aWindowIn(db, '2024-01-01', '2024-01-01', { topic: 't', state: 'pending' });
    for (let deleted = 0; deleted < 4; deleted++) await aWindow(db);
    const last = await aWindow(db);
    await forgetWindowsIn(db, { topic: 't' });
    const before = await everything(db);
    expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([]);

    const { code, stdout } = await move(warehouse, target.url, '--json');
    expect(code).toBe(0);
    expect(await everything(db)).toEqual(before);
    expect(await everything(target.db)).toEqual(before);
    const { tables } = JSON.parse(stdout) as { tables: { table: string; rows: number }[] };
    const counts = Object.entries(before).map(([table, rows]) => ({ table, rows: rows.length }));
    expect(new Set(tables.map(({ table, rows }) => `${table} ${rows}`))).toEqual(
      new Set(counts.map(({ table, rows }) => `${table} ${rows}`)),
    );
    expect([...Object.keys(before), ...Object.keys(notMoved)].toSorted()).toEqual(await tablesOf(db));
    expect(Object.values(notMoved).every((reason) => reason.length > 10)).toBe(true);

    // Triggers work, and numbers go on.
    const off = sql`select from pg_trigger where tgenabled <> 'O' and not tgisinternal`;
    expect((await off.execute(target.db)).rows).toEqual([]);
    expect(await aWindow(target.db)).toBe(last + 1);
    const delay = await sqlIn(target.db)`select gmsi.as_of_delay()::text as delay`;
    expect(delay).toEqual([{ delay: '00:00:42' }]);
    const held = await countRows(target.db, 'headline_revisions');
    await sqlIn(target.db)`update gmsi.headlines set url = 'x', changed_at = clock_timestamp()`;
    const revised = await countRows(target.db, 'headlines');
    expect(await countRows(target.db, 'headline_revisions')).toBe(held + revised);
  });

  loading('in the middle of a load repeats no request', async ({ warehouse, db, sandbox }) => {
    await using target = await aWarehouse();
    await using undisturbed = await aWarehouse();
    const first = await runBackfill({ job, db, sandbox, ...stoppedAt(8) });
    expect(first.outcome).toBe('interrupted');
    const { code, stdout } = await move(warehouse, target.url);
    expect(code).toBe(0);
    expect(stdout).toMatch(/headlines +\d+[\s\S]*set DATABASE_URL to its address[\s\S]*Next: gmsi doctor\n$/);
    expect(await runBackfill({ job, db: target.db, sandbox })).toMatchObject({ outcome: 'done' });
    expect(sandbox.stats().pagesServedTwice).toBe(0);
    const { requests } = sandbox.stats();
    expect(await requestsBooked(target.db)).toBe(requests);

    await runBackfill({ job, db: undisturbed.db, sandbox });
    expect(sandbox.stats().requests - requests).toBe(requests);
    expect(await heldBy(target.db, scope)).toEqual(servedBy(sandbox, scope));
    expect(await coverageOf(target.db)).toEqual(await coverageOf(undisturbed.db));
    const [moved, usual] = [await everything(target.db), await everything(undisturbed.db)];
    for (const sums of ['hourly_sums', 'daily_sums']) expect(moved[sums]).toEqual(usual[sums]);
    expect(await runSync({ job, db: target.db, sandbox })).toMatchObject({ outcome: 'done' });
  });

  it.skipIf(!hasPostgresql15)(
    'works from PostgreSQL 18 to 15 and back (skipped without the Debian package postgresql-15)',
    async () => {
      await using first = await aWarehouse();
      await using old = await aPostgresql15();
      await using back = await aWarehouse();
      await upsert(first.db, [aRow({ directional_score: 0.1, extra: '{"a": 1.10}' })]);
      await fill(first.db);
      expect(await move(first, old.url)).toMatchObject(done);
      expect(await move(old, back.url)).toMatchObject(done);
      expect(await everything(back.db)).toEqual(await everything(first.db));
    },
  );
});

/** Books a request, as every command does before it sends one. */
function booked(db: Warehouse) {
  return takeRequest(db, { key: 'k', month: '2026-11-01', budget: 100, rate: Number.POSITIVE_INFINITY });
}

/** Lets every change of the mark fail, as if the move were killed right before it. @returns what ends that */
async function refusing(db: Warehouse, what: 'insert' | 'delete'): Promise<() => Promise<unknown>> {
  await sql
    .raw(`
      create function public.killed() returns trigger language plpgsql as $$ begin raise 'killed'; end $$;
      create trigger killed before ${what} on gmsi.warehouse_moves for each row execute function public.killed()`)
    .execute(db);
  return () => sql`drop trigger killed on gmsi.warehouse_moves; drop function public.killed`.execute(db);
}

/** Other sessions of a database that are in a transaction. */
const inTransaction = sql`from pg_stat_activity
  where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`;

/** Does something when a move has copied headlines, and waits for a table that this test has locked. */
async function midway<T>({ warehouse, target }: Pair, then: (moving: Running) => Promise<T>): Promise<T> {
  const { held: locked, letGo: isLocked } = aGate();
  // Before it copies, it makes partitions; before that, it looks at the size of tables, for which it would wait, too.
  await sqlIn(warehouse.db)`select gmsi.ensure_month_partition('ticker_headlines', '2024-02-01')`;
  const partitions = target.db.transaction().execute(async (trx) => {
    await sqlIn(trx)`select gmsi.wait_for_turn('making a partition')`;
    await locked;
  });
  const moving = startGmsi(['migrate', '--to', target.url], { cwd, env: { DATABASE_URL: warehouse.url } });
  await untilOneWaits(target.db);
  return await warehouse.db.transaction().execute(async (trx) => {
    await sqlIn(trx)`lock table gmsi.ticker_headlines_2024_02`;
    isLocked();
    await partitions;
    await untilOneWaits(warehouse.db);
    return await then(moving);
  });
}

it('lets wait who writes meanwhile, also a process that slept, and refuses them then: nothing is lost', async () => {
  await using pair = await aPair();
  const { db, target } = pair;
  await silence(db, await aLoad(db));
  const { process_id } = await db.selectFrom('gmsi.processes').select('process_id').executeTakeFirstOrThrow();
  const taken = { name: 'meanwhile', at: undefined, note: undefined, takenBy: 'test' };
  const [moving, meanwhile] = await midway(pair, async (moving) => {
    const writes = [booked(db), nameMoment(db, taken), beatProcess(db, process_id!)];
    await vi.waitFor(async () => {
      const rows = await sqlIn(target.db)`select from pg_locks where not granted`;
      expect(rows.length).toBeGreaterThan(writes.length);
    });
    return [moving, Promise.allSettled(writes)] as const;
  });
  expect(await moving.ended).toMatchObject(done);
  const refused = { status: 'rejected', reason: { message: expect.stringMatching(/was moved to/) } };
  expect(await meanwhile).toMatchObject([refused, refused, refused]);
  await pair.expectAll();
  await pair.expectMoved();
});

it('is taken back by --release for the old warehouse, never for one that is still being filled', async () => {
  await using pair = await aPair();
  const release = (of: { readonly url: string }) =>
    gmsiHere(['migrate', '--release'], { cwd, env: { DATABASE_URL: of.url } });
  expect(await release(pair.warehouse)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/: It was not moved\.$/m),
  });
  const repaired = await refusing(pair.target.db, 'delete');
  expect((await pair.move()).code).toBe(1);
  await repaired();
  expect(await release(pair.target)).toMatchObject(says(2, /is being filled from .* Run the move again/s));
  await expect(booked(pair.warehouse.db)).rejects.toThrow('was moved to');
  expect(await release(pair.warehouse)).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/: It was moved to .*, and takes loads again\.$/m),
  });
  expect(await booked(pair.warehouse.db)).toBeDefined();
});

it('is taken back by nobody but the owner, who is named', async () => {
  await using pair = await aPair();
  await using login = await aLogin(pair.warehouse, 'gmsi_loader');
  const { code, stderr } = await gmsiHere(['migrate', '--release'], {
    cwd,
    env: { DATABASE_URL: login.url },
  });
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /Only the owner of the warehouse can release it: it belongs to (\S+), not to .*\.\n {2}→ As \1: gmsi migrate --release\n/,
  );
});

describe('a move that is cut off', () => {
  it.each([
    ['killed', 'SIGKILL', null],
    ['interrupted', 'SIGINT', 130],
  ] as const)('because it was %s leaves no row, and succeeds when run again', async (_, signal, code) => {
    await using pair = await aPair();
    const { ended } = await midway(pair, async (running) => {
      running.kill(signal);
      return running.ended.then((ended) => ({ ended }));
    });
    expect(ended.code).toBe(code);
    const sessions = sql`select ${inTransaction}`;
    await vi.waitFor(async () => expect((await sessions.execute(pair.target.db)).rows).toEqual([]));
    expect(await countRows(pair.target.db, 'headlines')).toBe(0);
    expect(await pair.move()).toMatchObject(done);
    await pair.expectAll();
  });

  it('after the new warehouse was filled leaves the old one to use, and empties the new one when it is run again', async () => {
    await using pair = await aPair();
    const repaired = await refusing(pair.db, 'insert');
    expect(await pair.move()).toMatchObject({ code: 1 });
    await booked(pair.db);
    await expect(booked(pair.target.db)).rejects.toThrow(/^This warehouse is being filled from database /);
    await repaired();
    expect(await pair.move()).toMatchObject(done);
    await pair.expectAll();
    await pair.expectMoved();
  });

  it('after the new warehouse was filled is not begun again from another warehouse, even if that has its address', async () => {
    await using pair = await aPair();
    await using other = await aWarehouse();
    await sqlIn(other.db)`update gmsi.kysely_migration set "timestamp" = '2026-01-01T00:00:00.000Z'`;
    const fromHere = (db: { readonly url: string }) => {
      const { hostname, port, username, password, pathname } = new URL(db.url);
      const env = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGPASSWORD: password };
      const here = { ...env, PGDATABASE: pathname.slice(1) };
      return gmsiHere(['migrate', '--to', pair.target.url], { cwd, env: here });
    };
    const repaired = await refusing(pair.db, 'insert');
    expect(await fromHere(pair.warehouse)).toMatchObject({ code: 1 });
    await repaired();
    expect(await fromHere(other)).toMatchObject(says(2, /not empty/));
    expect(await countRows(pair.target.db, 'headlines')).toBe(1);
    expect(await fromHere(pair.warehouse)).toMatchObject(done);
  });

  it('after the old warehouse was marked leaves none that loads, and ends when it is run again', async () => {
    await using pair = await aPair();
    await using another = await aWarehouse();
    const repaired = await refusing(pair.target.db, 'delete');
    expect(await pair.move()).toMatchObject(says(1, /Everything was moved, .*\n {2}→ Run it again/));
    await expect(booked(pair.db)).rejects.toThrow(/was moved to/);
    await expect(booked(pair.target.db)).rejects.toThrow(/being filled/);
    expect(await pair.move(another.url)).toMatchObject(
      says(2, /^gmsi: This warehouse was moved to database .* UTC\.\n {2}→ Set DATABASE_URL to that one/m),
    );
    await repaired();
    expect(await pair.move()).toMatchObject(done);
    await pair.expectMoved();
  });

  it('after the COMMIT, of which only the reply was lost, is done', async () => {
    await using pair = await aPair();
    await using proxy = await aCuttingProxy(pair.target.url);
    proxy.loseReplyTo(/^Q.{4}commit\0/s);
    expect(await pair.move(proxy.url)).toMatchObject(done);
    expect(proxy.lost).toBe(1);
    await pair.expectAll();
  });
});

/** A relay before a database that replaces bytes by as many others, in what it is sent or in what it answers. */
async function aRewritingRelay(url: string, what: 'sent' | 'answered', pattern: RegExp, by: string) {
  const changed = (chunk: Buffer) => Buffer.from(chunk.toString('latin1').replaceAll(pattern, by), 'latin1');
  const relaying = await relay(url, (client, upstream) => {
    client.on('data', (chunk) => upstream.write(what === 'sent' ? changed(chunk) : chunk));
    upstream.on('data', (chunk) => client.write(what === 'answered' ? changed(chunk) : chunk));
  });
  const through = Object.assign(new URL(url), { hostname: '127.0.0.1', port: relaying.port }).href;
  return { url: through, [Symbol.asyncDispose]: () => relaying[Symbol.asyncDispose]() };
}

describe('a move is refused', () => {
  it.each([
    // Later rows would look older.
    [
      "the new server's clock is behind",
      'answered',
      /(?<!\d)[12]\d{12}(?!\d)/g,
      '1600000000000',
      /clock .* s behind/,
      2,
    ],
    [
      'one value arrives as another one',
      'sent',
      /Prices rise/g,
      'Prices fall',
      /gmsi\.headlines differs in the new warehouse: 1 rows \(\d+\) instead of 1 \(\d+\)/,
      1,
    ],
  ] as const)('if %s', async (_, side, pattern, by, what, code) => {
    await using pair = await aPair();
    await using spoilt = await aRewritingRelay(pair.target.url, side, pattern, by);
    expect(await pair.move(spoilt.url)).toMatchObject(says(code, what));
    expect(await countRows(pair.target.db, 'headlines')).toBe(0);
  });

  it('if the other database has rows, which stay, or is the same', async () => {
    await using pair = await aPair();
    await upsert(pair.target.db, [aRow({ directional_score: 0.1 })]);
    const before = await everything(pair.target.db);
    expect(await pair.move()).toMatchObject(
      says(
        2,
        /is not empty: there are rows in gmsi\.daily_sums, gmsi\.headlines, gmsi\.hourly_sums\.\n {2}→ /,
      ),
    );
    expect(await everything(pair.target.db)).toEqual(before);
    const same = pair.warehouse.url.replace('127.0.0.1', 'localhost');
    expect(await pair.move(same)).toMatchObject(says(2, /--to is the address of the warehouse in use/));
  });

  it('if the user may not create a schema there, without a word of the password', async () => {
    await using pair = await aPair();
    await using database = await anEmptyDatabase();
    await using login = await aLogin(database);
    expect(await pair.move(login.url)).toMatchObject(
      says(2, /may not create a schema[\s\S]*grant create on database/),
    );
    const wrong = Object.assign(new URL(login.url), { password: 'zzsecretzz' }).href;
    for (const [to, what] of [
      [wrong, /refuses the user/],
      ['mysql://u:zzsecretzz@host/db', /^/],
    ] as const) {
      const refused = await pair.move(to, '--verbose');
      expect(refused).toMatchObject(says(2, what));
      expect(refused.stdout + refused.stderr).not.toContain('zzsecretzz');
    }
  });

  it('if the schema of one of the two is older or newer than this program', async () => {
    await using pair = await aPair();
    const { warehouse, target } = pair;
    await sqlIn(
      target.db,
    )`insert into gmsi.kysely_migration values ('9999_of_the_future', '2030-01-01', 'x', '9.9.9')`;
    for (const refused of [await pair.move(), await move(target, warehouse.url)])
      expect(refused).toMatchObject(says(2, /9999_of_the_future/));
    await using empty = await anEmptyDatabase();
    await sqlIn(
      pair.db,
    )`delete from gmsi.kysely_migration where name = (select max(name) from gmsi.kysely_migration)`;
    expect(await pair.move(empty.url)).toMatchObject(
      says(2, /older than this program[\s\S]*Run gmsi migrate/),
    );
    expect(await move(empty, warehouse.url)).toMatchObject(says(2, /Nothing is loaded into/));
  });

  it('while a process loads', async () => {
    await using pair = await aPair();
    const process = await aProcess(pair.db);
    expect(await pair.move()).toMatchObject(says(2, /gmsi test \(test\)/));
    await booked(pair.db);
    await process[Symbol.asyncDispose]();
    expect(await pair.move()).toMatchObject(done);
  });

  it('if somebody added tables or columns that the new schema lacks', async () => {
    await using pair = await aPair();
    await sql`alter table gmsi.headlines add column note text`.execute(pair.db);
    expect(await pair.move()).toMatchObject(says(2, /added to the schema: gmsi\.headlines\.note\.\n/));
    await sql`alter table gmsi.headlines add column note text`.execute(pair.target.db);
    await sql`update gmsi.headlines set note = 'kept'`.execute(pair.db);
    expect(await pair.move()).toMatchObject(done);
    await pair.expectAll();
  });
});
