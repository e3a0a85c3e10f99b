import { type RawBuilder, sql } from 'kysely';
import { statesBefore } from '../../window/window-state.ts';
import type { Day } from '../tables/database.ts';

/** Which windows belong to a job: its series and its period. */
export interface WindowScope {
  readonly feed: string;
  readonly countries: readonly string[];
  readonly topics: readonly string[];
  readonly matchType: string;
  readonly from: Day;
  readonly to: Day;
}

/** The condition that a window, called `w` in the query, belongs to a job. */
export function inScope(scope: WindowScope): RawBuilder<boolean> {
  return sql`(w.feed = ${scope.feed} and w.match_type = ${scope.matchType} and w.days && ${period(scope)}
    and w.country = any(${[...scope.countries]}::text[]) and w.topic = any(${[...scope.topics]}::text[]))`;
}

/** The condition that a window `w` is still to be drained; in the words of the partial indexes, so that they are used. */
export const isOpen: RawBuilder<boolean> = sql`w.state in (${sql.join(statesBefore('claim').map((state) => sql.lit(state)))})`;

/** A job's period as a range. */
export function period(scope: WindowScope): RawBuilder<unknown> {
  return sql`daterange(${scope.from}::date, ${scope.to}::date, '[]')`;
}

/** Every series of a job, as rows `asked (country, topic)`. */
export function askedSeries(scope: WindowScope): RawBuilder<unknown> {
  return sql`(select country, topic from unnest(${[...scope.countries]}::text[]) as country
              cross join unnest(${[...scope.topics]}::text[]) as topic) as asked`;
}
