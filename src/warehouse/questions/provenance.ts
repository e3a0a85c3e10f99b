import { type Kysely, sql } from 'kysely';
import type { FeedTable, Row, Series } from '../../feeds/feed.ts';
import type { Database, Day } from '../database.ts';
import { exactTime } from '../exact-time.ts';

/** A version of a row, and the load and window that wrote it. */
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
  /** `null` if the version is not from a window; then the columns below are null, too. */
  readonly window_id: number | null;
  readonly series: Series | null;
  readonly first_day: Day | null;
  readonly last_day: Day | null;
  /** As they were sent when the window was last drained. */
  readonly request_start: Day | null;
  readonly request_end: Day | null;
  readonly page_size: number | null;
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
  const { rows } = await sql<Explanation>`
    with versions as (
      select to_jsonb(t) as version, changed_at as known_from, null::timestamptz as known_to, null as replaced_because
      from ${sql.table(`gmsi.${table.name}`)} t where ${isIt}
      union all ${replaced}
    )
    select version, ${exactTime('known_from')} as known_from, ${exactTime('known_to')} as known_to, replaced_because,
           (version ->> 'load_id')::bigint as load_id, l.command, l.job, ${exactTime('l.started_at')} as load_started_at,
           l.reason, l.run_by, w.window_id, w.first_day, w.last_day, w.request_start, w.request_end, w.page_size,
           case when w.window_id is not null then jsonb_build_object('feed', w.feed, 'country', w.country, 'topic', w.topic,
             'ticker', w.ticker, 'match_type', w.match_type, 'variant', w.variant) end as series
    from versions
    left join gmsi.loads l on l.load_id = (version ->> 'load_id')::bigint
    left join gmsi.windows w on w.window_id = (version ->> 'window_id')::bigint
    order by ${sql.join(row)}, versions.known_from
  `.execute(db);
  return rows;
}
