import { CompiledQuery, sql } from 'kysely';
import { addedFields, type FeedTable, type Series } from '../../feeds/feed.ts';
import { microsecondsADay } from '../../feeds/reading/read-time.ts';
import type { SortedRows } from '../arrays.ts';
import type { Warehouse } from '../connect.ts';
import type { Day } from '../database.ts';
import { type WriteTransaction, writeTransaction } from '../write-transaction.ts';
import { seriesInTable, seriesOnly } from './series.ts';

/*
 * Pages, live answers, repairs and imports upsert rows of one series. Besides, only a finished drain (retract.ts) and a repair
 * (refill-rows.ts) write to the feeds' tables. Triggers of the tables maintain revisions and rollups.
 */

/** When a version begins: later than the one before it, even if this transaction began before that one was committed. */
export const changedNow = `greatest(now(), kept.changed_at + interval '1 microsecond')`;

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
   * The state of the service that they tell, by the database's clock, in microseconds: when their drain or answer was begun, when
   * their file was made, when their record was rejected.
   */
  readonly askedAt: string;
  /** The day (UTC) on which they came. If the series is not watched yet, rows of earlier days are backfilled. */
  readonly hereOn: Day;
  /** The days that were requested; the service may send rows of other days, too. All days if not set. */
  readonly days?: { readonly first_day: Day; readonly last_day: Day };
  /** When the rows of a file were known, as the user says. They are written as if that were now. */
  readonly knownAt?: string | undefined;
  /** True for a live answer: a row that is not here and that a later reading has not had was withdrawn, or has moved. */
  readonly isLive?: boolean;
  /** True for stored rows that a repair has read again: they stay retracted, and their revisions count as no change. */
  readonly isReadAgain?: boolean;
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
  { series, days, ...from }: Provenance,
  areLikelyNew = false,
): Promise<Upserted> {
  const { insert, upsert } = statementsFor(table);
  const names = {
    ...prefixed('in', { ...seriesOnly(series) }),
    ...prefixed('of', seriesInTable(table, series)),
  };
  const given = { isReadAgain: false, isLive: false, ...from, ...days, ...names };
  if (from.isReadAgain) await sql`select set_config('gmsi.reading_again', 'on', true)`.execute(trx);
  const last = prefixed('last', rows.columns);
  const written = { inserted: 0, changed: 0 };
  for (const part of rows.length === 0 ? [] : earliestFirst(rows)) {
    const values = { ...given, ...prefixed('sent', part.columns) };
    if (areLikelyNew && !rows.earlier) {
      const { numAffectedRows } = await trx.executeQuery(insert(values));
      if (numAffectedRows! > 0n) return { inserted: Number(numAffectedRows), changed: 0 };
    }
    const statement = upsert(part === rows ? values : { ...values, ...last });
    const { inserted, changed } = (await trx.executeQuery(statement)).rows[0]!;
    written.inserted += inserted;
    written.changed += changed;
  }
  return written;
}

/** Returns the rows that later ones of the page replace, the oldest first, and then the page's own. */
function earliestFirst(rows: SortedRows): SortedRows[] {
  return rows.earlier ? [...earliestFirst(rows.earlier), rows] : [rows];
}

type Values = Readonly<Record<string, unknown>>;

function prefixed(prefix: string, values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}_${name}`, value]));
}

/** Makes a statement from a text with names (`$loadId`) for its parameters; one that is not given is null. */
function statement(text: string): (given: Values) => CompiledQuery<Upserted> {
  const names = [...new Set(text.match(/\$[a-z]\w*/gi))];
  const numbered = text.replace(/\$[a-z]\w*/gi, (name) => `$${names.indexOf(name) + 1}`);
  return (given) =>
    CompiledQuery.raw(
      numbered,
      names.map((name) => given[name.slice(1)] ?? null),
    ) as CompiledQuery<Upserted>;
}

const statements = new WeakMap<FeedTable, ReturnType<typeof writeStatements>>();

/** Returns the statements of a table; built once, since putting their hundred names together costs as much as a commit. */
function statementsFor(table: FeedTable): ReturnType<typeof writeStatements> {
  const known = statements.get(table) ?? writeStatements(table);
  statements.set(table, known);
  return known;
}

/**
 * The parameters: `Provenance`, the series (`in_…`; in the table `of_…`), the rows (`sent_…`) and, for rows that later ones replace, those
 * (`last_…`).
 */
function writeStatements({ name, columns, key, series: ofSeries }: FeedTable) {
  const names = Object.keys(columns);
  const values = names.filter((column) => !key.includes(column));
  const list = (of: readonly string[], before = '') => of.map((column) => `${before}"${column}"`).join(', ');
  const array = (of: string, column: string) => `$${of}_${column}::${columns[column]}[]`;
  // In the select list, because a function in FROM would first store each column separately.
  const rowsOf = (of: string) =>
    `(select ${names.map((column) => `unnest(${array(of, column)}) as "${column}"`).join(', ')}) as ${of}`;
  const [time, id] = key;
  const times = `(${array('sent', time)})`;
  const dayOf = (value: string) => `(${value} at time zone 'UTC')::date`;
  const stamp = 'coalesce($knownAt::timestamptz, now())';
  // A row is backfilled if it is of a day before the watch of its series that no reading had before. And it may not replace one that
  // a later reading has confirmed: of days that were requested, because the service's days may begin at another hour.
  const facts = `
    facts as materialized (
      select coalesce(c.watch_on, $hereOn::date) as watch_on, coalesce(c.loaded, '{}') as loaded, coalesce((
               select range_agg(daterange(r.first_day, r.last_day, '[]'))
               from gmsi.readings r
               where r.series_id = s.series_id and r.is_whole and r.last_day >= ${dayOf(`${times}[1]`)} and r.asked_at > $askedAt::timestamptz
             ), '{}') * datemultirange(daterange($first_day::date, $last_day::date, '[]')) as newer
      from (select) as one
      left join gmsi.series s on (s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant)
        = ($in_feed::text, $in_country::text, $in_topic::text, $in_ticker::text, $in_match_type::text, $in_variant::text)
      left join gmsi.series_days c using (series_id)
    )`;
  const into = `
    insert into gmsi."${name}" as kept
      (is_backfilled, load_id, window_id, asked_at, first_seen_at, changed_at, ${list([...ofSeries, ...names])})
    select its.day < facts.watch_on and not facts.loaded @> its.day, $loadId::bigint, $windowId::bigint, $askedAt::timestamptz,
      ${stamp}, ${stamp}, ${ofSeries.map((column) => `$of_${column}::text`).join(', ')}, ${list(names)}
    from ${rowsOf('sent')} cross join lateral (select ${dayOf(`"${time}"`)}) as its (day) cross join facts
    where not ($isLive::boolean and its.day <@ facts.newer)`;
  const insert = `
    with ${facts}, near as materialized (
      select "${id}" from gmsi."${name}"
      where ${ofSeries.map((column) => `"${column}" = $of_${column}::text`).join(' and ')}
        -- The rows of the page are sorted by time.
        and "${time}" between ${times}[1] and ${times}[cardinality(${times})]
    )
    ${into}
    -- Few stored rows are near, if any: rows of the page before, from the same hour.
    and not exists (select from near where near."${id}" = any(${array('sent', id)}))`;
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
  const upsert = `
    with ${facts}, written as (${into}
      on conflict (${list([...ofSeries, ...key])}) do update set
        ${values.map((column) => `"${column}" = excluded."${column}"`).join(', ')},
        load_id = excluded.load_id,
        asked_at = case when $isReadAgain::boolean then kept.asked_at else excluded.asked_at end,
        window_id = case when $isReadAgain::boolean then kept.window_id else excluded.window_id end,
        retracted_at = case when $isReadAgain::boolean then kept.retracted_at end,
        changed_at = greatest(excluded.changed_at, kept.changed_at + interval '1 microsecond')
      where (kept.retracted_at is not null and not $isReadAgain::boolean
          or (${list(values, 'kept.')}) is distinct from (${list(values, 'excluded.')})
          and not (${isOfFile('kept')} <> ${isOfFile('excluded')}
            and ${othersOf('kept')} is not distinct from ${othersOf('excluded')}
            and not exists (
              select from unnest(array[${list(numbers, 'kept.')}]::float8[], array[${list(numbers, 'excluded.')}]::float8[])
                as pair (before, after)
              where not coalesce(before between after - ${margin} and after + ${margin}, before is null and after is null))))
        and ($isReadAgain::boolean or kept.asked_at <= excluded.asked_at and not ${dayOf(`kept."${time}"`)} <@ (select newer from facts))
        -- A row that a later one of the page replaces is not a version if that one is stored already.
        and not exists (
          select from ${rowsOf('last')}
          where ${key.map((column) => `last."${column}" = kept."${column}"`).join(' and ')}
            and (${list(values, 'last.')}) is not distinct from (${list(values, 'kept.')}))
      returning kept.first_seen_at = kept.changed_at as is_new
    )
    select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as changed from written`;
  return { insert: statement(insert), upsert: statement(upsert) };
}

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
