import { randomInt, randomUUID } from 'node:crypto';
import { addAbortListener } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { sql } from 'kysely';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { WarehouseAddress } from '../config/warehouse-address.ts';
import { ConfigError, GmsiError } from '../errors.ts';
import type { Log } from '../log.ts';
import { openConnection, type PatientWarehouse, type Warehouse } from './connect.ts';
import { namedDatabaseError, namedWriteError, takesNoWrites } from './errors.ts';
import { databaseTime, isReadOnly, readStanding } from './health.ts';
import { checkOwner, migrate } from './migrate.ts';
import { livingProcesses } from './tables/processes.ts';

/*
 * The old warehouse is locked against writing and read in one transaction, and the new one is written in one. Who writes meanwhile
 * waits, and is refused by the mark in the end (gmsi.warehouse_moves):
 *
 *   old  ──┬─ lock ────┬─ COPY, table by table ─┬─ fingerprints ─┬────────────────── mark: moved, COMMIT ─┐
 *   new  ──┴─ migrate ─┴─ COPY, no triggers ────┴─ fingerprints ─┴─ mark: being filled, COMMIT ───────────┴─ no mark
 *
 *   killed before │ old            │ new                  │ the next gmsi migrate --to
 *   ──────────────┼────────────────┼──────────────────────┼───────────────────────────────────────────
 *   the first     │ as it was      │ has no row           │ begins again
 *   the second    │ as it was      │ whole, refuses loads │ empties the new one, and begins again
 *   the third     │ refuses loads  │ whole, refuses loads │ compares them, and takes the mark off the new one
 *
 * So never do both load. To go back, or to use a copy of the old one, see docs/operating.md.
 */

/** Tables that are not moved, and why. A table of a later migration is moved, unless it is named here. */
export const notMoved: Readonly<Record<string, string>> = {
  kysely_migration: 'Migrating the new warehouse fills it.',
  turns: 'Whoever locks a row makes it.',
  warehouse_moves: 'It has the mark of the move itself.',
};

/** The row of `gmsi.warehouse_moves`; `source` is what identifies the old warehouse, see `identityOf`. */
type Mark = Record<'move_id' | 'direction' | 'other' | 'source', string>;

/** A warehouse that is open. */
interface Side {
  readonly patient: PatientWarehouse;
  readonly address: WarehouseAddress;
  /** For a person, without a password. */
  readonly description: string;
}

export interface Move {
  /** Its schema is current. */
  readonly from: Side;
  readonly to: Side;
  readonly leaseSeconds: number;
  readonly log: Log;
  readonly stop: AbortSignal;
  readonly onStep: (step: MoveStep) => void;
}

export interface MoveStep {
  /** What is being copied, or compared. */
  readonly name: string;
  readonly does: 'copy' | 'compare';
  /** From 0 to 1, by the size of the tables. */
  readonly share: number;
  /** Sent so far. */
  readonly bytes: number;
}

export interface Moved {
  /** From this moment on, nothing was stored in the old warehouse. To the microsecond. */
  readonly snapshotAt: string;
  readonly tables: readonly MovedTable[];
}

/** A table that has the same rows in both warehouses. */
interface MovedTable {
  readonly table: string;
  readonly rows: number;
  /** Depends on all values of all rows, not on their order or the server's version. */
  readonly fingerprint: string;
}

/** The move ended without a change in either warehouse. */
export class MoveFailed extends GmsiError {
  override readonly kind = 'retryable';
}

/**
 * Moves everything of a warehouse into another database: all or nothing.
 * @throws ConfigError if one of the two is not as it has to be; MoveFailed if it was cut off, or the rows differ. Then nothing
 * was moved
 */
export async function moveWarehouse(move: Move): Promise<Moved> {
  const { from, to, stop, leaseSeconds } = move;
  try {
    await refuseUnmovable(from);
    await using source = await connectTo(from);
    await using target = await connectTo(to);
    using _cancelling = addAbortListener(stop, () => {
      for (const [{ patient }, { pid }] of [[from, source] as const, [to, target] as const])
        void sql`select pg_cancel_backend(${pid}::int)`.execute(patient.plain).catch(() => {});
    });
    const tables = await tablesOf(source);
    const snapshotAt = await lockAll(source, tables);
    await refuseSame(source, target);
    const [mark, begun] = [await markOf(source), await markOf(target)];
    if (mark?.direction === 'to' && begun?.move_id === mark.move_id) {
      const moved = await compareAll(source, target, tables, move);
      await release(to);
      return { snapshotAt, tables: moved };
    }
    await refuseMarked(source);
    await refuseLiving(from, leaseSeconds);
    // Only this warehouse may fill it again: the other one of another move may refuse loads already.
    const identity = await identityOf(source);
    const isBegun = begun?.direction === 'from' && begun.source === identity;
    if (!isBegun) await refuseFilled(to, target);
    await refuseClockBehind(from, to);
    await makeReady(to, move);
    await refuseAdded(tables, target);
    await beginFilling(target, tables, isBegun);
    // Once more, because nobody else can write to these tables from here on.
    await refuseFilled(to, target);
    await copyAll(source, target, tables, move);
    await continueIdentities(source, target);
    await copyDelay(source, target);
    const moved = await compareAll(source, target, tables, move);
    for (const { relation } of tables) await target.ask(`alter table ${relation} enable trigger user`);
    await waitForClock(target, snapshotAt);
    const moveId = randomUUID();
    await writeMark(target, [moveId, 'from', from.description, identity]);
    await commit(to, target, moveId);
    await writeMark(source, [moveId, 'to', to.description, identity]);
    await commit(from, source, moveId);
    await release(to);
    return { snapshotAt, tables: moved };
  } catch (error) {
    if (stop.aborted) throw stop.reason;
    const named = namedDatabaseError(namedWriteError(error));
    if (!(named instanceof GmsiError) || named instanceof MoveFailed) throw named;
    // Their hints name DATABASE_URL, and say that a rerun continues.
    if (named.kind !== 'retryable' && named.kind !== 'warehouse') throw named;
    throw new MoveFailed(`The move ended early: ${named.message}`, { cause: error, hint: nothingMoved });
  }
}

const nothingMoved = 'Nothing was moved, and the old warehouse is the one to use. Run it again.';

type Connection = Awaited<ReturnType<typeof connectTo>>;

async function connectTo({ address }: Side) {
  const connection = await openConnection(address);
  const { client } = connection;
  const ask = async <Row extends object>(text: string, values: readonly unknown[] = []) =>
    (await client.query<Row>(text, [...values])).rows;
  return { ...connection, pid: (client as unknown as { processID: number }).processID, ask };
}

async function refuseUnmovable({ patient }: Side): Promise<void> {
  if (await isReadOnly(patient))
    throw new ConfigError('The warehouse can only be read, so it cannot be marked as moved.', {
      hint: takesNoWrites,
    });
  await refuseOthers(patient, 'move');
}

async function refuseOthers(db: Warehouse, does: 'move' | 'release'): Promise<void> {
  const { may_migrate, owner, user } = await readStanding(db);
  if (may_migrate) return;
  throw new ConfigError(
    `Only the owner of the warehouse can ${does} it: it belongs to ${owner}, not to ${user}.`,
    { hint: does === 'move' ? `Run it as ${owner}.` : `As ${owner}: gmsi migrate --release` },
  );
}

/**
 * Locks the tables against writing. Partitions are written through their tables, so these alone are locked: the server keeps few
 * locks.
 * @returns the moment from which on nothing is stored
 */
async function lockAll({ ask }: Connection, tables: readonly Table[]): Promise<string> {
  await ask('begin isolation level repeatable read');
  // Before the first query, which takes the snapshot.
  const all = [...tables.map(({ relation }) => relation), 'gmsi.warehouse_moves'];
  await ask(`lock table ${all.map((relation) => `only ${relation}`).join(', ')} in share row exclusive mode`);
  const [locked] = await ask<{ at: string }>(
    `select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at,
            set_config('idle_in_transaction_session_timeout', '0', true)`,
  );
  return locked!.at;
}

/** Identifies a warehouse by when its schema was created. Its address does not: it may be written in several ways, or name another one later. */
async function identityOf({ ask }: Connection): Promise<string> {
  const [first] = await ask<{ at: string }>(
    'select "timestamp" as at from gmsi.kysely_migration order by name limit 1',
  );
  return first!.at;
}

/** Returns the mark of a warehouse; `undefined` if it has none, or is none. */
async function markOf({ ask }: Connection): Promise<Mark | undefined> {
  const [known] = await ask<{ yes: boolean }>(
    "select to_regclass('gmsi.warehouse_moves') is not null as yes",
  );
  if (!known!.yes) return undefined;
  return (await ask<Mark>('select move_id, direction, other, source from gmsi.warehouse_moves'))[0];
}

/** @throws the refusal of the warehouse itself, if it was moved or is not filled yet: a trigger of the statement */
async function refuseMarked({ ask }: Connection): Promise<void> {
  await ask('update gmsi.processes set jobs = jobs where false');
}

async function writeMark(
  { ask }: Connection,
  mark: [id: string, 'to' | 'from', other: string, source: string],
) {
  await ask('delete from gmsi.warehouse_moves');
  await ask(
    'insert into gmsi.warehouse_moves (move_id, direction, other, source) values ($1, $2, $3, $4)',
    mark,
  );
}

/** Takes the mark off the new warehouse: from here on, it is the one to use. */
async function release({ patient }: Side): Promise<void> {
  await sql`delete from gmsi.warehouse_moves`.execute(patient).catch((cause: Error) => {
    throw new MoveFailed(
      `Everything was moved, but the new warehouse still refuses loads: ${cause.message}`,
      {
        cause,
        hint: 'Run it again: it compares both, and ends the move.',
      },
    );
  });
}

/**
 * Lets loads into a warehouse again that was moved away, such as a copy of it.
 * @returns the warehouse that it was moved to; `undefined` if it was not
 * @throws ConfigError if the user does not own it, or if it is being filled by a move: it may lack rows
 */
export async function releaseMoved(db: Warehouse): Promise<string | undefined> {
  await refuseOthers(db, 'release');
  const { rows } = await sql<{ other: string }>`
    delete from gmsi.warehouse_moves where direction = 'to' returning other`.execute(db);
  const { rows: filling } = await sql<{ other: string }>`select other from gmsi.warehouse_moves`.execute(db);
  if (filling[0])
    throw new ConfigError(
      `This warehouse is being filled from ${filling[0].other}, and that move has not ended.`,
      { hint: 'Run the move again.' },
    );
  return rows[0]?.other;
}

/** A process that runs would be refused in the middle of its work. */
async function refuseLiving({ patient }: Side, leaseSeconds: number): Promise<void> {
  const living = await livingProcesses(patient, leaseSeconds);
  if (living.length === 0) return;
  const names = living.join(', ');
  throw new ConfigError(`Nothing was moved, because these processes are using the warehouse: ${names}.`, {
    hint: `Stop what loads, also in crontabs and on other machines, and run it again. A process that was killed counts for ${leaseSeconds} s.`,
  });
}

/** Advisory locks belong to a database, so a lock that is taken in both shows that they are the same. */
async function refuseSame(source: Connection, target: Connection): Promise<void> {
  const key = randomInt(2 ** 47);
  await source.ask('select pg_advisory_xact_lock($1)', [key]);
  const [taken] = await target.ask<{ yes: boolean }>('select pg_try_advisory_xact_lock($1) as yes', [key]);
  if (taken!.yes) return;
  throw new ConfigError('--to is the address of the warehouse in use.', {
    hint: 'Name another database, which is empty. To move the embedded warehouse, unset DATABASE_URL first.',
  });
}

async function refuseFilled({ description }: Side, target: Connection): Promise<void> {
  const tables = await tablesOf(target);
  if (tables.length === 0) return;
  const one = ({ relation }: { relation: string }) =>
    `(select ${pg.escapeLiteral(relation)} as relation from ${relation} limit 1)`;
  const filled = await target.ask<{ relation: string }>(tables.map(one).join(' union all '));
  if (filled.length === 0) return;
  const names = filled.slice(0, 3).map(({ relation }) => relation);
  const more = filled.length > 3 ? ` and ${filled.length - 3} more tables` : '';
  throw new ConfigError(`${description} is not empty: there are rows in ${names.join(', ')}${more}.`, {
    hint: 'Name another database, which is empty: createdb --template=template0 --encoding=UTF8 <name>',
  });
}

/** Answers as of a moment that is longer ago than this never change, and rows that come later must not be stamped before it. */
const mostBehind = 10;

async function refuseClockBehind(from: Side, to: Side): Promise<void> {
  const before = await databaseTime(from.patient);
  const behind = (before.getTime() - (await databaseTime(to.patient)).getTime()) / 1000;
  if (behind <= mostBehind) return;
  throw new ConfigError(
    `The clock of the new warehouse's server is ${Math.round(behind)} s behind that of the old one.`,
    { hint: 'Fix the wrong clock (NTP); otherwise new rows would look older than those already stored.' },
  );
}

/** So that what is stored next is stamped later than everything that was moved. */
async function waitForClock({ ask }: Connection, snapshotAt: string): Promise<void> {
  await ask('select pg_sleep(greatest(0, extract(epoch from $1::timestamptz - clock_timestamp())))', [
    snapshotAt,
  ]);
}

async function makeReady({ patient, description }: Side, { log, stop, leaseSeconds }: Move): Promise<void> {
  const { owner, may_migrate, user, database } = await readStanding(patient);
  if (owner === null && !may_migrate)
    throw new ConfigError(`${user} may not create a schema in the database ${database} of --to.`, {
      hint: `Let its owner run: grant create on database ${database} to ${user};`,
    });
  await checkOwner(patient, 'Only the owner of the schema at --to can fill it');
  const applied = await migrate(patient, { log, stop, leaseSeconds });
  if (applied.length > 0) log.info({ migrations: applied }, `the schema was migrated in ${description}`);
}

/** A table with rows to move. */
interface Table {
  readonly name: string;
  readonly relation: string;
  /** All columns, quoted. */
  readonly columns: readonly string[];
  /** Those that are not computed from others. */
  readonly stored: readonly string[];
  /** The table itself, or its partitions. */
  readonly parts: readonly {
    readonly relation: string;
    readonly month: string | null;
    readonly bytes: number;
  }[];
}

/** Returns the tables from the catalogue, those that others refer to first. */
function tablesOf({ ask }: Connection): Promise<Table[]> {
  return ask<Table>(
    `
    with recursive tables as (
      select oid, relname, relkind from pg_class
      where relnamespace = to_regnamespace('gmsi') and relkind in ('r', 'p') and not relispartition and relname <> all($1)
    ), referring (oid, depth) as (
      select oid, 0 from tables
      union
      select conrelid, depth + 1
      from referring join pg_constraint on confrelid = referring.oid and contype = 'f' and conrelid <> confrelid
    )
    select relname as name, oid::regclass::text as relation, names.columns, names.stored, coalesce(parts, '[]') as parts
    from tables
    cross join lateral (
      select array_agg(quote_ident(attname) order by attnum) as columns,
             array_agg(quote_ident(attname) order by attnum) filter (where attgenerated = '') as stored
      from pg_attribute where attrelid = tables.oid and attnum > 0 and not attisdropped
    ) as names
    cross join lateral (
      select json_agg(json_build_object(
               'relation', p.oid::regclass::text, 'bytes', pg_table_size(p.oid),
               'month', substring(pg_get_expr(p.relpartbound, p.oid) from '\\d{4}-\\d\\d-\\d\\d')) order by p.relname) as parts
      from pg_class p
      where p.oid = tables.oid and p.relkind = 'r'
        or p.oid in (select relid from pg_partition_tree(tables.oid) where isleaf)
    ) as parts
    order by (select max(depth) from referring where referring.oid = tables.oid), name`,
    [Object.keys(notMoved)],
  );
}

/** @throws ConfigError if somebody has added columns or tables to the old schema, whose values have no place in the new one */
async function refuseAdded(tables: readonly Table[], target: Connection): Promise<void> {
  const columnsOf = (of: readonly Table[]) =>
    of.flatMap(({ relation, columns }) => columns.map((column) => `${relation}.${column}`));
  const known = new Set(columnsOf(await tablesOf(target)));
  const added = columnsOf(tables).filter((column) => !known.has(column));
  if (added.length === 0) return;
  throw new ConfigError(`Somebody has added to the schema: ${added.join(', ')}.`, {
    hint: 'Create the same in the new warehouse first, or move it to another schema. The new warehouse is already migrated.',
  });
}

/**
 * Begins the transaction that is all of the move. The owner of a table may turn off its triggers; they would store revisions and
 * rollups, which are copied. That also locks the tables against other writers.
 * @param isBegun true if an earlier move has filled them and was killed
 */
async function beginFilling({ ask }: Connection, tables: readonly Table[], isBegun: boolean): Promise<void> {
  // Each in a transaction of its own, because the server keeps few locks, and a new table needs many.
  for (const { name, parts } of tables)
    for (const { month } of parts)
      if (month !== null) await ask('select gmsi.ensure_month_partition($1, $2)', [name, month]);
  await ask('begin isolation level read committed');
  await ask("select set_config('idle_in_transaction_session_timeout', '0', true)");
  for (const { relation } of tables) await ask(`alter table ${relation} disable trigger user`);
  if (isBegun) await ask(`truncate ${tables.map(({ relation }) => relation).join(', ')}`);
}

async function copyAll(source: Connection, target: Connection, tables: readonly Table[], move: Move) {
  const sizes = tables.flatMap(({ parts }) => parts).map(({ bytes }) => bytes);
  const all = sizes.reduce((sum, bytes) => sum + bytes, 0);
  let done = 0;
  let sent = 0;
  for (const { relation, stored, parts } of tables) {
    for (const part of parts) {
      const show = () =>
        move.onStep({ name: part.relation, does: 'copy', share: done / Math.max(all, 1), bytes: sent });
      show();
      const columns = `(${stored.join(', ')})`;
      await pipeline(
        source.client.query(copyTo(`copy ${part.relation} ${columns} to stdout`)),
        async function* counted(chunks: AsyncIterable<Buffer>) {
          for await (const chunk of chunks) {
            sent += chunk.length;
            show();
            yield chunk;
          }
        },
        target.client.query(copyFrom(`copy ${relation} ${columns} from stdin`)),
        { signal: move.stop },
      );
      done += part.bytes;
    }
  }
}

/** Lets numbers go on from where they were. `restart` is undone with the transaction, unlike `setval`. */
async function continueIdentities(source: Connection, target: Connection): Promise<void> {
  const columns = await source.ask<{ relation: string; name: string; sequence: string }>(`
    select attrelid::regclass::text as relation, quote_ident(attname) as name,
           pg_get_serial_sequence(attrelid::regclass::text, attname) as sequence
    from pg_attribute join pg_class c on c.oid = attrelid
    where relnamespace = 'gmsi'::regnamespace and relkind in ('r', 'p') and not relispartition and attidentity <> ''`);
  for (const { relation, name, sequence } of columns) {
    const [at] = await source.ask<{ next: string }>(
      `select last_value + is_called::int as next from ${sequence}`,
    );
    await target.ask(`alter table ${relation} alter column ${name} restart with ${at!.next}`);
  }
}

/** Copies the one function that an owner may replace, as its value. */
async function copyDelay(source: Connection, target: Connection): Promise<void> {
  const read = async ({ ask }: Connection) =>
    (await ask<{ delay: string }>('select gmsi.as_of_delay()::text as delay'))[0]!.delay;
  const [old, fresh] = [await read(source), await read(target)];
  if (old === fresh) return;
  await target.ask(`create or replace function gmsi.as_of_delay() returns interval
    language sql immutable parallel safe return interval ${pg.escapeLiteral(old)}`);
}

/** @throws MoveFailed if a table does not have the same rows in both */
async function compareAll(source: Connection, target: Connection, tables: readonly Table[], move: Move) {
  const moved: MovedTable[] = [];
  for (const table of tables) {
    move.stop.throwIfAborted();
    move.onStep({ name: table.relation, does: 'compare', share: moved.length / tables.length, bytes: 0 });
    const [old, fresh] = await Promise.all([contentsOf(source, table), contentsOf(target, table)]);
    if (old.rows !== fresh.rows || old.fingerprint !== fresh.fingerprint)
      throw new MoveFailed(
        `${table.relation} differs in the new warehouse: ${fresh.rows} rows (${fresh.fingerprint}) instead of ${old.rows} (${old.fingerprint}).`,
        {
          hint: `${nothingMoved} If it happens again, a trigger or rule there changes rows, or a disk fails.`,
        },
      );
    moved.push(fresh);
  }
  return moved;
}

/** The sum does not depend on the order of rows, and unlike an exclusive or, it counts equal rows. */
async function contentsOf({ ask }: Connection, { name, relation, columns }: Table): Promise<MovedTable> {
  const [contents] = await ask<{ rows: string; fingerprint: string }>(`
    select count(*) as rows,
           coalesce(sum(('x' || left(md5(row(${columns.join(', ')})::text), 15))::bit(60)::bigint), 0)::text as fingerprint
    from ${relation}`);
  return { table: name, rows: Number(contents!.rows), fingerprint: contents!.fingerprint };
}

/** If the reply to the COMMIT is lost, looks whether the mark that it stores is there. */
async function commit({ patient }: Side, { ask }: Connection, moveId: string): Promise<void> {
  try {
    await ask('commit');
  } catch (error) {
    const { rows } = await patient.transaction().execute(async (trx) => {
      // Waits while the server is still executing it.
      await sql`lock table gmsi.warehouse_moves in share mode`.execute(trx);
      return await sql`select from gmsi.warehouse_moves where move_id = ${moveId}`.execute(trx);
    });
    if (rows.length === 0) throw error;
  }
}
