-- Written by `npx vitest run test/warehouse/write-page.test.ts -u`; do not edit it by hand.
-- A page of gmsi.headlines: one array for each column. $1: rows before it are backfilled. $2, $3: load and window.

-- Inserts rows that are likely new, if the table has none of them.
with near as materialized (
  select headline_id from gmsi.headlines
  where country = $4::text and topic = $5::text and match_type = $6::text
    -- The rows of the page are sorted by time.
    and published_at between ($8::timestamptz[])[1] and ($8::timestamptz[])[cardinality(($8::timestamptz[]))]
)
  insert into gmsi.headlines as kept (is_backfilled, load_id, window_id, country,
    topic, match_type, headline_id, published_at, headline, language, source, url, model_version,
    topic_probability, directional_positive, directional_neutral, directional_negative,
    directional_score, semantic_positive, semantic_neutral, semantic_negative, semantic_score,
    extra)
select not (sent.published_at at time zone 'UTC')::date <@ $1::datemultirange, $2::bigint,
  $3::bigint, $4::text, $5::text, $6::text, headline_id, published_at, headline, language,
  source, url, model_version, topic_probability, directional_positive, directional_neutral,
  directional_negative, directional_score, semantic_positive, semantic_neutral, semantic_negative,
  semantic_score, extra
from (select unnest($7::uuid[]) as headline_id, unnest($8::timestamptz[]) as published_at,
  unnest($9::text[]) as headline, unnest($10::text[]) as language, unnest($11::text[]) as source,
  unnest($12::text[]) as url, unnest($13::text[]) as model_version, unnest($14::double precision[]) as topic_probability,
  unnest($15::double precision[]) as directional_positive, unnest($16::double precision[]) as directional_neutral,
  unnest($17::double precision[]) as directional_negative, unnest($18::double precision[]) as directional_score,
  unnest($19::double precision[]) as semantic_positive, unnest($20::double precision[]) as semantic_neutral,
  unnest($21::double precision[]) as semantic_negative, unnest($22::double precision[]) as semantic_score,
  unnest($23::jsonb[]) as extra) as sent
-- Few stored rows are near, if any: rows of the page before, from the same hour.
where not exists (select from near where near.headline_id = any(($7::uuid[])));

-- Otherwise: inserts new rows, replaces changed ones, and leaves equal ones alone.
with written as (
  insert into gmsi.headlines as kept (is_backfilled, load_id, window_id, country,
    topic, match_type, headline_id, published_at, headline, language, source, url, model_version,
    topic_probability, directional_positive, directional_neutral, directional_negative,
    directional_score, semantic_positive, semantic_neutral, semantic_negative, semantic_score,
    extra)
  select not (sent.published_at at time zone 'UTC')::date <@ $1::datemultirange, $2::bigint,
    $3::bigint, $4::text, $5::text, $6::text, headline_id, published_at, headline, language,
    source, url, model_version, topic_probability, directional_positive, directional_neutral,
    directional_negative, directional_score, semantic_positive, semantic_neutral, semantic_negative,
    semantic_score, extra
  from (select unnest($7::uuid[]) as headline_id, unnest($8::timestamptz[]) as published_at,
    unnest($9::text[]) as headline, unnest($10::text[]) as language, unnest($11::text[]) as source,
    unnest($12::text[]) as url, unnest($13::text[]) as model_version, unnest($14::double precision[]) as topic_probability,
    unnest($15::double precision[]) as directional_positive, unnest($16::double precision[]) as directional_neutral,
    unnest($17::double precision[]) as directional_negative, unnest($18::double precision[]) as directional_score,
    unnest($19::double precision[]) as semantic_positive, unnest($20::double precision[]) as semantic_neutral,
    unnest($21::double precision[]) as semantic_negative, unnest($22::double precision[]) as semantic_score,
    unnest($23::jsonb[]) as extra) as sent
  on conflict (country, topic, match_type, published_at, headline_id) do update set
    headline = excluded.headline, language = excluded.language, source = excluded.source,
      url = excluded.url, model_version = excluded.model_version, topic_probability = excluded.topic_probability,
      directional_positive = excluded.directional_positive, directional_neutral = excluded.directional_neutral,
      directional_negative = excluded.directional_negative, directional_score = excluded.directional_score,
      semantic_positive = excluded.semantic_positive, semantic_neutral = excluded.semantic_neutral,
      semantic_negative = excluded.semantic_negative, semantic_score = excluded.semantic_score,
      extra = excluded.extra,
    load_id = excluded.load_id,
    window_id = excluded.window_id,
    retracted_at = null,
    changed_at = greatest(now(), kept.changed_at + interval '1 microsecond')
  where (kept.retracted_at is not null
      or (kept.headline, kept.language, kept.source, kept.url, kept.model_version,
        kept.topic_probability, kept.directional_positive, kept.directional_neutral, kept.directional_negative,
        kept.directional_score, kept.semantic_positive, kept.semantic_neutral, kept.semantic_negative,
        kept.semantic_score, kept.extra) is distinct from (excluded.headline, excluded.language,
        excluded.source, excluded.url, excluded.model_version, excluded.topic_probability,
        excluded.directional_positive, excluded.directional_neutral, excluded.directional_negative,
        excluded.directional_score, excluded.semantic_positive, excluded.semantic_neutral,
        excluded.semantic_negative, excluded.semantic_score, excluded.extra)
      and not ((kept.window_id is null and exists (select from gmsi.loads where load_id = kept.load_id and command = 'import')) <> (excluded.window_id is null and exists (select from gmsi.loads where load_id = excluded.load_id and command = 'import'))
      and row(kept.headline, kept.language, kept.source, kept.url, kept.model_version,
        coalesce(kept.extra, '{}') - '{topic_name,ticker}'::text[]) is not distinct from row(excluded.headline,
        excluded.language, excluded.source, excluded.url, excluded.model_version, coalesce(excluded.extra,
        '{}') - '{topic_name,ticker}'::text[])
      and not exists (
        select from unnest(array[kept.topic_probability, kept.directional_positive,
          kept.directional_neutral, kept.directional_negative, kept.directional_score, kept.semantic_positive,
          kept.semantic_neutral, kept.semantic_negative, kept.semantic_score]::float8[], array[excluded.topic_probability,
          excluded.directional_positive, excluded.directional_neutral, excluded.directional_negative,
          excluded.directional_score, excluded.semantic_positive, excluded.semantic_neutral,
          excluded.semantic_negative, excluded.semantic_score]::float8[]) as pair (before, after)
        where not coalesce(before between after - 1.2e-7 * greatest(1, least(abs(after),
          1e200)) and after + 1.2e-7 * greatest(1, least(abs(after), 1e200)), before is null and after is null))))
  returning kept.first_seen_at = kept.changed_at as is_new
)
select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as changed from written;
