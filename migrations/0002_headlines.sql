-- The headlines, their revisions, and how partitions are made.

create table gmsi.headlines (
  headline_id uuid not null,
  country text not null,
  topic text not null,
  match_type text not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  topic_probability double precision,
  directional_positive double precision,
  directional_neutral double precision,
  directional_negative double precision,
  directional_score double precision,
  semantic_positive double precision,
  semantic_neutral double precision,
  semantic_negative double precision,
  semantic_score double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  -- Holds country and the partition column, so that the table could be distributed by country as it is.
  primary key (country, topic, match_type, published_at, headline_id)
) partition by range (published_at);
comment on table gmsi.headlines is 'One row per headline, country, topic and match type asked for: its current version. Partitioned by month of published_at.';
comment on column gmsi.headlines.headline_id is 'Identity: the service''s own id if a record has one, else a hash of publication time, text, source and language, else of all its content. The same headline has the same id under every country and topic.';
comment on column gmsi.headlines.country is 'Country that was asked for.';
comment on column gmsi.headlines.topic is 'Topic that was asked for.';
comment on column gmsi.headlines.match_type is 'Match type that was asked for: COMBINED, DOMESTIC or INTERNATIONAL. A record''s own match type, if it carries one, is in extra.';
comment on column gmsi.headlines.published_at is 'Publication time; the service may round it to the hour. Times without a zone are read as UTC.';
comment on column gmsi.headlines.headline is 'Text of the headline.';
comment on column gmsi.headlines.language is 'Language of the headline.';
comment on column gmsi.headlines.source is 'Publisher.';
comment on column gmsi.headlines.url is 'Address of the article.';
comment on column gmsi.headlines.topic_probability is 'Probability (0 to 1) that the headline belongs to the topic.';
comment on column gmsi.headlines.directional_positive is 'Directional model: probability (0 to 1) of positive.';
comment on column gmsi.headlines.directional_neutral is 'Directional model: probability (0 to 1) of neutral.';
comment on column gmsi.headlines.directional_negative is 'Directional model: probability (0 to 1) of negative.';
comment on column gmsi.headlines.directional_score is 'Directional score (-1 to 1): as sent, else positive minus negative.';
comment on column gmsi.headlines.semantic_positive is 'Semantic model: probability (0 to 1) of positive.';
comment on column gmsi.headlines.semantic_neutral is 'Semantic model: probability (0 to 1) of neutral.';
comment on column gmsi.headlines.semantic_negative is 'Semantic model: probability (0 to 1) of negative.';
comment on column gmsi.headlines.semantic_score is 'Semantic score (-1 to 1): as sent, else positive minus negative.';
comment on column gmsi.headlines.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.headlines.first_seen_at is 'When this warehouse first held the headline.';
comment on column gmsi.headlines.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.headlines.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.headlines.is_backfilled is 'True if it was first loaded by a backfill, after the fact: first_seen_at then says nothing about when the service had it.';
comment on column gmsi.headlines.load_id is 'Load that wrote this version.';

create table gmsi.headline_revisions (
  headline_id uuid not null,
  country text not null,
  topic text not null,
  match_type text not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  topic_probability double precision,
  directional_positive double precision,
  directional_neutral double precision,
  directional_negative double precision,
  directional_score double precision,
  semantic_positive double precision,
  semantic_neutral double precision,
  semantic_negative double precision,
  semantic_score double precision,
  extra jsonb,
  first_seen_at timestamptz not null,
  known_from timestamptz not null,
  known_to timestamptz not null check (known_to > known_from),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  reason text not null check (reason in ('rescored', 'text changed', 'retracted', 'returned', 'other')),
  primary key (country, topic, match_type, published_at, headline_id, known_from)
);
comment on table gmsi.headline_revisions is 'Superseded versions of headlines: each stood in gmsi.headlines from known_from until known_to.';
comment on column gmsi.headline_revisions.headline_id is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.country is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.topic is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.match_type is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.published_at is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.headline is 'As it stood.';
comment on column gmsi.headline_revisions.language is 'As it stood.';
comment on column gmsi.headline_revisions.source is 'As it stood.';
comment on column gmsi.headline_revisions.url is 'As it stood.';
comment on column gmsi.headline_revisions.topic_probability is 'As it stood.';
comment on column gmsi.headline_revisions.directional_positive is 'As it stood.';
comment on column gmsi.headline_revisions.directional_neutral is 'As it stood.';
comment on column gmsi.headline_revisions.directional_negative is 'As it stood.';
comment on column gmsi.headline_revisions.directional_score is 'As it stood.';
comment on column gmsi.headline_revisions.semantic_positive is 'As it stood.';
comment on column gmsi.headline_revisions.semantic_neutral is 'As it stood.';
comment on column gmsi.headline_revisions.semantic_negative is 'As it stood.';
comment on column gmsi.headline_revisions.semantic_score is 'As it stood.';
comment on column gmsi.headline_revisions.extra is 'As it stood.';
comment on column gmsi.headline_revisions.first_seen_at is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.known_from is 'From when on the warehouse held this version (its changed_at).';
comment on column gmsi.headline_revisions.known_to is 'Until when: the changed_at of the version that replaced it.';
comment on column gmsi.headline_revisions.retracted_at is 'As it stood; set if this version was the headline while retracted.';
comment on column gmsi.headline_revisions.is_backfilled is 'As in gmsi.headlines.';
comment on column gmsi.headline_revisions.load_id is 'Load that wrote this version.';
comment on column gmsi.headline_revisions.reason is 'Why it was replaced: rescored, text changed, retracted, returned (after having been retracted), or other (url or extra).';

create function gmsi.keep_headline_revisions() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  insert into gmsi.headline_revisions
  select o.headline_id, o.country, o.topic, o.match_type, o.published_at, o.headline, o.language, o.source, o.url,
         o.topic_probability, o.directional_positive, o.directional_neutral, o.directional_negative,
         o.directional_score, o.semantic_positive, o.semantic_neutral, o.semantic_negative, o.semantic_score,
         o.extra, o.first_seen_at, o.changed_at, n.changed_at, o.retracted_at, o.is_backfilled, o.load_id,
         case
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
comment on function gmsi.keep_headline_revisions() is 'Keeps each version that an update of gmsi.headlines replaces. Statement-level: one call a page, whatever the number of rows.';

create trigger keep_revisions after update on gmsi.headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_headline_revisions();

create function gmsi.ensure_month_partition(parent text, month date) returns void
  language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  part text := format('%s_%s', parent, to_char(month, 'YYYY_MM'));
begin
  -- Read from the table itself: after the wait for the lock, to_regclass could answer from a stale cache.
  perform pg_advisory_xact_lock(hashtext('gmsi.ensure_month_partition'));
  if exists (select from pg_class where relnamespace = 'gmsi'::regnamespace and relname = part) then
    return;
  end if;
  -- Attached, not created as PARTITION OF: that would wait behind every load in flight, and they behind it.
  execute format('create table gmsi.%I (like gmsi.%I including all)', part, parent);
  execute format('alter table gmsi.%I attach partition gmsi.%I for values from (%L) to (%L)', parent, part,
                 to_char(month, 'YYYY-MM-01 "00:00:00+00"'),
                 to_char(month + interval '1 month', 'YYYY-MM-01 "00:00:00+00"'));
end $$;
-- It runs as its owner, so that a loading user need not own the tables; a reader must not be able to make tables by it.
revoke execute on function gmsi.ensure_month_partition(text, date) from public;
comment on function gmsi.ensure_month_partition(text, date) is 'Makes the partition of a table of the warehouse for a month, if there is none yet.';
