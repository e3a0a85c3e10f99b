-- No SQL of the schema looks names up when it runs: whoever may create functions or operators in a schema of the reader's search_path
-- could have them called with the reader's rights. A path of the function's own would keep PostgreSQL from inlining it.

create or replace function gmsi.series_days(feed text, country text, topic text, ticker text, match_type text, variant text)
  returns table (first_day date, last_day date, covered datemultirange, settling datemultirange, partial datemultirange)
  language sql stable parallel safe rows 1
begin atomic
  select least(lower(asked.covered), asked.first_day), greatest(upper(asked.covered) - 1, asked.last_day),
         coalesce(asked.covered, '{}'), coalesce(asked.settling, '{}'), coalesce(asked.partial, '{}')
  from (
    select min(w.first_day) as first_day, max(w.last_day) as last_day,
           range_agg(w.days) filter (where w.state = 'drained' and w.last_day >= w.first_unsettled) as settling,
           range_agg(w.days) filter (where w.state <> 'drained' and (w.state = 'draining' or w.pages > 0 or w.is_compared)) as partial,
           (select c.days from gmsi.coverage c
            where c.feed = series_days.feed and c.country = series_days.country and c.topic = series_days.topic
              and c.ticker = series_days.ticker and c.match_type = series_days.match_type and c.variant = series_days.variant) as covered
    from gmsi.windows w
    where w.feed = series_days.feed and w.country = series_days.country and w.topic = series_days.topic
      and w.ticker = series_days.ticker and w.match_type = series_days.match_type and w.variant = series_days.variant
  ) as asked;
end;

create or replace function gmsi.signal_at(
  moment timestamptz, country text, topic text, over interval default '1 day', match_type text default 'COMBINED',
  sentiment_type text default 'directional', assume_backfilled boolean default true,
  rounding text default 'second, some on the hour'
) returns table (
  state text, headline_count integer, witnessed_count integer, sentiment_sum double precision,
  sentiment_abs_sum double precision, sentiment_std double precision, sentiment_mean double precision,
  weighted_mean double precision)
  language sql stable parallel safe rows 1
begin atomic
  select s.state, s.headline_count, s.witnessed_count, s.sentiment_sum, s.sentiment_abs_sum, s.sentiment_std, s.sentiment_mean,
         s.weighted_mean
  from gmsi.signals(array[moment], country, topic, over, match_type, sentiment_type, assume_backfilled, rounding) as s;
end;

do $$
declare
  define text := pg_catalog.pg_get_functiondef('gmsi.define_headline_versions()'::regprocedure);
  held record;
  body text;
  part text[];
begin
  foreach part slice 1 in array array[
    ['rows 100000 as $query$', 'rows 100000 begin atomic'],
    ['r.known_to > moment
      $query$', 'r.known_to > moment;
      end']
  ] loop
    if strpos(define, part[1]) = 0 then raise exception 'gmsi.define_headline_versions has no %', part[1]; end if;
    define := replace(define, part[1], part[2]);
  end loop;
  execute define;
  perform gmsi.define_headline_versions();

  -- The other as-of functions stay texts, because a parsed "*" would lack the columns that a migration or a user adds later. So each
  -- name in them has its schema.
  for held in
    select p.oid::regprocedure as name, pg_catalog.pg_get_functiondef(p.oid) as body from pg_catalog.pg_proc p
    where p.pronamespace = 'gmsi'::regnamespace and pg_has_role(p.proowner, 'usage')
      and (p.proname = 'complete_feed_table'
        -- Not one that a user has added.
        or p.prosqlbody is null and p.proname ~ '_as_of$' and to_regclass('gmsi.' || left(p.proname, -6)) is not null)
  loop
    body := held.body;
    foreach part slice 1 in array array[
      ['changed_at <= moment', 'changed_at operator(pg_catalog.<=) moment'],
      ['lateral jsonb_populate_record(', 'lateral pg_catalog.jsonb_populate_record('],
      ['r.table_name = ', 'r.table_name operator(pg_catalog.=) '],
      ['r.known_from <= moment', 'r.known_from operator(pg_catalog.<=) moment'],
      ['r.known_to > moment', 'r.known_to operator(pg_catalog.>) moment']
    ] loop
      if strpos(body, part[1]) = 0 then raise exception '% has no %', held.name, part[1]; end if;
      body := replace(body, part[1], part[2]);
    end loop;
    execute body;
  end loop;
end $$;
