-- Replay: records and rows are read again without a request.

-- Rejected records are replayed in the order in which they came.
create index rejected_records_by_age on gmsi.rejected_records (feed, rejected_at, record_hash);
comment on column gmsi.rejected_records.reason is 'Why it could not be read, when it was last tried.';
comment on column gmsi.loads.command is 'backfill, sync or replay.';
comment on column gmsi.loads.job is 'Name of the job file, without its ending; empty for a replay of a whole feed.';

-- A version that only this program's reading replaced must not look like one that the service changed.
alter table gmsi.headline_revisions drop constraint headline_revisions_reason_check,
  add constraint headline_revisions_reason_check
    check (reason in ('rescored', 'text changed', 'retracted', 'returned', 'read again', 'other'));
comment on column gmsi.headline_revisions.reason is 'Why it was replaced: rescored, text changed, retracted, returned (after having been retracted), read again (a replay filled columns from extra; the service changed nothing), or other (url or extra).';
alter table gmsi.revisions add column reason text not null default 'changed' check (reason in ('changed', 'read again'));
comment on column gmsi.revisions.reason is 'Why it was replaced: changed (by the service), or read again (a replay filled columns from extra; the service changed nothing).';

create or replace function gmsi.keep_headline_revisions() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  is_read_again boolean := current_setting('gmsi.reading_again', true) = 'on';
begin
  insert into gmsi.headline_revisions
  select o.headline_id, o.country, o.topic, o.match_type, o.published_at, o.headline, o.language, o.source, o.url,
         o.topic_probability, o.directional_positive, o.directional_neutral, o.directional_negative,
         o.directional_score, o.semantic_positive, o.semantic_neutral, o.semantic_negative, o.semantic_score,
         o.extra, o.first_seen_at, o.changed_at, n.changed_at, o.retracted_at, o.is_backfilled, o.load_id,
         case
           when is_read_again then 'read again'
           when o.retracted_at is null and n.retracted_at is not null then 'retracted'
           when o.retracted_at is not null and n.retracted_at is null then 'returned'
           when (o.headline, o.language, o.source) is distinct from (n.headline, n.language, n.source)
             then 'text changed'
           when (o.topic_probability, o.directional_positive, o.directional_neutral, o.directional_negative,
                 o.directional_score, o.semantic_positive, o.semantic_neutral, o.semantic_negative, o.semantic_score)
             is distinct from
                (n.topic_probability, n.directional_positive, n.directional_neutral, n.directional_negative,
                 n.directional_score, n.semantic_positive, n.semantic_neutral, n.semantic_negative, n.semantic_score)
             then 'rescored'
           else 'other'
         end
  from old_rows o
  join new_rows n using (country, topic, match_type, published_at, headline_id)
  where n.changed_at > o.changed_at;
  return null;
end $$;

create or replace function gmsi.keep_row_revisions() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  id text := tg_argv[0];
  key text := (select string_agg(format('%I', a), ', ') from unnest(tg_argv[1:]) as a);
  reason text := case when current_setting('gmsi.reading_again', true) = 'on' then 'read again' else 'changed' end;
begin
  execute format(
    'insert into gmsi.revisions (table_name, row_id, series, version, known_from, known_to, reason)
     select %L, o.%I, (select jsonb_object_agg(k, to_jsonb(o) -> k) from unnest(%L::text[]) as k), to_jsonb(o), o.changed_at, n.changed_at, %L
     from old_rows o join new_rows n using (%s, %I) where n.changed_at > o.changed_at',
    tg_table_name, id, tg_argv[1:], reason, key, id);
  return null;
end $$;
