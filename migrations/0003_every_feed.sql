-- Every feed of the service: series by ticker and by further parameters, and the feeds' tables.

alter table gmsi.windows add column ticker text not null default '', add column variant text not null default '';
alter table gmsi.coverage add column ticker text not null default '', add column variant text not null default '';
alter table gmsi.rejected_records add column ticker text not null default '', add column variant text not null default '',
  alter column window_id drop not null;
alter table gmsi.coverage drop constraint coverage_pkey,
  add primary key (feed, country, topic, ticker, match_type, variant);
alter table gmsi.rejected_records drop constraint rejected_records_pkey,
  add primary key (feed, country, topic, ticker, match_type, variant, record_hash);
drop index gmsi.windows_untouched, gmsi.windows_half_drained, gmsi.windows_series;
create index windows_untouched on gmsi.windows (feed, match_type, last_day, country, topic, ticker, variant)
  where state in ('pending', 'draining', 'failed') and next_token is null;
create index windows_half_drained on gmsi.windows (feed, match_type, last_day, country, topic, ticker, variant)
  where state in ('pending', 'draining', 'failed') and next_token is not null;
create index windows_series on gmsi.windows (feed, country, topic, ticker, match_type, variant, first_day);

comment on column gmsi.windows.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.windows.variant is 'Further parameters that make the series one of its own, as name=value&name=value; empty if there are none.';
comment on column gmsi.windows.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.windows.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.coverage.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.coverage.variant is 'Further parameters that make the series one of its own, as name=value&name=value; empty if there are none.';
comment on column gmsi.coverage.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.coverage.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.rejected_records.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.rejected_records.variant is 'Further parameters that make the series one of its own, as name=value&name=value; empty if there are none.';
comment on column gmsi.rejected_records.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.rejected_records.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.rejected_records.window_id is 'Window that brought it; null if it came by a live feed.';

create table gmsi.lookups (
  lookup text not null,
  code text not null,
  name text,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now(),
  primary key (lookup, code)
);
comment on table gmsi.lookups is 'The other lists that the service keeps: tickers (GET /ticker), sources (GET /sources) and languages (GET /taxonomy/languages), as of their last refresh.';
comment on column gmsi.lookups.lookup is 'tickers, sources or languages.';
comment on column gmsi.lookups.code is 'What a request names: the ticker, the source, the language code.';
comment on column gmsi.lookups.name is 'Name, if the service sends one.';
comment on column gmsi.lookups.extra is 'Every other field that the service sends for it.';
comment on column gmsi.lookups.listed is 'False once a refresh no longer lists it.';
comment on column gmsi.lookups.refreshed_at is 'The last refresh that listed it.';

create table gmsi.revisions (
  table_name text not null,
  row_id uuid not null,
  series jsonb not null,
  version jsonb not null,
  known_from timestamptz not null,
  known_to timestamptz not null check (known_to > known_from),
  primary key (table_name, series, row_id, known_from)
);
comment on table gmsi.revisions is 'Superseded versions of the rows of every feed''s table but gmsi.headlines, which has headline_revisions.';
comment on column gmsi.revisions.table_name is 'Table that the row stands in.';
comment on column gmsi.revisions.row_id is 'Its id there.';
comment on column gmsi.revisions.series is 'The columns that say which series it belongs to, and its time.';
comment on column gmsi.revisions.version is 'The whole row as it stood.';
comment on column gmsi.revisions.known_from is 'From when on the warehouse held this version.';
comment on column gmsi.revisions.known_to is 'Until when.';

-- Arguments of the trigger: the column with the row's id, then the columns of its key.
create function gmsi.keep_row_revisions() returns trigger
  language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  id text := tg_argv[0];
  key text := (select string_agg(format('%I', a), ', ') from unnest(tg_argv[1:]) as a);
begin
  execute format(
    'insert into gmsi.revisions (table_name, row_id, series, version, known_from, known_to)
     select %L, o.%I, (select jsonb_object_agg(k, to_jsonb(o) -> k) from unnest(%L::text[]) as k), to_jsonb(o), o.changed_at, n.changed_at
     from old_rows o join new_rows n using (%s, %I) where n.changed_at > o.changed_at',
    tg_table_name, id, tg_argv[1:], key, id);
  return null;
end $$;
comment on function gmsi.keep_row_revisions() is 'Keeps each version that an update of a feed''s table replaces.';

create table gmsi.ticker_headlines (
  ticker text not null,
  match_type text not null,
  variant text not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  ticker_name text,
  headline text,
  language text,
  source text,
  url text,
  topic text,
  topic_probability double precision,
  record_match_type text,
  sentiment_score double precision,
  bearish_probability double precision,
  neutral_probability double precision,
  bullish_probability double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  primary key (ticker, match_type, variant, published_at, headline_id)
) partition by range (published_at);
comment on table gmsi.ticker_headlines is 'One row per headline, ticker and match type asked for: its current version. Partitioned by month of published_at.';
comment on column gmsi.ticker_headlines.ticker is 'Ticker that was asked for.';
comment on column gmsi.ticker_headlines.match_type is 'Match type that was asked for: COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.variant is 'Further parameters that were asked with, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_headlines.headline_id is 'Identity, as in gmsi.headlines.';
comment on column gmsi.ticker_headlines.published_at is 'Publication time; without a zone read as UTC.';
comment on column gmsi.ticker_headlines.ticker_name is 'Name of the asset.';
comment on column gmsi.ticker_headlines.headline is 'Text of the headline, if the service sends it.';
comment on column gmsi.ticker_headlines.language is 'Language of the headline.';
comment on column gmsi.ticker_headlines.source is 'Publisher, if the service sends it.';
comment on column gmsi.ticker_headlines.url is 'Address of the article, if the service sends it.';
comment on column gmsi.ticker_headlines.topic is 'Topic that the headline was classified as.';
comment on column gmsi.ticker_headlines.topic_probability is 'Probability (0 to 1) of the topic.';
comment on column gmsi.ticker_headlines.record_match_type is 'How the headline mentions the asset, as the record says: EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_headlines.sentiment_score is 'Sentiment (-1 to 1): as sent, else bullish minus bearish.';
comment on column gmsi.ticker_headlines.bearish_probability is 'Probability (0 to 1) of bearish.';
comment on column gmsi.ticker_headlines.neutral_probability is 'Probability (0 to 1) of neutral.';
comment on column gmsi.ticker_headlines.bullish_probability is 'Probability (0 to 1) of bullish.';
comment on column gmsi.ticker_headlines.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.ticker_headlines.first_seen_at is 'When this warehouse first held the row.';
comment on column gmsi.ticker_headlines.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.ticker_headlines.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.ticker_headlines.is_backfilled is 'True if it was first loaded by a backfill, after the fact.';
comment on column gmsi.ticker_headlines.load_id is 'Load that wrote this version.';
create trigger keep_revisions after update on gmsi.ticker_headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('headline_id', 'ticker', 'match_type', 'variant', 'published_at');

create table gmsi.ticker_events (
  ticker text not null,
  variant text not null,
  event_id uuid not null,
  event_at timestamptz not null,
  event_name text,
  summary text,
  event_type text,
  direction text,
  impact text,
  topic text,
  extra jsonb,
  impact_number double precision generated always as (case when impact ~ '^[-+]?[0-9]*[.]?[0-9]+$' then impact::double precision end) stored,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  primary key (ticker, variant, event_at, event_id)
);
comment on table gmsi.ticker_events is 'One row per event of a ticker, as asked for: its current version.';
comment on column gmsi.ticker_events.ticker is 'Ticker that was asked for.';
comment on column gmsi.ticker_events.variant is 'Further parameters that were asked with, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_events.event_id is 'Identity: the services own id if there is one, else a hash of time, name, type and topic, else of all content.';
comment on column gmsi.ticker_events.event_at is 'Date of the event (event_date).';
comment on column gmsi.ticker_events.event_name is 'Name of the event.';
comment on column gmsi.ticker_events.summary is 'Summary.';
comment on column gmsi.ticker_events.event_type is 'Type, as the record says.';
comment on column gmsi.ticker_events.direction is 'Bullish or Bearish.';
comment on column gmsi.ticker_events.impact is 'Impact as sent: a number, or a word such as High.';
comment on column gmsi.ticker_events.topic is 'Topic.';
comment on column gmsi.ticker_events.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.ticker_events.first_seen_at is 'When this warehouse first held the row.';
comment on column gmsi.ticker_events.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.ticker_events.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.ticker_events.is_backfilled is 'True if it was first loaded by a backfill, after the fact.';
comment on column gmsi.ticker_events.load_id is 'Load that wrote this version.';
comment on column gmsi.ticker_events.impact_number is 'impact if it is a number.';
create trigger keep_revisions after update on gmsi.ticker_events
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('event_id', 'ticker', 'variant', 'event_at');

create table gmsi.ticker_event_headlines (
  ticker text not null,
  variant text not null,
  headline_id uuid not null,
  published_at timestamptz not null,
  headline text,
  language text,
  source text,
  url text,
  event_id text,
  event_name text,
  event_at timestamptz,
  event_type text,
  topic text,
  sentiment_score double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  primary key (ticker, variant, published_at, headline_id)
) partition by range (published_at);
comment on table gmsi.ticker_event_headlines is 'One row per headline behind an event of a ticker: its current version. Partitioned by month of published_at.';
comment on column gmsi.ticker_event_headlines.ticker is 'Ticker that was asked for.';
comment on column gmsi.ticker_event_headlines.variant is 'Further parameters that were asked with, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_event_headlines.headline_id is 'Identity, as in gmsi.headlines.';
comment on column gmsi.ticker_event_headlines.published_at is 'Publication time.';
comment on column gmsi.ticker_event_headlines.headline is 'Text of the headline.';
comment on column gmsi.ticker_event_headlines.language is 'Language.';
comment on column gmsi.ticker_event_headlines.source is 'Publisher.';
comment on column gmsi.ticker_event_headlines.url is 'Address of the article.';
comment on column gmsi.ticker_event_headlines.event_id is 'Id of the event as the service sends it.';
comment on column gmsi.ticker_event_headlines.event_name is 'Name of the event.';
comment on column gmsi.ticker_event_headlines.event_at is 'Date of the event.';
comment on column gmsi.ticker_event_headlines.event_type is 'Type of the event.';
comment on column gmsi.ticker_event_headlines.topic is 'Topic.';
comment on column gmsi.ticker_event_headlines.sentiment_score is 'Sentiment, if the service sends it.';
comment on column gmsi.ticker_event_headlines.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.ticker_event_headlines.first_seen_at is 'When this warehouse first held the row.';
comment on column gmsi.ticker_event_headlines.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.ticker_event_headlines.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.ticker_event_headlines.is_backfilled is 'True if it was first loaded by a backfill, after the fact.';
comment on column gmsi.ticker_event_headlines.load_id is 'Load that wrote this version.';
create trigger keep_revisions after update on gmsi.ticker_event_headlines
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('headline_id', 'ticker', 'variant', 'published_at');

create table gmsi.ticker_index (
  ticker text not null,
  index_type text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic text,
  headline_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  primary key (ticker, index_type, variant, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.ticker_index is 'Hourly headline sentiment of a ticker by topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.ticker_index.ticker is 'Ticker that was asked for.';
comment on column gmsi.ticker_index.index_type is 'Index type that was asked for: COMBINED, EXPLICIT or IMPLICIT.';
comment on column gmsi.ticker_index.variant is 'Further parameters that were asked with, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_index.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.ticker_index.published_at is 'The hour.';
comment on column gmsi.ticker_index.topic is 'Topic.';
comment on column gmsi.ticker_index.headline_count is 'Headlines in the hour.';
comment on column gmsi.ticker_index.sentiment_sum is 'Sum of their scores; divided by headline_count it is the mean.';
comment on column gmsi.ticker_index.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.ticker_index.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.ticker_index.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.ticker_index.first_seen_at is 'When this warehouse first held the row.';
comment on column gmsi.ticker_index.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.ticker_index.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.ticker_index.is_backfilled is 'True if it was first loaded by a backfill, after the fact.';
comment on column gmsi.ticker_index.load_id is 'Load that wrote this version.';
create trigger keep_revisions after update on gmsi.ticker_index
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'ticker', 'index_type', 'variant', 'published_at');

create table gmsi.gmsi_index (
  country text not null,
  topic text not null,
  index_type text not null,
  sentiment_type text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  topic_name text,
  headline_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  primary key (country, topic, index_type, sentiment_type, published_at, entry_id)
) partition by range (published_at);
comment on table gmsi.gmsi_index is 'Hourly headline sentiment of a country and topic, as the service aggregates it. Partitioned by month of published_at.';
comment on column gmsi.gmsi_index.country is 'Country that was asked for.';
comment on column gmsi.gmsi_index.topic is 'Topic that was asked for.';
comment on column gmsi.gmsi_index.index_type is 'Index type that was asked for: COMBINED, DOMESTIC or INTERNATIONAL.';
comment on column gmsi.gmsi_index.sentiment_type is 'Model: directional or semantic_sentiment.';
comment on column gmsi.gmsi_index.entry_id is 'Identity: a hash of time and topic.';
comment on column gmsi.gmsi_index.published_at is 'The hour.';
comment on column gmsi.gmsi_index.topic_name is 'Topic as the record says.';
comment on column gmsi.gmsi_index.headline_count is 'Headlines in the hour.';
comment on column gmsi.gmsi_index.sentiment_sum is 'Sum of their scores; divided by headline_count it is the mean.';
comment on column gmsi.gmsi_index.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.gmsi_index.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.gmsi_index.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.gmsi_index.first_seen_at is 'When this warehouse first held the row.';
comment on column gmsi.gmsi_index.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.gmsi_index.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.gmsi_index.is_backfilled is 'True if it was first loaded by a backfill, after the fact.';
comment on column gmsi.gmsi_index.load_id is 'Load that wrote this version.';
create trigger keep_revisions after update on gmsi.gmsi_index
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'country', 'topic', 'index_type', 'sentiment_type', 'published_at');

create table gmsi.ticker_event_metrics (
  ticker text not null,
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  event_type text,
  topic text,
  event_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  primary key (ticker, variant, published_at, entry_id)
);
comment on table gmsi.ticker_event_metrics is 'Event sentiment metrics of a ticker, as the service aggregates them. Their fields are not documented: what has no column is in extra.';
comment on column gmsi.ticker_event_metrics.ticker is 'Ticker that was asked for.';
comment on column gmsi.ticker_event_metrics.variant is 'Further parameters that were asked with, as name=value&name=value; empty if there were none.';
comment on column gmsi.ticker_event_metrics.entry_id is 'Identity: a hash of time, event type and topic.';
comment on column gmsi.ticker_event_metrics.published_at is 'Time of the metric.';
comment on column gmsi.ticker_event_metrics.event_type is 'Event type.';
comment on column gmsi.ticker_event_metrics.topic is 'Topic.';
comment on column gmsi.ticker_event_metrics.event_count is 'Events.';
comment on column gmsi.ticker_event_metrics.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.ticker_event_metrics.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.ticker_event_metrics.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.ticker_event_metrics.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.ticker_event_metrics.first_seen_at is 'When this warehouse first held the row.';
comment on column gmsi.ticker_event_metrics.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.ticker_event_metrics.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.ticker_event_metrics.is_backfilled is 'True if it was first loaded by a backfill, after the fact.';
comment on column gmsi.ticker_event_metrics.load_id is 'Load that wrote this version.';
create trigger keep_revisions after update on gmsi.ticker_event_metrics
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'ticker', 'variant', 'published_at');

create table gmsi.event_query_metrics (
  variant text not null,
  entry_id uuid not null,
  published_at timestamptz not null,
  ticker text,
  event_type text,
  topic text,
  event_count double precision,
  sentiment_sum double precision,
  sentiment_abs_sum double precision,
  sentiment_std double precision,
  extra jsonb,
  first_seen_at timestamptz not null default now(),
  changed_at timestamptz not null default now(),
  retracted_at timestamptz,
  is_backfilled boolean not null,
  load_id bigint not null,
  primary key (variant, published_at, entry_id)
);
comment on table gmsi.event_query_metrics is 'Answers of the custom query for event sentiment metrics (POST /events/index/query).';
comment on column gmsi.event_query_metrics.variant is 'Which query: a hash of the body in the job file.';
comment on column gmsi.event_query_metrics.entry_id is 'Identity: a hash of time, ticker, event type and topic.';
comment on column gmsi.event_query_metrics.published_at is 'Time of the metric.';
comment on column gmsi.event_query_metrics.ticker is 'Ticker, as the record says.';
comment on column gmsi.event_query_metrics.event_type is 'Event type.';
comment on column gmsi.event_query_metrics.topic is 'Topic.';
comment on column gmsi.event_query_metrics.event_count is 'Events.';
comment on column gmsi.event_query_metrics.sentiment_sum is 'Sum of their scores.';
comment on column gmsi.event_query_metrics.sentiment_abs_sum is 'Sum of the absolute values of their scores.';
comment on column gmsi.event_query_metrics.sentiment_std is 'Standard deviation of their scores.';
comment on column gmsi.event_query_metrics.extra is 'Every field of the record that has no column, so that the record is kept whole.';
comment on column gmsi.event_query_metrics.first_seen_at is 'When this warehouse first held the row.';
comment on column gmsi.event_query_metrics.changed_at is 'When this warehouse first held this version of it.';
comment on column gmsi.event_query_metrics.retracted_at is 'When the service was found not to return it any more; null while it does.';
comment on column gmsi.event_query_metrics.is_backfilled is 'True if it was first loaded by a backfill, after the fact.';
comment on column gmsi.event_query_metrics.load_id is 'Load that wrote this version.';
create trigger keep_revisions after update on gmsi.event_query_metrics
  referencing old table as old_rows new table as new_rows
  for each statement execute function gmsi.keep_row_revisions('entry_id', 'variant', 'published_at');
