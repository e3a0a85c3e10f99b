-- Whether a row is backfilled depends on what the warehouse had loaded before, no longer on the command that loaded the row.

alter table gmsi.coverage add column watched datemultirange not null default '{}';
comment on column gmsi.coverage.watched is 'Days (UTC) of which a window was drained to its end at least once, settled or not. With the covered days, those of which a row that comes later was not there then.';
insert into gmsi.coverage as kept (feed, country, topic, ticker, match_type, variant, days, watched)
select feed, country, topic, ticker, match_type, variant, '{}', range_agg(days) from gmsi.windows
where state = 'drained' group by 1, 2, 3, 4, 5, 6
on conflict (feed, country, topic, ticker, match_type, variant) do update set watched = excluded.watched;

do $$
declare
  held record;
begin
  for held in
    select attrelid::regclass as relation from pg_catalog.pg_attribute
    join pg_catalog.pg_class c on c.oid = attrelid
    where c.relnamespace = 'gmsi'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and attname = 'is_backfilled' and not attisdropped and pg_has_role(c.relowner, 'usage')
  loop
    execute format('comment on column %s.is_backfilled is %L', held.relation,
      'True if the row came with the first complete load of its day, which was settled by then: nobody had watched before, so first_seen_at does not show when the service published it. A row that came later counts from first_seen_at.');
  end loop;
end $$;
comment on column gmsi.headlines_point_in_time.is_backfilled is 'True if the headline came with the first complete load of its day, which was settled by then, so that it is not known when it appeared, or with which scores.';
