-- Which headlines tell a story first, and how often it was told before, without look-ahead.

create function gmsi.novelty(
  country text, topic text, from_day date, to_day date, lookback interval default '90 days', match_type text default 'COMBINED'
) returns table (
  entered_at timestamptz, published_at timestamptz, headline_id uuid, headline text, source text, directional_score double precision,
  semantic_score double precision, is_backfilled boolean, story uuid, first_told_at timestamptz, days_since double precision,
  tellings integer)
  -- A plan of its own for each call, so that the series and the times are constants.
  language plpgsql stable parallel safe rows 10000 set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan set jit = off as $$
#variable_conflict use_column
declare
  begins timestamptz := from_day::timestamp at time zone 'UTC';
  ends timestamptz := (to_day + 1)::timestamp at time zone 'UTC';
  since timestamptz := (from_day::timestamp - lookback) at time zone 'UTC';
begin
  if coalesce(lookback <= interval '0', true) then
    raise exception 'lookback is not positive: %', coalesce(lookback::text, 'null') using errcode = 'invalid_parameter_value';
  elsif coalesce(from_day > to_day, true) then
    raise exception 'no days from % to %', coalesce(from_day::text, 'null'), coalesce(to_day::text, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  return query
  select t.entered_at, t.published_at, t.headline_id, t.headline, t.source, t.directional_score, t.semantic_score, t.is_backfilled,
         t.story, t.first_told_at, extract(epoch from t.entered_at - t.first_told_at)::float8 / 86400, t.tellings
  from (
    select k.*, min(k.entered_at) over so_far as first_told_at, (count(*) over so_far)::int as tellings
    from (
      select v.entered_at, v.published_at, v.headline_id, v.headline, v.source, v.directional_score, v.semantic_score, v.is_backfilled,
             coalesce(gmsi.story_key(v.headline), v.headline_id) as story
      from gmsi.headlines_point_in_time v
      where v.country = novelty.country and v.topic = novelty.topic and v.match_type = novelty.match_type
        and v.is_first and v.reason is distinct from 'read again'
        -- The bounds of published_at choose partitions.
        and v.published_at > since - interval '8784 hours' and v.published_at < ends
        and v.entered_at >= since and v.entered_at < ends
    ) as k
    window so_far as (partition by k.story order by k.entered_at range between lookback preceding and current row)
  ) as t
  where t.entered_at >= begins
  order by 1, 2, 3;
end $$;
comment on function gmsi.novelty(text, text, date, date, interval, text) is 'The headlines of a country and topic that became known on some days (UTC), each in its first version, with what was known of its story by then: when the same story (gmsi.story_key) was first told within the lookback before it, how many days before (0 for the first), and how many tellings there were so far, its own and those of the same moment included. What came later does not matter, so a back-test may use it. Headlines that came over a year (8,784 hours) late are omitted.';

do $$ begin
  execute replace(pg_catalog.pg_get_functiondef('gmsi.grant_roles()'::regprocedure), '''signal_at'',', '''signal_at'', ''novelty'',');
end $$;
