-- Written by `npx vitest run test/warehouse/write-page.test.ts -u`; do not edit it by hand.
-- A page of gmsi.headlines: one array for each column. The names of the parameters are in src/warehouse/tables/rows.ts.

-- Inserts rows that are likely new, if the table has none of them.
with near as materialized (
  select headline_id from gmsi.headlines
  where country = $1::text and topic = $2::text and match_type = $3::text
    -- The rows of the page are sorted by time.
    and published_at between ($4::timestamptz[])[1] and ($4::timestamptz[])[cardinality(($4::timestamptz[]))]
)
insert into gmsi.headlines as kept
  (is_backfilled, load_id, window_id, first_seen_at, changed_at, country, topic, match_type,
    headline_id, published_at, headline, language, source, url, model_version, topic_probability,
    directional_positive, directional_neutral, directional_negative, directional_score,
    semantic_positive, semantic_neutral, semantic_negative, semantic_score, extra)
select not (its.day <@ $5::datemultirange or coalesce(its.day >= $6::date, false)),
  $7::bigint,
  $8::bigint, coalesce($9::timestamptz, now()), coalesce($9::timestamptz, now()),
    $1::text, $2::text, $3::text, headline_id, published_at, headline, language, source,
    url, model_version, topic_probability, directional_positive, directional_neutral,
    directional_negative, directional_score, semantic_positive, semantic_neutral, semantic_negative,
    semantic_score, extra
from (select unnest($10::uuid[]) as headline_id, unnest($4::timestamptz[]) as published_at,
  unnest($11::text[]) as headline, unnest($12::text[]) as language, unnest($13::text[]) as source,
  unnest($14::text[]) as url, unnest($15::text[]) as model_version, unnest($16::double precision[]) as topic_probability,
  unnest($17::double precision[]) as directional_positive, unnest($18::double precision[]) as directional_neutral,
  unnest($19::double precision[]) as directional_negative, unnest($20::double precision[]) as directional_score,
  unnest($21::double precision[]) as semantic_positive, unnest($22::double precision[]) as semantic_neutral,
  unnest($23::double precision[]) as semantic_negative, unnest($24::double precision[]) as semantic_score,
  unnest($25::jsonb[]) as extra) as sent cross join lateral (select (published_at at time zone 'UTC')::date) as its (day)
-- Few stored rows are near, if any: rows of the page before, from the same hour.
where not exists (select from near where near.headline_id = any($10::uuid[]));

-- Otherwise: inserts new rows, replaces changed ones, and leaves equal ones alone.
with written as (
insert into gmsi.headlines as kept
  (is_backfilled, load_id, window_id, first_seen_at, changed_at, country, topic, match_type,
    headline_id, published_at, headline, language, source, url, model_version, topic_probability,
    directional_positive, directional_neutral, directional_negative, directional_score,
    semantic_positive, semantic_neutral, semantic_negative, semantic_score, extra)
select not (its.day <@ $1::datemultirange or coalesce(its.day >= $2::date, false)),
  $3::bigint,
  $4::bigint, coalesce($5::timestamptz, now()), coalesce($5::timestamptz, now()),
    $6::text, $7::text, $8::text, headline_id, published_at, headline, language, source,
    url, model_version, topic_probability, directional_positive, directional_neutral,
    directional_negative, directional_score, semantic_positive, semantic_neutral, semantic_negative,
    semantic_score, extra
from (select unnest($9::uuid[]) as headline_id, unnest($10::timestamptz[]) as published_at,
  unnest($11::text[]) as headline, unnest($12::text[]) as language, unnest($13::text[]) as source,
  unnest($14::text[]) as url, unnest($15::text[]) as model_version, unnest($16::double precision[]) as topic_probability,
  unnest($17::double precision[]) as directional_positive, unnest($18::double precision[]) as directional_neutral,
  unnest($19::double precision[]) as directional_negative, unnest($20::double precision[]) as directional_score,
  unnest($21::double precision[]) as semantic_positive, unnest($22::double precision[]) as semantic_neutral,
  unnest($23::double precision[]) as semantic_negative, unnest($24::double precision[]) as semantic_score,
  unnest($25::jsonb[]) as extra) as sent cross join lateral (select (published_at at time zone 'UTC')::date) as its (day)
  on conflict (country, topic, match_type, published_at, headline_id) do update set
    headline = excluded.headline, language = excluded.language, source = excluded.source,
      url = excluded.url, model_version = excluded.model_version, topic_probability = excluded.topic_probability,
      directional_positive = excluded.directional_positive, directional_neutral = excluded.directional_neutral,
      directional_negative = excluded.directional_negative, directional_score = excluded.directional_score,
      semantic_positive = excluded.semantic_positive, semantic_neutral = excluded.semantic_neutral,
      semantic_negative = excluded.semantic_negative, semantic_score = excluded.semantic_score,
      extra = excluded.extra,
    load_id = excluded.load_id,
    window_id = case when $26::boolean then kept.window_id else excluded.window_id end,
    retracted_at = case when $26::boolean then kept.retracted_at end,
    changed_at = greatest(excluded.changed_at, kept.changed_at + interval '1 microsecond')
  where (kept.retracted_at is not null and not $26::boolean
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
            excluded.semantic_negative, excluded.semantic_score]::float8[])
            as pair (before, after)
          where not coalesce(before between after - 1.2e-7 * greatest(1, least(abs(after),
            1e200)) and after + 1.2e-7 * greatest(1, least(abs(after), 1e200)), before is null and after is null))))
    and ($27::timestamptz is null or kept.changed_at <= $27::timestamptz or kept.load_id = any($28::bigint[]))
    -- A row that a later one of the page replaces is no version if that one is stored already.
    and not exists (
      select from (select unnest($29::uuid[]) as headline_id, unnest($30::timestamptz[]) as published_at,
        unnest($31::text[]) as headline, unnest($32::text[]) as language, unnest($33::text[]) as source,
        unnest($34::text[]) as url, unnest($35::text[]) as model_version, unnest($36::double precision[]) as topic_probability,
        unnest($37::double precision[]) as directional_positive, unnest($38::double precision[]) as directional_neutral,
        unnest($39::double precision[]) as directional_negative, unnest($40::double precision[]) as directional_score,
        unnest($41::double precision[]) as semantic_positive, unnest($42::double precision[]) as semantic_neutral,
        unnest($43::double precision[]) as semantic_negative, unnest($44::double precision[]) as semantic_score,
        unnest($45::jsonb[]) as extra) as last
      where last.published_at = kept.published_at and last.headline_id = kept.headline_id
        and (last.headline, last.language, last.source, last.url, last.model_version,
          last.topic_probability, last.directional_positive, last.directional_neutral, last.directional_negative,
          last.directional_score, last.semantic_positive, last.semantic_neutral, last.semantic_negative,
          last.semantic_score, last.extra) is not distinct from (kept.headline, kept.language,
          kept.source, kept.url, kept.model_version, kept.topic_probability, kept.directional_positive,
          kept.directional_neutral, kept.directional_negative, kept.directional_score, kept.semantic_positive,
          kept.semantic_neutral, kept.semantic_negative, kept.semantic_score, kept.extra))
  returning kept.first_seen_at = kept.changed_at as is_new
)
select count(*) filter (where is_new) as inserted, count(*) filter (where not is_new) as changed from written;
