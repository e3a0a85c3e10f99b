import { CompiledQuery, sql } from 'kysely';
import { addedFields, type FeedTable, type Series } from '../../feeds/feed.ts';
import { microsecondsADay } from '../../feeds/reading/read-time.ts';
import type { SortedRows } from '../arrays.ts';
import type { Warehouse } from '../connect.ts';
import { type WriteTransaction, writeTransaction } from '../write-transaction.ts';
import { seriesInTable } from './series.ts';

/*
 * Pages, live answers, repairs and imports upsert rows of one series. Besides, only a finished drain (retract.ts) and a repair
 * (refill-rows.ts) write to the feeds' tables. Triggers of the tables maintain revisions and rollups.
 */

/** When a version begins: later than the one before it, even if this transaction began before that one was committed. */
export const changedNow = changed();

function changed(by = 'now()'): string {
  return `greatest(${by}, kept.changed_at + interval '1 microsecond')`;
}

export interface Upserted {
  /** Rows that were new. */
  readonly inserted: number;
  /** Rows that replaced an older version, which is kept by the table's trigger. */
  readonly changed: number;
}

/** Where rows come from: the columns that are not from their records. */
export interface Provenance {
  readonly series: Series;
  readonly loadId: number;
  /** The window that they are from; `null` for rows of the live feed, a repair or an import. */
  readonly windowId: number | null;
  /**
   * Days, as a multirange, of which a row that comes now was not there before, because they were loaded before or are not settled.
   * Rows of other days are backfilled.
   */
  readonly witnessed: string;
  /**
   * For a file, which may be older than the rows in the table. Does not replace rows that were written after it was made,
   * except rows that one of `imports` wrote.
   */
  readonly of?: {
    readonly madeAt: Date;
    readonly imports: readonly number[];
    /** When its rows were known, as the user says. They are written as if that were now. */
    readonly knownAt?: string;
  };
}

/**
 * Writes a page's rows: inserts new ones, replaces changed ones, and does not touch equal ones. If a page has several rows of
 * one key, all of them become versions; loading the same page again adds no version. The fastest way to upsert, close to COPY:
 * one array per column, and prepared statements (docs/benchmarks.md).
 *
 * Upserting a new row costs much more than inserting it: PostgreSQL looks for it first, and then writes it provisionally. So
 * rows that are probably new are inserted if the table has none of them; otherwise all are upserted, to keep their order.
 * @param areLikelyNew false if most rows may be here already
 * @throws an error that is named WriteFailed (`crossed`) if another session inserts one of the likely new rows meanwhile
 */
export async function upsertRows(
  trx: WriteTransaction,
  table: FeedTable,
  rows: SortedRows,
  { series, loadId, windowId, witnessed, of }: Provenance,
  areLikelyNew = false,
): Promise<Upserted> {
  if (rows.length === 0) return { inserted: 0, changed: 0 };
  const given = [witnessed, loadId, windowId, ...Object.values(seriesInTable(table, series))];
  const parameters = [...given, ...rows.columns];
  const ofFile = of ? [of.madeAt, [...of.imports], of.knownAt ?? null] : [];
  const { insert, upsert, upsertUnlessNewer, earlier, earlierUnlessNewer } = statementsFor(table);
  const written = { inserted: 0, changed: 0 };
  for (const before of earliestFirst(rows)) {
    const statement = of ? earlierUnlessNewer : earlier;
    const values = [...given, ...before.columns, ...ofFile, ...rows.columns];
    const [counts] = (await trx.executeQuery<Upserted>(CompiledQuery.raw(statement, values))).rows;
    written.inserted += counts!.inserted;
    written.changed += counts!.changed;
  }
  if (areLikelyNew && !rows.earlier && of?.knownAt === undefined) {
    const { numAffectedRows } = await trx.executeQuery(CompiledQuery.raw(insert, parameters));
    if (numAffectedRows! > 0n) return { inserted: Number(numAffectedRows), changed: 0 };
  }
  const statement = CompiledQuery.raw(of ? upsertUnlessNewer : upsert, [...parameters, ...ofFile]);
  const { inserted, changed } = (await trx.executeQuery<Upserted>(statement)).rows[0]!;
  return { inserted: written.inserted + inserted, changed: written.changed + changed };
}

/** Returns the rows that a later row of the page replaces, the oldest first. */
function earliestFirst({ earlier }: SortedRows): SortedRows[] {
  return earlier ? [...earliestFirst(earlier), earlier] : [];
}

interface Statements {
  /** Inserts the rows if none of them is here. */
  readonly insert: string;
  readonly upsert: string;
  readonly upsertUnlessNewer: string;
  /** Upserts rows that a later row of the page replaces, unless that later version is already stored. */
  readonly earlier: string;
  readonly earlierUnlessNewer: string;
}

const statements = new WeakMap<FeedTable, Statements>();

/** Returns the statements of a table; built once, since putting their hundred names together costs as much as a commit. */
function statementsFor(table: FeedTable): Statements {
  const both = statements.get(table) ?? writeStatements(table);
  statements.set(table, both);
  return both;
}

function writeStatements({ name, columns, key, series }: FeedTable): Statements {
  const ofSeries = Object.keys(series);
  const names = Object.keys(columns);
  const values = names.filter((column) => !key.includes(column));
  const list = (of: readonly string[], before = '') => of.map((column) => `${before}"${column}"`).join(', ');
  const [time, id] = key;
  const given = [
    `not (sent."${time}" at time zone 'UTC')::date <@ $1::datemultirange`,
    '$2::bigint',
    '$3::bigint',
    ...ofSeries.map((_, i) => `$${i + 4}::text`),
  ];
  const arrays = Object.values(columns).map((type, i) => `$${i + 4 + ofSeries.length}::${type}[]`);
  const into = (stamps: readonly string[] = []) => `
      insert into gmsi."${name}" as kept (is_backfilled, load_id, window_id, ${list([...ofSeries, ...names, ...stamps])})`;
  // In the select list, because a function in FROM would first store each column separately.
  const sent = `select ${arrays.map((array, i) => `unnest(${array}) as "${names[i]}"`).join(', ')}`;
  const [times, ids] = [time, id].map((column) => `(${arrays[names.indexOf(column!)]})`);
  const insert = `
    with near as materialized (
      select "${id}" from gmsi."${name}"
      where ${ofSeries.map((column, i) => `"${column}" = $${i + 4}::text`).join(' and ')}
        -- The rows of the page are sorted by time.
        and "${time}" between ${times}[1] and ${times}[cardinality(${times})]
    )
    ${into()}
    select ${given.join(', ')}, ${list(names)} from (${sent}) as sent
    -- Few stored rows are near, if any: rows of the page before, from the same hour.
    where not exists (select from near where near."${id}" = any(${ids}))`;
  // A row of a file is not another version of one from the service if their numbers are equal at 32 bits, which a file may have,
  // and if one only lacks what the import has added. The margin is also that of the difference of two such numbers. No bound
  // leaves the range of numbers, whatever was sent.
  const isNumber = (column: string) => columns[column] === 'double precision';
  const numbers = values.filter(isNumber);
  const others = values.filter((column) => !isNumber(column) && column !== 'extra');
  const added = `'{${Object.values(addedFields).join()}}'::text[]`;
  const othersOf = (row: string) =>
    `row(${[...others.map((column) => `${row}."${column}"`), `coalesce(${row}.extra, '{}') - ${added}`].join(', ')})`;
  const margin = '1.2e-7 * greatest(1, least(abs(after), 1e200))';
  const isOfFile = (row: string) =>
    `(${row}.window_id is null and exists (select from gmsi.loads where load_id = ${row}.load_id and command = 'import'))`;
  const isSameInFile = `${isOfFile('kept')} <> ${isOfFile('excluded')}
          and ${othersOf('kept')} is not distinct from ${othersOf('excluded')}
          and not exists (
            select from unnest(array[${list(numbers, 'kept.')}]::float8[], array[${list(numbers, 'excluded.')}]::float8[]) as pair (before, after)
            where not coalesce(before between after - ${margin} and after + ${margin}, before is null and after is null))`;
  const upsert = (condition: string, by?: string) => `
    with written as (${into(by ? ['first_seen_at', 'changed_at'] : [])}
      select ${given.join(', ')}, ${list(names)}${by ? `, ${by}, ${by}` : ''} from (${sent}) as sent
      on conflict (${list([...ofSeries, ...key])}) do update set
        ${values.map((column) => `"${column}" = excluded."${column}"`).join(', ')},
        load_id = excluded.load_id,
        window_id = excluded.window_id,
        retracted_at = null,
        changed_at = ${changed(by)}
      where (kept.retracted_at is not null
          or (${list(values, 'kept.')}) is distinct from (${list(values, 'excluded.')})
          and not (${isSameInFile})) ${condition}
      returning kept.first_seen_at = kept.changed_at as is_new
    )
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as changed from written`;
  const next = given.length + arrays.length + 1;
  const ofFile = `coalesce($${next + 2}::timestamptz, now())`;
  const unlessNewer = `and (kept.changed_at <= $${next}::timestamptz or kept.load_id = any($${next + 1}::bigint[]))`;
  const unlessReplaced = (first: number) => {
    const all = Object.values(columns).map((type, i) => `unnest($${first + i}::${type}[]) as "${names[i]}"`);
    return `and not exists (
        select from (select ${all.join(', ')}) as page
        where ${key.map((column) => `page."${column}" = kept."${column}"`).join(' and ')}
          and (${list(values, 'page.')}) is not distinct from (${list(values, 'kept.')}))`;
  };
  return {
    insert,
    upsert: upsert(''),
    upsertUnlessNewer: upsert(unlessNewer, ofFile),
    earlier: upsert(unlessReplaced(next)),
    earlierUnlessNewer: upsert(`${unlessNewer} ${unlessReplaced(next + 3)}`, ofFile),
  };
}

/** The days of rows that are loaded as they appear. */
export const everyDay = '{(,)}';

/** Partitions known to exist, so that a load creates each of them once. */
export type KnownPartitions = Set<string>;

/**
 * Creates the month partitions for rows, in separate transactions before the page's: otherwise the page would lock the
 * partition until its commit.
 */
export async function ensurePartitions(
  warehouse: Warehouse,
  table: FeedTable,
  times: SortedRows['times'],
  known: KnownPartitions,
): Promise<void> {
  for (const month of monthsOf(table, times)) {
    if (known.has(`${table.name} ${month}`)) continue;
    await writeTransaction(warehouse, (trx) => ensureMonth(trx, table, month));
    known.add(`${table.name} ${month}`);
  }
}

/** Creates the partitions in the page's own transaction: for a repetition, because the warehouse may have gone back in time. */
export async function ensurePartitionsAgain(
  trx: WriteTransaction,
  table: FeedTable,
  times: SortedRows['times'],
): Promise<void> {
  for (const month of monthsOf(table, times)) await ensureMonth(trx, table, month);
}

function monthsOf(table: FeedTable, times: SortedRows['times']): ReadonlySet<string> {
  if (!table.isPartitioned) return new Set();
  const days = new Set(times.map((time) => Math.floor(time / microsecondsADay)));
  return new Set([...days].map((day) => new Date((day * microsecondsADay) / 1000).toISOString().slice(0, 7)));
}

function ensureMonth(trx: WriteTransaction, table: FeedTable, month: string) {
  return sql`select gmsi.ensure_month_partition(${table.name}, ${`${month}-01`}::date)`.execute(trx);
}
