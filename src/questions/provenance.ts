import { type Kysely, sql } from 'kysely';
import type { FeedTable, Row, Series } from '../feeds/feed.ts';
import type { Database, Day } from '../warehouse/database.ts';
import { exactTime } from '../warehouse/exact-time.ts';

/** A version of a row, the load that wrote it, and what the service or a file had said then. */
export interface Explanation {
  /** All its columns. All times are texts in UTC, to the microsecond. */
  readonly version: Row & { readonly retracted_at: string | null };
  readonly known_from: string;
  /** `null` for the current version. */
  readonly known_to: string | null;
  /** Why the next version replaced it. */
  readonly replaced_because: string | null;
  readonly load_id: number;
  readonly command: string | null;
  readonly job: string | null;
  readonly load_started_at: string | null;
  /** Why somebody loaded it, if it was said. */
  readonly reason: string | null;
  readonly run_by: string | null;
  /**
   * The reading that brought the version: of a window, or of the live feed. `null` if it is from a file or a repair, or if the
   * reading was needed no more and deleted; then the columns below are null, too.
   */
  readonly reading_id: number | null;
  readonly source: 'window' | 'live answer' | null;
  readonly series: Series | null;
  readonly first_day: Day | null;
  readonly last_day: Day | null;
  readonly asked_at: string | null;
  /** `null` if the window is not drained yet. */
  readonly completed_at: string | null;
  /** The files of an import that may have had it: those of its series that have records of its day. */
  readonly files: readonly string[];
}

/** Returns the column of a table's key that identifies a row within its series. */
export function idColumn({ key, columns }: FeedTable): string {
  return key.find((column) => columns[column] === 'uuid')!;
}

/**
 * Returns every version of the rows with an id, row by row, the first version first. Reads whole tables unless the id has an
 * index.
 */
export async function provenanceOf(
  db: Kysely<Database>,
  table: FeedTable,
  id: string,
): Promise<Explanation[]> {
  const isIt = sql`${sql.ref(idColumn(table))} = ${id}::uuid`;
  const replaced =
    table.name === 'headlines'
      ? sql`select to_jsonb(r), known_from, known_to, reason from gmsi.headline_revisions r where ${isIt}`
      : sql`select version, known_from, known_to, reason from gmsi.revisions
            where table_name = ${table.name} and row_id = ${id}::uuid`;
  const row = [...table.series, ...table.key].map((column) => sql`version -> ${column}`);
  const number = (column: string) => sql`(version ->> ${column})::bigint`;
  const isOfSeries = sql.join(
    table.series.map((part) => sql`${sql.ref(`s.${part}`)} = version ->> ${part}`),
    sql` and `,
  );
  // A file whose records name their series has none of its own.
  const isInFile = sql.join(
    table.series.map((part) => sql`${sql.ref(`f.${part}`)} in ('', version ->> ${part})`),
    sql` and `,
  );
  const day = sql`((version ->> ${table.key[0]})::timestamptz at time zone 'UTC')::date`;
  const { rows } = await sql<Explanation>`
    with versions as (
      select to_jsonb(t) as version, changed_at as known_from, null::timestamptz as known_to, null as replaced_because
      from ${sql.table(`gmsi.${table.name}`)} t where ${isIt}
      union all ${replaced}
    )
    select version, ${exactTime('known_from')} as known_from, ${exactTime('known_to')} as known_to, replaced_because,
           ${number('load_id')} as load_id, l.command, l.job, ${exactTime('l.started_at')} as load_started_at,
           l.reason, l.run_by, r.reading_id, r.source, r.first_day, r.last_day, ${exactTime('r.asked_at')} as asked_at,
           ${exactTime('r.completed_at')} as completed_at,
           case when s.series_id is not null then to_jsonb(s) - 'series_id' end as series, files.names as files
    from versions
    left join gmsi.loads l on l.load_id = ${number('load_id')}
    left join lateral (
      select reading_id, series_id, 'window' as source, first_day, last_day, asked_at, completed_at
      from gmsi.readings where reading_id = ${number('window_id')}
      union all
      select window_id, series_id, 'window', first_day, last_day, asked_at, null
      from gmsi.queue where window_id = ${number('window_id')}
      union all
      (select reading_id, series_id, 'live answer', first_day, last_day, asked_at, completed_at
       from gmsi.readings join gmsi.series s using (series_id)
       where version ->> 'window_id' is null and load_id = ${number('load_id')} and source = 'l' and ${isOfSeries}
         and ${day} between first_day and last_day
       -- A load may have several answers.
       order by asked_at = (version ->> 'asked_at')::timestamptz desc, asked_at limit 1)
    ) r on true
    left join gmsi.series s on s.series_id = r.series_id
    cross join lateral (
      select coalesce(array_agg(f.name order by f.name), '{}') as names
      from gmsi.imported_files f
      where version ->> 'window_id' is null and f.load_id = ${number('load_id')} and ${isInFile}
        and f.records_by_day ? ${day}::text
    ) as files
    order by ${sql.join(row)}, versions.known_from
  `.execute(db);
  return rows;
}
