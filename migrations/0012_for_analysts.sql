-- Not inlined, unlike before: a moment that comes from a row chooses its months only when the query runs, so the plan of a query over
-- many moments is over all months, and looks so expensive that PostgreSQL would compile it, which took a minute for ten moments. With
-- these settings, a query plans once, never compiles, and each call opens only the months of its moment. No search_path, as all names
-- have their schemas: to set it for each call would take as long as to read the headlines.
create or replace function gmsi.signal_at(
  moment timestamptz, country text, topic text, over interval default '1 day', match_type text default 'COMBINED',
  sentiment_type text default 'directional', assume_backfilled boolean default false,
  rounding text default 'second, some on the hour'
) returns table (
  state text, headline_count integer, witnessed_count integer, sentiment_sum double precision,
  sentiment_abs_sum double precision, sentiment_std double precision, sentiment_mean double precision,
  weighted_mean double precision)
  language sql stable parallel safe rows 1 set plan_cache_mode = force_generic_plan set jit = off as $$
  select case
           -- What asks for nothing must fail with an error that shows it, because 0 headlines would look like silence.
           when gmsi.published_by(moment, rounding) is null
             then ('no moment: ' || coalesce(moment::text, 'null'))::double precision::text
           when over is null or over < interval '0'
             then ('no time before a moment: ' || coalesce(over::text, 'null'))::double precision::text
           when coalesce(signal_at.sentiment_type not in ('directional', 'semantic_sentiment'), true)
             then ('no sentiment_type: ' || coalesce(signal_at.sentiment_type, 'null'))::double precision::text
           when has_omitted then 'backfilled'
           when d.last_day is not null or has_rows then gmsi.state_of(
             daterange(least((moment at time zone 'UTC' - over)::date, (moment at time zone 'UTC')::date),
                       (moment at time zone 'UTC' - interval '1 microsecond')::date, '[]'),
             d.covered, d.settling, d.partial, has_rows)
           when not exists (select from gmsi.topics t where t.topic = signal_at.topic) then 'unknown topic'
           when not exists (select from gmsi.countries c where c.country = signal_at.country) then 'unknown country'
           else 'series not loaded' end,
         sums.headline_count, sums.witnessed_count, sums.sentiment_sum, sums.sentiment_abs_sum, sums.sentiment_std,
         sums.sentiment_mean, sums.weighted_mean
  from (
    select coalesce(bool_or(is_omitted), false) as has_omitted, count(*) > 0 as has_rows,
           count(score)::int as headline_count, (count(score) filter (where was_held))::int as witnessed_count,
           coalesce(sum(score), 0) as sentiment_sum, coalesce(sum(abs(score)), 0) as sentiment_abs_sum,
           stddev_pop(score) as sentiment_std, avg(score) as sentiment_mean,
           sum(score * probability) / nullif(sum(probability) filter (where score is not null), 0) as weighted_mean
    from (
      select is_omitted, was_held, coalesce(gmsi.summable(topic_probability), 0) as probability,
             case when not is_omitted then gmsi.summable(case signal_at.sentiment_type
               when 'directional' then directional_score
               when 'semantic_sentiment' then semantic_score end) end as score
      from (
        -- Headlines that were not backfilled are known since this warehouse first stored them. Omits those that came over a year
        -- late, so that PostgreSQL does not have to read every month.
        select v.published_at, v.headline_id, v.directional_score, v.semantic_score, v.topic_probability,
               false as is_omitted, true as was_held
        from gmsi.headlines_point_in_time v
        where v.country = signal_at.country and v.topic = signal_at.topic and v.match_type = signal_at.match_type
          and not v.is_backfilled and v.published_at <= moment
          and v.first_seen_at <= v.published_at + interval '8784 hours'
          and v.published_at > (moment at time zone 'UTC' - over - interval '8784 hours') at time zone 'UTC'
          and greatest(v.published_at, v.first_seen_at) > (moment at time zone 'UTC' - over) at time zone 'UTC'
          and greatest(v.published_at, v.first_seen_at) <= moment
          and v.usable_from <= moment and (v.usable_to is null or v.usable_to > moment)
        union all
        -- Backfilled headlines are assumed to be known since they were published. The bounds of published_at choose partitions.
        select v.published_at, v.headline_id, v.directional_score, v.semantic_score, v.topic_probability,
               not assume_backfilled, v.first_seen_at <= moment
        from gmsi.headlines_point_in_time v
        where v.country = signal_at.country and v.topic = signal_at.topic and v.match_type = signal_at.match_type
          and v.is_backfilled and v.published_at <= moment
          and v.published_at > (moment at time zone 'UTC' - over - interval '24 hours') at time zone 'UTC'
          and gmsi.published_by(v.published_at, rounding) > (moment at time zone 'UTC' - over) at time zone 'UTC'
          and gmsi.published_by(v.published_at, rounding) <= moment
          and case when v.is_first then v.assumed_from is not null else v.usable_from <= moment end
          and (v.usable_to is null or v.usable_to > moment)
      ) as versions
      -- Always in the same order: otherwise sums of the same numbers differ in their last digits.
      order by published_at, headline_id
    ) as known
  ) as sums
  cross join lateral gmsi.series_days('gmsi-headlines', country, topic, '', match_type, '') as d
$$;

-- One expression of immutable functions, so that PostgreSQL inlines it. The characters are listed, because classes such as
-- [[:punct:]] depend on the database's locale. After they are removed, the cast to bytea meets no backslash. Removes an outlet at the
-- end, whose words begin with no small letter, so that "- rates cut" stays; points within abbreviations, and spaces before %; hyphens
-- within words and numbers, and points that are not decimal points; then all punctuation except what distinguishes numbers: a sign
-- before a number, a point or comma within it, % and currencies. Without lookbehind, which takes four times as long.
create or replace function gmsi.story_key(headline text) returns uuid language sql immutable parallel safe return
  encode(substring(sha256(nullif(btrim(
    regexp_replace(
      regexp_replace(
        regexp_replace(
          lower(regexp_replace(
            translate(normalize(headline, NFKC), U&'\2010\2011\2012\2013\2212', '-----'),
            '\s[-—|]\s+(?:[a-z0-9-]+(?:\.[a-z]+)+|[^-—|\s+±<>$£¥€0-9a-zß-öø-ÿα-ωа-џ]\S*'
              || '(?:\s+(?:[^-—|\s+±<>$£¥€0-9a-zß-öø-ÿα-ωа-џ]\S*|of|and|the|for)){0,3})\s*$', '', 21)),
          '\y([a-z])\.(?=[a-z]\y)|([0-9])\s+(?=%)', '\1\2', 'g'),
        '([a-z0-9])-|([a-z])[.,]|[.,]{2,}', '\1\2 ', 'g'),
      '(?:[-+±<>](?![$£¥€]?\.?[0-9])|[.,](?![0-9])|[\u0001-#&-*/:;=?@[-`{-\u00a2\u00a4\u00a6-\u00b0\u00b2-\u00bf'
        || '\u2000-\u206f\u3000-\u3003\u3008-\u3020])+', ' ', 'g')), '')::bytea) for 16), 'hex')::uuid;
comment on function gmsi.story_key(text) is 'Returns the same key for headlines that say the same. Ignores case, punctuation, spaces, the points of abbreviations (U.S.), the form of characters (NFKC), and the name of an outlet at the end ('' - Reuters'', '' | The Wall Street Journal'', '' - ft.com''): after at least 20 characters, up to four words that begin with a capital letter or a letter without case, or a domain. In a headline with all words capitalized, other words at the end are taken for an outlet, too. Numbers keep their signs, points, percent signs and currencies: 0.3% and -0.3% are two stories. Null if there is no text. Count distinct keys within a day, country and topic: the same words on another day can be another story.';
