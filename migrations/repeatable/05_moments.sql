-- What was known at a moment: signals, days as they were known, stories.

-- Immutable, so that a query gets the moment as a constant: otherwise it would be looked up again for each row, or keep
-- PostgreSQL from using the indexes. A name never moves, so only a session that has planned with a name since removed is wrong.
create or replace function gmsi.moment(name text) returns timestamptz
  language plpgsql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  found_at timestamptz := (select m.at from gmsi.moments m where m.name = moment.name);
begin
  if found_at is null then
    raise exception 'no moment is named %', moment.name using errcode = 'no_data_found', hint = 'gmsi snapshot lists them.';
  end if;
  return found_at;
end $$;
comment on function gmsi.moment(text) is 'The moment of a name (gmsi snapshot), for the functions …_as_of: gmsi.headlines_as_of(gmsi.moment(''paper-2026'')). Fails if no moment has that name.';

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

create or replace function gmsi.known_state(
  days daterange, moment timestamptz, watch_here timestamptz, covered datemultirange, settling datemultirange, partial datemultirange,
  has_rows boolean, is_late boolean, assume_backfilled boolean
) returns text language sql immutable parallel safe return
  case when (settling @> days) is not true then gmsi.state_of(days, covered, settling, partial, has_rows)
       when watch_here <= moment then case when is_late then 'late' else gmsi.state_of(days, covered, settling, partial, has_rows) end
       when assume_backfilled then 'assumed'
       else 'backfilled' end;
comment on function gmsi.known_state(daterange, timestamptz, timestamptz, datemultirange, datemultirange, datemultirange, boolean, boolean, boolean) is 'What an answer as of a moment rests on. From the beginning of the watch of its series on (gmsi.series_days.watch_here), only on what this warehouse had: covered, settling: each day that was over had been read whole by then. late: one of them was read whole only later, or not yet (is_late), so what had been published by then may not have been known here. Before the watch: assumed: it is assumed that headlines were known from publication. backfilled: the same, but they do not count. partial, not loaded: as gmsi.state_of.';

-- Where it begins first, a day begins 14 hours before it does in UTC.
create or replace function gmsi.refuse_days(from_day date, to_day date) returns void language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if from_day > to_day then
    raise exception 'no days from % to %', from_day, to_day using errcode = 'invalid_parameter_value';
  elsif greatest(from_day, to_day) > (now() at time zone 'UTC' + interval '14 hours')::date then
    raise exception 'the day % is in the future', greatest(from_day, to_day) using errcode = 'datetime_field_overflow';
  end if;
end $$;
comment on function gmsi.refuse_days(date, date) is 'Fails for days in the wrong order, and for a day that has not begun anywhere.';

create or replace function gmsi.refuse_unknown(country text, topic text, match_type text) returns void
  language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if refuse_unknown.country is not null and not exists (
    select from gmsi.countries c where c.country = refuse_unknown.country
    union all select from gmsi.series s where s.feed = 'gmsi-headlines' and s.country = refuse_unknown.country) then
    raise exception 'unknown country: %', refuse_unknown.country using errcode = 'no_data_found', hint = 'gmsi.countries lists them.';
  elsif refuse_unknown.topic is not null and not exists (
    select from gmsi.topics t where t.topic = refuse_unknown.topic
    union all select from gmsi.series s where s.feed = 'gmsi-headlines' and s.topic = refuse_unknown.topic) then
    raise exception 'unknown topic: %', refuse_unknown.topic using errcode = 'no_data_found', hint = 'gmsi.topics lists them.';
  elsif refuse_unknown.match_type is null or exists (select from gmsi.series s where s.feed = 'gmsi-headlines')
    and not exists (select from gmsi.series s where s.feed = 'gmsi-headlines' and s.match_type = refuse_unknown.match_type) then
    raise exception 'nothing was loaded with match_type %', coalesce(refuse_unknown.match_type, 'null') using errcode = 'no_data_found';
  end if;
end $$;
comment on function gmsi.refuse_unknown(text, text, text) is 'Fails for a country or topic that is neither in gmsi.countries or gmsi.topics nor loaded, and for a match type of no series: such a name is probably misspelt. A country or topic that is null stands for all of them.';

-- PL/pgSQL keeps its plan for the session: a plan over all months takes long to make, and each call opens only the months it needs.
-- No merge joins: their estimated cost is low if they sort by one column of several, and they then compare all rows of a country.
create or replace function gmsi.signals(
  moments timestamptz[], country text default null, topic text default null, match_type text default 'COMBINED',
  over interval default null, sentiment_type text default 'directional', assume_backfilled boolean default true,
  rounding text default 'second, some on the hour', half_life interval default null,
  least_probability double precision default null, of_stories boolean default false, model_version text default null
) returns setof gmsi.signal
  language plpgsql stable parallel safe rows 100 set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_generic_plan set jit = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  asked_at timestamptz[];
  asked_since timestamptz[];
  begins timestamptz;
  ends timestamptz;
  longest interval;
  countries text[] := array[country];
  topics text[] := array[topic];
begin
  if exists (select from unnest(moments) as m where m is null) or moments is null then
    raise exception 'a moment is null' using errcode = 'null_value_not_allowed';
  elsif over <= interval '0' then
    raise exception 'over is not positive: %', over using errcode = 'invalid_parameter_value';
  elsif half_life <= interval '0' then
    raise exception 'half_life is not positive: %', half_life using errcode = 'invalid_parameter_value';
  elsif coalesce(signals.sentiment_type not in ('directional', 'semantic_sentiment'), true) then
    raise exception 'sentiment_type is neither directional nor semantic_sentiment: %', coalesce(signals.sentiment_type, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  -- Adds and subtracts in UTC, so that a day has 24 hours in every time zone of a session.
  select array_agg(a.moment order by a.moment), array_agg(a.since order by a.moment), min(a.since), max(a.moment),
         make_interval(secs => extract(epoch from max(a.moment - a.since))::float8)
  into asked_at, asked_since, begins, ends, longest
  from (
    select m.moment, coalesce((m.moment at time zone 'UTC' - over) at time zone 'UTC', lag(m.moment) over (order by m.moment),
                              m.moment - interval '24 hours') as since
    from (select distinct unnest(moments) as moment) as m
  ) as a;
  -- A misspelt rounding fails even if there are no headlines.
  perform gmsi.published_by(ends, rounding), gmsi.refuse_future(ends),
          gmsi.refuse_unknown(signals.country, signals.topic, signals.match_type);
  -- As lists, so that the key of the headlines finds one series, those of a topic, and all.
  if signals.country is null or signals.topic is null then
    select array_agg(distinct s.country), array_agg(distinct s.topic) into countries, topics from gmsi.series s
    where s.feed = 'gmsi-headlines' and s.match_type = signals.match_type
      and s.country = coalesce(signals.country, s.country) and s.topic = coalesce(signals.topic, s.topic);
  end if;

  return query
  with asked as materialized (
    select asked_at as moments, asked_since as since
  ), moments as materialized (
    select n, moments[n] as moment, since[n] as since, (moments[n] at time zone 'UTC')::date as today
    from asked cross join lateral generate_series(1, cardinality(moments)) as n
  ), of_series as materialized (
    select names.country, names.topic, s.series_id, s.first_day, s.covered, s.settling, s.partial, s.watch_here,
           -- From here on, headlines of before the watch count only from when they came.
           coalesce(s.watch_here, 'infinity') as begins_here
    from (
      select signals.country, signals.topic where signals.country is not null and signals.topic is not null
      union
      select s.country, s.topic from gmsi.series s
      where s.feed = 'gmsi-headlines' and s.match_type = signals.match_type and s.country = any(countries) and s.topic = any(topics)
    ) as names
    left join gmsi.series_states s
      on (s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant)
       = ('gmsi-headlines', names.country, names.topic, '', signals.match_type, '')
  ), facts as materialized (
    select f.* from gmsi.day_facts(array(select series_id from of_series),
      daterange((begins at time zone 'UTC')::date - 1, (ends at time zone 'UTC')::date, '[]')) as f
  ), lates as materialized (
    -- Moments at which a day that was over had not been read whole; also the last one before the moment.
    select distinct s.series_id, m.n
    from moments m
    join of_series s on m.moment >= s.begins_here
    cross join lateral generate_series(0, today - 1 - least((m.since at time zone 'UTC')::date, today - 1)) as earlier
    left join facts f on f.series_id = s.series_id and f.day = m.today - 1 - earlier
    where (f.whole_at <= m.moment) is not true
  ), versions as materialized (
    select v.* from unnest(topics) as t (topic)
    cross join lateral (
      -- Headlines that were not backfilled are known since this warehouse first stored them. Omits those that came over a year
      -- late, so that PostgreSQL does not have to read every month.
      select v.country, v.topic, v.published_at, v.headline_id, v.headline, v.directional_score, v.semantic_score, v.topic_probability,
             v.model_version, v.first_seen_at, greatest(coalesce(v.moved_from, v.published_at), v.first_seen_at) as entered_at, v.usable_from,
             v.usable_from as held_from, v.usable_to, false as is_backfilled
      from gmsi.headlines_point_in_time v
      where v.country = any(countries) and v.topic = t.topic and v.match_type = signals.match_type
        and not v.is_backfilled and v.published_at <= ends
        and v.first_seen_at <= v.published_at + interval '8784 hours'
        and v.published_at > begins - interval '8784 hours'
        and greatest(coalesce(v.moved_from, v.published_at), v.first_seen_at) > begins and greatest(coalesce(v.moved_from, v.published_at), v.first_seen_at) <= ends
      union all
      -- Backfilled headlines are assumed to be known since they were published. The bounds of published_at choose partitions: a day for
      -- times that are rounded by the day, and one for a headline that moved.
      select v.country, v.topic, v.published_at, v.headline_id, v.headline, v.directional_score, v.semantic_score, v.topic_probability,
             v.model_version, v.first_seen_at, gmsi.published_by(coalesce(v.moved_from, v.published_at), rounding),
             -- A version that a repair has completed counts instead of the one before it.
             case when not v.is_first then v.usable_from when v.assumed_from is null then 'infinity' else '-infinity' end,
             v.usable_from, v.usable_to, true
      from gmsi.headlines_point_in_time v
      where v.country = any(countries) and v.topic = t.topic and v.match_type = signals.match_type
        and v.is_backfilled and v.published_at <= ends and v.published_at > begins - interval '48 hours'
        and gmsi.published_by(coalesce(v.moved_from, v.published_at), rounding) > begins and gmsi.published_by(coalesce(v.moved_from, v.published_at), rounding) <= ends
      -- Topic by topic: of two lists, an index may use only the first.
      offset 0
    ) as v
  ), met as (
    select v.*, s.begins_here, nth.n, a.moments[nth.n] as moment, a.since[nth.n] as since
    from versions v
    join of_series s on s.country = v.country and s.topic = v.topic
    cross join asked a
    -- From the first moment at which the headline was known, to the last whose time before it reaches back so far.
    cross join lateral (select v.entered_at - interval '1 microsecond' as at) as before
    cross join lateral (select width_bucket(before.at, a.moments) + 1 as first) as reached
    cross join lateral generate_series(
      reached.first, case when over is null then reached.first else width_bucket(before.at + longest, a.moments) end) as nth (n)
    -- Otherwise the lists of moments are sorted with each headline.
    offset 0
  ), known as (
    select m.country, m.topic, m.n, m.published_at, m.headline_id, m.first_seen_at <= m.moment as was_held, c.score, c.probability,
           case when half_life is null then 1 else
             power(0.5, extract(epoch from m.moment - m.entered_at)::float8 / extract(epoch from half_life)::float8) end as weight,
           not of_stories or 1 = row_number() over (
             partition by m.n, m.country, m.topic, case when of_stories then coalesce(gmsi.story_key(m.headline), m.headline_id) end
             order by c.score is null, m.entered_at, m.published_at, m.headline_id) as counts
    from met m
    cross join lateral (
      select coalesce(gmsi.summable(m.topic_probability), 0) as probability,
             case when not m.is_backfilled or assume_backfilled or m.moment >= m.begins_here then gmsi.summable(case signals.sentiment_type
               when 'directional' then m.directional_score else m.semantic_score end) end as score
    ) as c
    where m.entered_at > m.since and m.published_at <= m.moment
      and case when m.moment >= m.begins_here then m.held_from else m.usable_from end <= m.moment
      and (m.usable_to is null or m.usable_to > m.moment) and (least_probability is null or c.probability >= least_probability)
      and (signals.model_version is null or m.model_version = signals.model_version)
  ), sums as materialized (
    select o.country, o.topic, o.n, count(o.score)::int as headline_count, (count(o.score) filter (where o.was_held))::int as witnessed_count,
           sum(o.score * o.weight) as sentiment_sum, sum(abs(o.score) * o.weight) as sentiment_abs_sum,
           stddev_pop(o.score) as sentiment_std,
           sum(o.score * o.weight) / nullif(sum(o.weight) filter (where o.score is not null), 0) as sentiment_mean,
           sum(o.score * o.probability * o.weight)
             / nullif(sum(o.probability * o.weight) filter (where o.score is not null), 0) as weighted_mean
    -- Always in the same order: otherwise sums of the same numbers differ in their last digits.
    from (select * from known where counts order by country, topic, n, published_at, headline_id) as o
    group by o.country, o.topic, o.n
  )
  select s.country, s.topic, signals.match_type, m.moment,
         case when s.first_day is null and o.n is null then 'series not loaded'
              else gmsi.known_state(
                daterange(least((m.since at time zone 'UTC')::date, m.today), ((m.moment - interval '1 microsecond') at time zone 'UTC')::date, '[]'),
                m.moment, s.watch_here, coalesce(s.covered, '{}'), coalesce(s.settling, '{}'), coalesce(s.partial, '{}'),
                o.n is not null, l.n is not null, assume_backfilled) end,
         coalesce(o.headline_count, 0), coalesce(o.witnessed_count, 0), coalesce(o.sentiment_sum, 0),
         coalesce(o.sentiment_abs_sum, 0), o.sentiment_std, o.sentiment_mean, o.weighted_mean
  from moments m
  cross join of_series s
  left join sums o on o.country = s.country and o.topic = s.topic and o.n = m.n
  left join lates l on l.series_id = s.series_id and l.n = m.n
  order by 1, 2, 4;
end $$;
comment on function gmsi.signals(timestamptz[], text, text, text, interval, text, boolean, text, interval, double precision, boolean, text) is 'Sums over the headlines of a country and topic (feed gmsi-headlines; all that are loaded, if null) that became known in the time "over" before each moment: after moment - over, up to and including moment. One row for each series and distinct moment. Without "over", the time since the moment before it (for the first one, 24 hours), so that each headline counts once. Each headline counts in the version that this warehouse held at the moment; headlines that were retracted by then do not count. A headline became known when it was published and stored in this warehouse; one that was stored over a year (8,784 hours) late never counts. Of headlines that were loaded before the desk began to watch (is_backfilled), it is not known when they came: they count from their publication, gmsi.published_by(published_at, rounding), or with assume_backfilled => false, not at all. half_life: a headline weighs half as much for each half_life that has passed since it became known; the count and sentiment_std are not weighted. least_probability: only headlines with at least this topic_probability. model_version: only headlines that had been scored with this version of the model by the moment, and with no later one. of_stories: of the headlines of a moment with the same gmsi.story_key, only the one that became known first, of those with a score. headline_count is the number of headlines with a score, witnessed_count how many of them the warehouse held at the moment. Sums and means are as in gmsi.sentiment_daily. Without headlines, headline_count is 0, the means are null, and state says why. state (gmsi.known_state): covered, settling: the days were watched (gmsi.watched), so the answer rests on what the warehouse had at the moment; what was published after its last load before the moment was not known yet. late: days that were over at the moment were completely loaded only after it. assumed: some headlines or days were loaded later, so the answer rests on the assumption. backfilled: the same, but such headlines do not count. partial, not loaded: how completely the days are loaded now. series not loaded: never requested. Fails for a moment of the future and for names that are unknown (gmsi.refuse_unknown). For a moment longer ago than gmsi.as_of_delay(), counts, sums and means never change, except those that are assumed: a later load may add backfilled headlines, or a repair may complete some. The exception is gmsi import --known-at, which writes rows as of a past moment (gmsi.loads.reason keeps it), but not before one that has a name (gmsi.moments).';

-- The closes of gmsi.markets, with those of gmsi.closes in their place.
create or replace view gmsi.market_closes as
  select market, day, at from gmsi.closes where at is not null
  union all
  select m.market, d.day, (d.day + d.closes) at time zone m.zone
  from gmsi.markets m
  cross join lateral (
    select each.day::date, m.usual_closes[width_bucket(each.day::date, m.usual_since)]
    from generate_series(m.known_from::timestamp, m.known_to::timestamp, interval '1 day') as each (day)
    where extract(isodow from each.day)::integer = any(m.weekdays) and each.day::date <> all(m.holidays)
      and each.day::date <> all(m.other_days)
    union all
    select * from unnest(m.other_days, m.other_closes)
  ) as d (day, closes)
  where not exists (select from gmsi.closes c where c.market = m.market and c.day = d.day);

-- No merge joins, as for gmsi.signals.
create or replace function gmsi.sentiment_daily_as_known(
  from_day date default null, to_day date default null, country text default null, topic text default null,
  match_type text default 'COMBINED', delay interval default '0', market text default null, assume_backfilled boolean default true,
  rounding text default 'second, some on the hour'
) returns setof gmsi.sentiment_day_as_known
  -- A plan of its own for each call, so that the countries, the topics and the times are constants.
  language plpgsql stable parallel safe rows 100000 set search_path = pg_catalog, pg_temp set plan_cache_mode = force_custom_plan
  set jit = off set enable_mergejoin = off as $$
#variable_conflict use_column
declare
  is_panel constant boolean := country is null or topic is null;
  days date[];
  beginnings timestamptz[];
  ends timestamptz[];
  known timestamptz[];
  first_time timestamptz;
  last_time timestamptz;
  countries text[];
  topics text[];
begin
  if coalesce(delay < interval '0', true) then
    raise exception 'delay is null or negative: %', coalesce(delay::text, 'null') using errcode = 'invalid_parameter_value';
  elsif market is not null and not exists (select from gmsi.market_closes c where c.market = sentiment_daily_as_known.market) then
    raise exception 'unknown market: %', market using errcode = 'no_data_found', hint = 'gmsi.markets lists them.';
  end if;
  perform gmsi.published_by(now(), rounding), gmsi.refuse_days(from_day, to_day),
          gmsi.refuse_unknown(sentiment_daily_as_known.country, sentiment_daily_as_known.topic, sentiment_daily_as_known.match_type);

  -- A day is the time after its beginning, up to and including its end. Adds in UTC, so that a day has 24 hours.
  select array_agg(b.day order by b.day), array_agg(b.begins order by b.day), array_agg(b.ends order by b.day),
         array_agg(k.known_at order by b.day), min(b.begins), max(b.ends), min(countries), min(topics)
  into days, beginnings, ends, known, first_time, last_time, countries, topics
  from (
    select min(first_day) as first_day, max(last_day) as last_day, array_agg(distinct s.country) as countries,
           array_agg(distinct s.topic) as topics
    from gmsi.series_states s
    where s.feed = 'gmsi-headlines' and s.match_type = sentiment_daily_as_known.match_type
      and s.country = coalesce(sentiment_daily_as_known.country, s.country) and s.topic = coalesce(sentiment_daily_as_known.topic, s.topic)
  ) as loaded
  cross join lateral (
    select d::date as day, (d - interval '1 microsecond') at time zone 'UTC' as begins,
           (d + interval '1 day' - interval '1 microsecond') at time zone 'UTC' as ends, d + interval '1 day' as closes
    from generate_series(greatest(from_day, first_day)::timestamp, least(to_day, last_day)::timestamp, interval '1 day') as d
    where market is null
    union all
    select c.day, c.begins, c.at, c.at at time zone 'UTC'
    from (select c.day, c.at, lag(c.at) over (order by c.at) as begins from gmsi.market_closes c
          where c.market = sentiment_daily_as_known.market) as c
    where c.begins is not null and c.day between greatest(from_day, first_day) and least(to_day, last_day)
  ) as b
  cross join lateral (select (b.closes + delay) at time zone 'UTC' as known_at) as k
  where k.known_at < now();

  return query
  with bins as materialized (
    select b.*, daterange(((b.begins + interval '1 microsecond') at time zone 'UTC')::date, (b.ends at time zone 'UTC')::date, '[]') as utc_days,
           (b.known_at at time zone 'UTC')::date as today
    from unnest(days, beginnings, ends, known) with ordinality as b (day, begins, ends, known_at, n)
  ), asked as materialized (
    select s.*, s.partial + coalesce((select range_agg(w.days) from gmsi.queue w where w.series_id = s.series_id), '{}') as requested,
           row_number() over (order by s.country, s.topic) as place
    from gmsi.series_states s
    where s.feed = 'gmsi-headlines' and s.match_type = sentiment_daily_as_known.match_type
      and s.country = any(countries) and s.topic = any(topics)
  ), facts as materialized (
    select f.* from gmsi.day_facts(array(select series_id from asked), (select daterange(min(lower(utc_days)), max(upper(utc_days))) from bins)) as f
  ), lates as materialized (
    select distinct a.series_id, b.n
    from asked a join bins b on b.known_at >= a.watch_here
    cross join lateral generate_series(0, least(upper(b.utc_days), b.today) - 1 - lower(b.utc_days)) as later
    left join facts f on f.series_id = a.series_id and f.day = lower(b.utc_days) + later
    where (f.whole_at <= b.known_at) is not true
  ), versions as materialized (
    select v.country, v.topic, v.published_at, v.headline_id, v.directional_score, v.semantic_score, v.topic_probability, v.first_seen_at,
           v.is_backfilled, v.is_backfilled and v.is_first as is_assumed, v.assumed_from, v.usable_from, v.usable_to,
           width_bucket(v.published_at - interval '1 microsecond', beginnings) as n
    from gmsi.headlines_point_in_time v
    where v.match_type = sentiment_daily_as_known.match_type and v.country = any(countries) and v.topic = any(topics)
      and v.published_at > first_time and v.published_at <= last_time
  ), sums as materialized (
    select o.series_id, o.n, (count(*) filter (where o.counts))::int as all_count,
           (count(*) filter (where o.counts and o.was_held))::int as witnessed_count,
           count(o.directional)::int as directional_count, sum(o.directional) as directional_sum,
           sum(o.probability) filter (where o.directional is not null) as directional_probability_sum,
           sum(o.directional * o.probability) as directional_weighted_sum,
           count(o.semantic)::int as semantic_count, sum(o.semantic) as semantic_sum,
           sum(o.probability) filter (where o.semantic is not null) as semantic_probability_sum,
           sum(o.semantic * o.probability) as semantic_weighted_sum
    from (
      select a.series_id, b.n, c.counts, v.first_seen_at <= b.known_at as was_held,
             case when counts then gmsi.summable(v.directional_score) end as directional,
             case when counts then gmsi.summable(v.semantic_score) end as semantic,
             coalesce(gmsi.summable(v.topic_probability), 0) as probability
      from versions v
      join bins b on b.n = v.n
      join asked a on a.country = v.country and a.topic = v.topic
      cross join lateral (select b.known_at >= coalesce(a.watch_here, 'infinity') as is_watched) as w
      cross join lateral (select not v.is_backfilled or assume_backfilled or w.is_watched as counts) as c
      where case when v.is_assumed and not w.is_watched
              then v.assumed_from is not null and gmsi.published_by(v.published_at, rounding) <= b.known_at
              else v.usable_from <= b.known_at end
        and (v.usable_to is null or v.usable_to > b.known_at)
      -- Always in the same order: otherwise sums of the same numbers differ in their last digits.
      order by a.series_id, b.n, v.published_at, v.headline_id
    ) as o
    group by o.series_id, o.n
  )
  select a.country, a.topic, a.match_type, b.day, b.known_at, rests_on.state, c.all_count, c.witnessed_count,
         c.directional_count, c.directional_sum, s.directional_sum / nullif(s.directional_count, 0), c.directional_probability_sum,
         c.directional_weighted_sum, c.semantic_count, c.semantic_sum, s.semantic_sum / nullif(s.semantic_count, 0),
         c.semantic_probability_sum, c.semantic_weighted_sum
  from asked a
  join bins b on b.day between a.first_day and a.last_day
  left join sums s on s.series_id = a.series_id and s.n = b.n
  left join lates l on l.series_id = a.series_id and l.n = b.n
  cross join lateral (
    select gmsi.known_state(b.utc_days, b.known_at, a.watch_here, a.covered, a.settling, a.partial, s.n is not null, l.n is not null,
                            assume_backfilled) as state
  ) as rests_on
  left join lateral (
    select coalesce(s.all_count, 0) as all_count, coalesce(s.witnessed_count, 0) as witnessed_count,
           coalesce(s.directional_count, 0) as directional_count, coalesce(s.directional_sum, 0) as directional_sum,
           coalesce(s.directional_probability_sum, 0) as directional_probability_sum,
           coalesce(s.directional_weighted_sum, 0) as directional_weighted_sum, coalesce(s.semantic_count, 0) as semantic_count,
           coalesce(s.semantic_sum, 0) as semantic_sum, coalesce(s.semantic_probability_sum, 0) as semantic_probability_sum,
           coalesce(s.semantic_weighted_sum, 0) as semantic_weighted_sum
  ) as c on rests_on.state <> 'not loaded'
  -- A series that is asked for by name has all its days, so that none is missing unnoticed.
  where not is_panel or a.requested && b.utc_days or s.n is not null
  order by a.place, b.n;
end $$;
comment on function gmsi.sentiment_daily_as_known(date, date, text, text, text, interval, text, boolean, text) is 'Each day of each series as it was known a delay after its end, for back-tests: gmsi.sentiment_by_day shows the days as they are now, with what came and changed later. Without a country or topic, of all of them, and then without days that nobody requested and of which nothing is loaded. A headline belongs to the day of its publication, in the version that was known then. Without a market, days are days in UTC. With one, a day ends with its close (gmsi.market_closes) and begins after the close before it; days without a close have no row. state is as in gmsi.signals: assumed, if headlines or days were loaded later, and it is assumed that they were known from publication; with assume_backfilled => false they do not count. Days that are not that long ago have no row. Fails for days of the future and for names that are unknown (gmsi.refuse_unknown). witnessed_count is how many of all_count the warehouse held by then. The other columns are as in gmsi.sentiment_by_day.';

-- Which headlines tell a story first, and how often it was told before, without look-ahead.
create or replace function gmsi.novelty(
  from_day date, to_day date, country text, topic text, match_type text default 'COMBINED', lookback interval default '90 days'
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
  begins_here timestamptz := (
    select s.watch_here from gmsi.series_states s
    where (s.feed, s.country, s.topic, s.ticker, s.match_type, s.variant)
        = ('gmsi-headlines', novelty.country, novelty.topic, '', novelty.match_type, ''));
begin
  if coalesce(lookback <= interval '0', true) then
    raise exception 'lookback is not positive: %', coalesce(lookback::text, 'null') using errcode = 'invalid_parameter_value';
  elsif num_nulls(from_day, to_day, novelty.country, novelty.topic) > 0 then
    raise exception 'a day, the country or the topic is null' using errcode = 'null_value_not_allowed';
  end if;
  perform gmsi.refuse_days(from_day, to_day), gmsi.refuse_unknown(novelty.country, novelty.topic, novelty.match_type);
  return query
  with told as materialized (
    select v.entered_at, v.published_at, v.headline_id, v.headline, v.source, v.directional_score, v.semantic_score, v.is_backfilled,
           coalesce(gmsi.story_key(v.headline), v.headline_id) as story, v.first_seen_at
    from gmsi.headlines_point_in_time v
    where v.country = novelty.country and v.topic = novelty.topic and v.match_type = novelty.match_type
      and v.is_first and v.reason is distinct from 'read again'
      -- The bounds of published_at choose partitions.
      and v.published_at > since - interval '8784 hours' and v.published_at < ends
      and v.entered_at >= since and v.entered_at < ends
  ), so_far as (
    select k.headline_id, k.published_at, min(o.entered_at) as first_told_at, count(*)::int as tellings
    from told k join told o on o.story = k.story and o.entered_at between k.entered_at - lookback and k.entered_at
      -- Since the watch began, headlines of before it count only from when they came.
      and (not o.is_backfilled or (k.entered_at >= begins_here) is not true or o.first_seen_at <= k.entered_at)
    where k.entered_at >= begins
    group by 1, 2
  )
  select t.entered_at, t.published_at, t.headline_id, t.headline, t.source, t.directional_score, t.semantic_score, t.is_backfilled,
         t.story, s.first_told_at, extract(epoch from t.entered_at - s.first_told_at)::float8 / 86400, s.tellings
  from told t join so_far s using (headline_id, published_at)
  order by 1, 2, 3;
end $$;
comment on function gmsi.novelty(date, date, text, text, text, interval) is 'The headlines of a country and topic that became known on some days (UTC), each in its first version, with what was known of its story by then: when the same story (gmsi.story_key) was first told within the lookback before it, how many days before (0 for the first), and how many tellings there were so far, its own and those of the same moment included. What came later does not matter, so a back-test may use it. Headlines that came over a year (8,784 hours) late are omitted.';
