import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { exactTime } from '../warehouse/exact-time.ts';
import { type Asked, asOf, exactMoment, limit, textUpTo } from './asking.ts';
import { momentSql, question, score, text, timeText } from './reading.ts';

const series = {
  country: textUpTo(200),
  topic: textUpTo(200),
  match_type: textUpTo(100).default('COMBINED'),
};

/** Headlines of a series in a period. */
const within = z.object({
  ...series,
  from: exactMoment.describe('From this moment on …'),
  to: exactMoment.describe('… and before this one.'),
  as_of: asOf,
  find: textUpTo(200).optional().describe('A text that the headline or its source contains.'),
});
type Within = Asked<typeof within>;

export const headlinesAsked = within.extend({
  after_time: exactMoment.optional().describe('published_at of the last headline of the previous page …'),
  after_id: z.uuid().optional().describe('… and its headline_id.'),
  limit: limit(100),
});

export const headlineRow = z.object({
  headline_id: z.string(),
  published_at: timeText,
  headline: text,
  language: text,
  source: text,
  url: text,
  topic_probability: score,
  directional_score: score,
  semantic_score: score,
  first_seen_at: timeText,
  changed_at: timeText,
  retracted_at: timeText.nullable(),
  reason: text.describe('Why it was retracted: retracted or moved.'),
  moved_from: timeText
    .nullable()
    .describe('Its first publication time, if the service has corrected it since.'),
  earlier: z.int().describe('Number of earlier versions.'),
  later: z.int().describe('Number of later versions, since as_of.'),
});

/** Returns the headlines behind a point of a chart, retracted ones too, the latest first. */
export function headlinesOf(asked: Asked<typeof headlinesAsked>) {
  const { country, topic, match_type, after_time: time, after_id: id, limit } = asked;
  const afterThat =
    time && id ? sql`and (h.published_at, h.headline_id) < (${time}::timestamptz, ${id}::uuid)` : sql``;
  return question(
    headlineRow,
    `Headlines of ${country} ${topic} (${match_type})${knownAt(asked)}`,
    sql`
      select headline_id, ${exactTime('published_at')} as published_at,
             headline, language, source, url, topic_probability, directional_score, semantic_score,
             ${exactTime('first_seen_at')} as first_seen_at, ${exactTime('changed_at')} as changed_at,
             ${exactTime('retracted_at')} as retracted_at,
             case when retracted_at is not null then coalesce(reason, 'retracted') end as reason,
             ${exactTime('moved_from')} as moved_from, coalesce(earlier, 0)::int as earlier, coalesce(later, 0)::int as later
      from (
        select * from ${foundBy(asked)} ${afterThat} and ${says(asked)}
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
  );
}

/** The headlines of a series in a period; further conditions may follow. */
function foundBy({ country, topic, match_type, from, to, as_of }: Within): RawBuilder<unknown> {
  const source = as_of ? sql`gmsi.headlines_as_of(${momentSql(as_of)})` : sql`gmsi.headlines`;
  return sql`${source} h
        where country = ${country} and topic = ${topic} and match_type = ${match_type}
          and published_at >= ${from}::timestamptz and published_at < ${to}::timestamptz`;
}

function says({ find }: Within): RawBuilder<boolean> {
  return find === undefined
    ? sql`true`
    : sql`strpos(lower(concat_ws(' ', headline, source)), lower(${find})) > 0`;
}

function knownAt({ as_of }: Within): string {
  return as_of ? `, as known at ${as_of}` : '';
}

/** The headline, source and address of a story, as its latest headline has them. */
export const latest = sql.join(
  ['headline', 'source', 'url'].map((column) => {
    const of = sql.ref(column);
    return sql`(array_agg(${of} order by published_at desc, headline_id))[1] as ${of}`;
  }),
);

/** The key of `gmsi.headlines`. */
export const versionsAsked = z.object({ ...series, published_at: exactMoment, headline_id: z.uuid() });

export const versionRow = z.object({
  known_from: timeText,
  known_to: timeText.nullable().describe('null for the current version.'),
  headline: text,
  directional_score: score,
  semantic_score: score,
  topic_probability: score,
  retracted_at: timeText.nullable(),
  reason: text.describe('Why it was replaced; null for the current version.'),
});

/** Returns all versions of a headline, the first one first. */
export function versionsOf(key: Asked<typeof versionsAsked>) {
  const isIt = sql`country = ${key.country} and topic = ${key.topic} and match_type = ${key.match_type}
        and published_at = ${key.published_at}::timestamptz and headline_id = ${key.headline_id}::uuid`;
  return question(
    versionRow,
    `Versions of headline ${key.headline_id}`,
    sql`
      select ${exactTime('known_from')} as known_from, ${exactTime('known_to')} as known_to, headline,
             directional_score, semantic_score, topic_probability, ${exactTime('retracted_at')} as retracted_at, reason
      from gmsi.headline_revisions
      where ${isIt}
      union all
      select ${exactTime('changed_at')}, null, headline, directional_score, semantic_score, topic_probability,
             ${exactTime('retracted_at')}, null
      from gmsi.headlines
      where ${isIt}
      order by known_from`,
  );
}
