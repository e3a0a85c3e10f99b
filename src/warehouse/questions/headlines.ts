import { type RawBuilder, sql } from 'kysely';
import { exactTime } from '../exact-time.ts';
import { type Moment, momentSql } from './moment.ts';
import type { Question } from './reading.ts';

export interface HeadlinesAsked {
  readonly country: string;
  readonly topic: string;
  readonly matchType: string;
  /** From this moment on, as text … */
  readonly from: string;
  /** … and before this one. */
  readonly to: string;
  readonly asOf: Moment | null;
  /** A text that the headline or its source must contain, in capitals or not; `null` for all headlines. */
  readonly find: string | null;
  /** The last headline of the previous page. */
  readonly after: Pick<HeadlineShown, 'published_at' | 'headline_id'> | null;
  readonly limit: number;
}

export interface HeadlineShown {
  readonly headline_id: string;
  /** Times as texts (UTC), to the microsecond. */
  readonly published_at: string;
  readonly headline: string | null;
  readonly language: string | null;
  readonly source: string | null;
  readonly url: string | null;
  readonly topic_probability: number | null;
  readonly directional_score: number | null;
  readonly semantic_score: number | null;
  readonly first_seen_at: string;
  readonly changed_at: string;
  readonly retracted_at: string | null;
  /** Why it was retracted: `retracted` or `moved`; `null` if it was not. */
  readonly reason: string | null;
  /** Its first publication time, if the service has corrected it since. */
  readonly moved_from: string | null;
  /** Number of earlier versions. */
  readonly earlier: number;
  /** Number of later versions, since `asOf`. */
  readonly later: number;
}

/** Returns the headlines behind a point of a chart, retracted ones too, the latest first. */
export function headlinesOf(asked: HeadlinesAsked): Question<HeadlineShown> {
  const { country, topic, matchType, after, limit } = asked;
  const afterThat =
    after === null
      ? sql``
      : sql`and (h.published_at, h.headline_id) < (${after.published_at}::timestamptz, ${after.headline_id}::uuid)`;
  return {
    about: `Headlines of ${country} ${topic} (${matchType})${knownAt(asked)}`,
    query: sql<HeadlineShown>`
      select headline_id, ${exactTime('published_at')} as published_at,
             headline, language, source, url, topic_probability, directional_score, semantic_score,
             ${exactTime('first_seen_at')} as first_seen_at, ${exactTime('changed_at')} as changed_at,
             ${exactTime('retracted_at')} as retracted_at, case when retracted_at is not null then coalesce(reason, 'retracted') end as reason,
             ${exactTime('moved_from')} as moved_from, coalesce(earlier, 0)::int as earlier, coalesce(later, 0)::int as later
      from (
        select * from ${within(asked)} ${afterThat} and ${says(asked)}
        order by published_at desc, headline_id desc
        limit ${limit}::int
      ) as h
      left join lateral (
        select count(*) filter (where r.known_from < h.changed_at) as earlier,
               count(*) filter (where r.known_from >= h.changed_at) as later,
               max(r.reason) filter (where r.known_to = h.changed_at) as reason
        from gmsi.headline_revisions r
        where (r.country, r.topic, r.match_type, r.published_at, r.headline_id)
            = (h.country, h.topic, h.match_type, h.published_at, h.headline_id)
      ) as versions on true
      order by h.published_at desc, headline_id desc`,
  };
}

type Within = Omit<HeadlinesAsked, 'after' | 'limit'>;

/** The headlines of a series in a period; further conditions may follow. */
function within({ country, topic, matchType, from, to, asOf }: Within): RawBuilder<unknown> {
  const source = asOf === null ? sql`gmsi.headlines` : sql`gmsi.headlines_as_of(${momentSql(asOf)})`;
  return sql`${source} h
        where country = ${country} and topic = ${topic} and match_type = ${matchType}
          and published_at >= ${from}::timestamptz and published_at < ${to}::timestamptz`;
}

function says({ find }: Within): RawBuilder<boolean> {
  return find === null ? sql`true` : sql`strpos(lower(concat_ws(' ', headline, source)), lower(${find})) > 0`;
}

function knownAt({ asOf }: Within): string {
  return asOf === null ? '' : `, as known at ${asOf}`;
}

export interface StoriesAsked extends Within {
  /** The score whose mean is explained. */
  readonly model: 'directional' | 'semantic';
}

/** Headlines that say the same, and what they add to the mean score of the period. */
export interface Story {
  /** As its latest headline puts it. */
  readonly headline: string | null;
  readonly source: string | null;
  readonly url: string | null;
  readonly last_at: string;
  readonly headlines: number;
  readonly directional: number | null;
  readonly semantic: number | null;
  /** Sum of its scores, divided by all headlines of the period. The mean is the sum of all contributions. */
  readonly contribution: number;
}

/** Most stories for the mean, and most against it. */
const mostStories = 50;

/** Returns the stories behind a mean: those that raise it most, and those that lower it most. */
export function storiesOf(asked: StoriesAsked): Question<Story> {
  const { country, topic, matchType, model } = asked;
  return {
    about: `Stories behind the ${model} mean of ${country} ${topic} (${matchType})${knownAt(asked)}`,
    query: sql<Story>`
      with scored as (
        select *, gmsi.summable(${sql.ref(`${model}_score`)}) as score
        from ${within(asked)} and retracted_at is null
      ), stories as (
        select (array_agg(headline order by published_at desc, headline_id))[1] as headline,
               (array_agg(source order by published_at desc, headline_id))[1] as source,
               (array_agg(url order by published_at desc, headline_id))[1] as url,
               max(published_at) as last_at, count(*)::int as headlines,
               avg(gmsi.summable(directional_score)) as directional, avg(gmsi.summable(semantic_score)) as semantic,
               sum(score) / (select count(score) from scored) as contribution
        from scored
        where score is not null
        group by coalesce(gmsi.story_key(headline), headline_id)
      )
      select headline, source, url, ${exactTime('last_at')} as last_at, headlines, directional, semantic, contribution
      from (
        select *, row_number() over (order by contribution desc, last_at desc) as from_top,
               row_number() over (order by contribution, last_at desc) as from_bottom
        from stories
        where ${says(asked)}
      ) as ranked
      where from_top <= ${sql.lit(mostStories)} or from_bottom <= ${sql.lit(mostStories)}
      order by contribution desc, ranked.last_at desc`,
  };
}

/** The key of `gmsi.headlines`. */
export interface HeadlineKey {
  readonly country: string;
  readonly topic: string;
  readonly matchType: string;
  /** To the microsecond. */
  readonly published_at: string;
  readonly headline_id: string;
}

export interface HeadlineVersion {
  /** As text (UTC), to the microsecond, as are the other times. */
  readonly known_from: string;
  /** `null` for the current version. */
  readonly known_to: string | null;
  readonly headline: string | null;
  readonly directional_score: number | null;
  readonly semantic_score: number | null;
  readonly topic_probability: number | null;
  readonly retracted_at: string | null;
  /** Why it was replaced; `null` for the current version. */
  readonly reason: string | null;
}

/** Returns all versions of a headline, the first one first. */
export function versionsOf(key: HeadlineKey): Question<HeadlineVersion> {
  const isIt = sql`country = ${key.country} and topic = ${key.topic} and match_type = ${key.matchType}
        and published_at = ${key.published_at}::timestamptz and headline_id = ${key.headline_id}::uuid`;
  return {
    about: `Versions of headline ${key.headline_id}`,
    query: sql<HeadlineVersion>`
      select ${exactTime('known_from')} as known_from, ${exactTime('known_to')} as known_to, headline, directional_score, semantic_score,
             topic_probability, ${exactTime('retracted_at')} as retracted_at, reason
      from gmsi.headline_revisions
      where ${isIt}
      union all
      select ${exactTime('changed_at')}, null, headline, directional_score, semantic_score, topic_probability,
             ${exactTime('retracted_at')}, null
      from gmsi.headlines
      where ${isIt}
      order by known_from`,
  };
}
