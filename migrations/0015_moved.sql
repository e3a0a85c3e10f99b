-- A headline of which the service corrects the publication time is one headline, not two.

alter table gmsi.headline_revisions drop constraint headline_revisions_reason_check, add constraint headline_revisions_reason_check
  check (reason in ('rescored', 'text changed', 'retracted', 'moved', 'returned', 'read again', 'other'));
comment on column gmsi.headline_revisions.reason is 'Why it was replaced: rescored, text changed, retracted, moved (the service now sends it with another publication time, so it has another row: see moved_from), returned (after a retraction), read again (a repair filled columns from extra; the service changed nothing), or other (another column).';

do $$
declare
  define text := pg_catalog.pg_get_functiondef('gmsi.define_headline_versions()'::regprocedure);
  part text[];
begin
  foreach part slice 1 in array array[
    -- One statement retracts the row with the old time and changes the one with the new time (src/warehouse/tables/retract.ts).
    ['n.retracted_at is not null then ''retracted''',
     'n.retracted_at is not null then case
                 when (n.country, n.topic, n.match_type, n.headline_id) in (
                   select m.country, m.topic, m.match_type, m.headline_id from new_rows m where m.retracted_at is null) then ''moved''
                 else ''retracted'' end'],
    ['gmsi.published_by(published_at) else greatest(published_at, first_seen_at) end as entered_at',
     'gmsi.published_by(coalesce(moved_from, published_at))
                  else greatest(coalesce(moved_from, published_at), first_seen_at) end as entered_at'],
    ['h.changed_at = h.first_seen_at or not exists', 'h.changed_at = h.first_seen_at or h.moved_from is null and not exists'],
    ['r.known_from = r.first_seen_at or not exists', 'r.known_from = r.first_seen_at or r.moved_from is null and not exists']
  ] loop
    if strpos(define, part[1]) = 0 then raise exception 'gmsi.define_headline_versions has no %', part[1]; end if;
    define := replace(define, part[1], part[2]);
  end loop;
  execute define;
end $$;

select gmsi.add_feed_column('headlines', 'moved_from', 'timestamptz', 'Publication time that this warehouse first had for the headline, if the service has corrected it since, by up to 24 hours; else null. Each time has a row: the row with the old time is retracted, and this one takes over its first_seen_at and is_backfilled.');
comment on column gmsi.headlines.first_seen_at is 'When this warehouse first stored the headline, with whatever publication time.';
comment on column gmsi.windows.rows_retracted is 'Rows that the service no longer returned, as found at the end of this drain, or that it returned with another publication time.';
comment on column gmsi.loads.rows_retracted is 'Rows that the service no longer returned, or returned with another publication time.';
comment on column gmsi.headlines.retracted_at is 'When a load found that the service no longer returns it, or returns it with another publication time; null while the service returns it.';
comment on column gmsi.headlines_point_in_time.moved_from is 'As in gmsi.headlines, in this version.';
comment on column gmsi.headlines_point_in_time.usable_to is 'When the next version replaced it, or when it was marked retracted, also because the headline moved to another publication time; null if it is the current version.';
comment on column gmsi.headlines_point_in_time.is_first is 'True for the first version of the headline that this warehouse held, and for a version that differs from it only because a repair filled columns. Never true after the headline moved to another publication time.';
comment on column gmsi.headlines_point_in_time.entered_at is 'When the headline became known; the same in all its versions. This is the later of its first publication time (moved_from, else published_at) and first_seen_at, or for a backfilled headline, its publication (gmsi.published_by). A back-test that counts, at each decision, the headlines that entered since the previous decision counts each headline once.';

drop index gmsi.headlines_witnessed;
create index headlines_witnessed on gmsi.headlines (country, topic, match_type, (greatest(coalesce(moved_from, published_at), first_seen_at)))
  where not is_backfilled;
drop index gmsi.headline_revisions_witnessed;
create index headline_revisions_witnessed
  on gmsi.headline_revisions (country, topic, match_type, (greatest(coalesce(moved_from, published_at), first_seen_at)))
  where not is_backfilled;
