import { sql } from 'kysely';
import { z } from 'zod';
import type { Day } from '../warehouse/database.ts';
import { type Asked, period } from './asking.ts';
import { changedParts, knownAt, moveAsked, partsOfStories, periodsOf } from './changes.ts';
import { momentSql, question, score, text } from './reading.ts';

/** The week that ends with a day. */
export const briefingAsked = moveAsked
  .pick({ match_type: true, model: true, as_of: true })
  .extend({ to: period.to });

/** How a series stands: its week against the 90 days before, and if it is one of the largest moves, how it went and why. */
export const briefingRow = z.object({
  country: z.string(),
  topic: z.string(),
  mean: score,
  headline_count: z.int().describe('Headlines with a score.'),
  mean_before: score,
  change: score,
  z: score.describe('The change in standard errors, as in sentiment/changes.'),
  state: z.string().describe('What is loaded of the week: covered, settling, partial or not loaded.'),
  weeks: z
    .array(score)
    .nullable()
    .describe(
      'Means of 14 weeks, of which the last one is this; null if it is not one of the largest moves.',
    ),
  stories: z
    .array(
      z.object({
        headline: text,
        source: text,
        url: text,
        headline_count: z.int(),
        headline_count_before: z.int(),
        share: z.number(),
      }),
    )
    .nullable()
    .describe('The stories with the sign of the move that contributed most to it, with their shares of it.'),
});

/** Most moves that are shown with their weeks and stories, and most stories of each. */
const most = { moves: 12, stories: 2 };

/** What makes a move: its standard errors, and enough news, because a few days or headlines scatter by chance. */
const least = { z: 2, days: 30, headlines: 5 };

/** Returns all series that were requested, those that moved most first. */
export function briefingOf({ to, model, match_type, as_of }: Asked<typeof briefingAsked>) {
  const asked = { country: [], topic: [], match_type, model, as_of, of: 'series' as const };
  const periods = periodsOf({ to, against: 'quarter', from: sql<Day>`(${to}::date - 6)` });
  const isOfMove = sql<boolean>`headlines.country = move.country and headlines.topic = move.topic
            and match_type = ${match_type}`;
  return question(
    briefingRow,
    `${model} sentiment of the seven days to ${to} against the 90 days before${knownAt({ as_of })}`,
    sql`
      with ${changedParts(asked, periods)}, moves as (
        select country, topic, change
        from changed
        where not is_all and abs(z) >= ${sql.lit(least.z)} and days >= ${sql.lit(least.days)} and n >= ${sql.lit(least.headlines)}
        order by abs(z) desc, country, topic
        limit ${sql.lit(most.moves)}
      ), told as materialized (
        -- Once for each move: without statistics, a join with all series would do it again for each of them.
        select move.country, move.topic, weeks, stories
        from moves as move
        cross join lateral (
          select json_agg(mean order by week desc) as weeks
          from (
            select week, sum(sum) / sum(count) as mean
            from generate_series(0, 13) as week
            left join by_day as d on d.country = move.country and d.topic = move.topic and (${periods.last} - day) / 7 = week
            group by week
          ) as by_week
        ) as weekly
        cross join lateral (
          with ${partsOfStories(asked, periods, isOfMove)}
          select coalesce(json_agg(story order by share desc), '[]') as stories
          from (
            select headline, source, url, n as headline_count, n0 as headline_count_before,
                   contribution / move.change as share
            from parts
            where sign(contribution) = sign(move.change)
            order by abs(contribution) desc, last_at desc
            limit ${sql.lit(most.stories)}
          ) as story
        ) as of_move
      )
      select country, topic, mean, coalesce(n, 0) as headline_count, mean_before, change, z,
             coalesce(changed.state, states.state, 'not loaded') as state, weeks, stories
      from (select * from changed where not is_all) as changed
      full join (select * from states where not is_all) as states using (country, topic)
      left join told using (country, topic)
      order by stories is null, abs(z) desc nulls last, country, topic`,
  );
}

/** A moment, now by default. */
export const rewrittenAsked = moveAsked.pick({ as_of: true });

/** What of the past was rewritten: of all series, and of one. */
export const rewrittenRow = z.object({
  country: text,
  topic: text.describe('Neither country nor topic: all series together.'),
  rescored: z.int().describe('Versions of headlines with other scores.'),
  withdrawn: z.int().describe('Headlines that the service no longer returns.'),
  late: z
    .int()
    .describe(
      'Headlines that came more than a day after their publication, without backfills and those withdrawn by now.',
    ),
});

/** Most series of an answer. */
const mostRewritten = 20;

/** Returns how much of the past was rewritten in the day before a moment: of all series, then of those with the most. */
export function rewritten({ as_of }: Asked<typeof rewrittenAsked>) {
  const until = as_of === undefined ? sql`now()` : sql`${momentSql(as_of)}`;
  return question(
    rewrittenRow,
    `How much of the past was rewritten in the last 24 hours${knownAt({ as_of })}`,
    sql`
      with events as (
        select country, topic, reason, known_to as at
        from gmsi.headline_revisions where reason in ('rescored', 'retracted')
        union all
        select country, topic, 'late', first_seen_at
        from gmsi.headlines
        -- As gmsi.arrival_delays: without the rows that moved headlines have left behind.
        where not is_backfilled and retracted_at is null
          and coalesce(moved_from, published_at) < first_seen_at - interval '1 day'
          -- Prunes months.
          and published_at > ${until} - interval '90 days'
      )
      select country, topic, ${sql.join(
        [
          ['rescored', 'rescored'],
          ['retracted', 'withdrawn'],
          ['late', 'late'],
        ].map(([reason, name]) => sql`count(*) filter (where reason = ${reason})::int as ${sql.ref(name!)}`),
      )}
      from events
      where at > ${until} - interval '1 day' and at <= ${until}
      group by grouping sets ((), (country, topic))
      order by grouping(country) desc, count(*) desc, country, topic
      limit ${sql.lit(mostRewritten + 1)}`,
  );
}
