-- The service: the origin of the data, the service's lists, facts learned about it, and requests to it.

create table gmsi.origin (
  only_row boolean primary key default true check (only_row),
  served_by text not null check (served_by in ('service', 'sandbox')),
  since timestamptz not null default now()
);
comment on table gmsi.origin is 'Whether the real service or a sandbox filled this warehouse. The first answer that is loaded decides, and real and made-up headlines are never mixed.';
comment on column gmsi.origin.only_row is 'Always true: the table has one row.';
comment on column gmsi.origin.served_by is 'service (real data) or sandbox (made-up data).';
comment on column gmsi.origin.since is 'When the first answer was loaded.';

create table gmsi.countries (
  country text primary key,
  name text,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now()
);
comment on table gmsi.countries is 'The countries that the service lists (GET /countries), as of the last refresh.';
comment on column gmsi.countries.country is 'Country code as the service writes it, probably ISO 3166 alpha-2.';
comment on column gmsi.countries.name is 'Name, if the service sends one.';
comment on column gmsi.countries.extra is 'Every other field that the service sends for the country.';
comment on column gmsi.countries.listed is 'False once the service no longer lists it; the row stays, because headlines name it.';
comment on column gmsi.countries.refreshed_at is 'When a refresh last listed it.';

create table gmsi.topics (
  topic text primary key,
  category text,
  classification_rule jsonb,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now()
);
comment on table gmsi.topics is 'The GMSI topics that the service lists (GET /headlines/topics/gmsi), as of the last refresh.';
comment on column gmsi.topics.topic is 'Topic name exactly as the service writes it.';
comment on column gmsi.topics.category is 'Category, if the service sends one.';
comment on column gmsi.topics.classification_rule is 'The rule by which the service classifies headlines, for each model (directional, semantic_sentiment), if it sends one.';
comment on column gmsi.topics.extra is 'Every other field that the service sends for the topic.';
comment on column gmsi.topics.listed is 'False once the service no longer lists it; the row stays, because headlines name it.';
comment on column gmsi.topics.refreshed_at is 'When a refresh last listed it.';

create table gmsi.lookups (
  lookup text not null,
  code text not null,
  name text,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now(),
  primary key (lookup, code)
);
comment on table gmsi.lookups is 'The other lists of the service: tickers (GET /ticker), sources (GET /sources) and languages (GET /taxonomy/languages), as of their last refresh.';
comment on column gmsi.lookups.lookup is 'tickers, sources or languages.';
comment on column gmsi.lookups.code is 'The value that requests use: the ticker, the source or the language code.';
comment on column gmsi.lookups.name is 'Name, if the service sends one.';
comment on column gmsi.lookups.extra is 'Every other field that the service sends for it.';
comment on column gmsi.lookups.listed is 'False once the service no longer lists it.';
comment on column gmsi.lookups.refreshed_at is 'When a refresh last listed it.';

create table gmsi.learned_facts (
  feed text not null,
  fact text not null,
  value jsonb not null,
  evidence text not null,
  learned_at timestamptz not null default now(),
  primary key (feed, fact)
);
comment on table gmsi.learned_facts is 'Undocumented behaviour of a feed, as learned by gmsi doctor --probe. Planning uses end_date and history_limit. A later probe that contradicts a fact fails, and the fact stays until its row is deleted.';
comment on column gmsi.learned_facts.feed is 'Feed that was probed.';
comment on column gmsi.learned_facts.fact is 'end_date, time_zone, day_begin, time_rounding, record_order, page_size, record_id, history_limit or token_lifetime.';
comment on column gmsi.learned_facts.value is 'For time_zone and day_begin: bounds in minutes, least and most. For history_limit: the days that were answered and refused. Otherwise a word.';
comment on column gmsi.learned_facts.evidence is 'The answers that show it, described in words.';
comment on column gmsi.learned_facts.learned_at is 'When it was learned.';

create table gmsi.service_descriptions (
  description_id bigint generated always as identity primary key,
  facts jsonb not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now()
);
comment on table gmsi.service_descriptions is 'What the service says of itself (GET /openapi.json), as gmsi doctor has read it: one row for each version of it.';
comment on column gmsi.service_descriptions.description_id is 'Number of the description; the newest is the highest.';
comment on column gmsi.service_descriptions.facts is 'Texts by name: the version, each operation, its parameters, the fields of answers, and lists of values.';
comment on column gmsi.service_descriptions.first_seen_at is 'When gmsi doctor first read it.';
comment on column gmsi.service_descriptions.last_seen_at is 'When gmsi doctor last read it.';

create table gmsi.wire_fields (
  feed text not null,
  field text not null,
  kept_in text not null check (kept_in in ('column', 'extra')),
  first_load_id bigint not null,
  last_load_id bigint not null,
  primary key (feed, field)
);
comment on table gmsi.wire_fields is 'Every field name that records of a feed have had, so that new and missing fields are noticed.';
comment on column gmsi.wire_fields.feed is 'Feed.';
comment on column gmsi.wire_fields.field is 'Name of the field as the service sends it.';
comment on column gmsi.wire_fields.kept_in is 'column: a column is filled from it · extra: it is kept in extra.';
comment on column gmsi.wire_fields.first_load_id is 'First load that received it.';
comment on column gmsi.wire_fields.last_load_id is 'Last load that received it.';

create table gmsi.api_usage (
  key_fingerprint text not null,
  month date not null check (extract(day from month) = 1),
  requests bigint not null default 0,
  updated_at timestamptz not null default now(),
  primary key (key_fingerprint, month)
);
comment on table gmsi.api_usage is 'Requests booked per API key and calendar month (UTC). Each is booked before it is sent, so a crash can leave the number too high by the requests under way, never too low.';
comment on column gmsi.api_usage.key_fingerprint is 'Start of the SHA-256 hash of the key; the key itself is never stored.';
comment on column gmsi.api_usage.month is 'First day of the month (UTC).';
comment on column gmsi.api_usage.requests is 'Requests booked.';
comment on column gmsi.api_usage.updated_at is 'When the last block was booked.';

create table gmsi.request_rate (
  key_fingerprint text primary key,
  in_bucket double precision not null,
  counted_at timestamptz not null
);
comment on table gmsi.request_rate is 'One row per API key: the leaky bucket that limits the requests of all processes with this key. Written a few times a second while a load runs.';
comment on column gmsi.request_rate.key_fingerprint is 'Start of the SHA-256 hash of the key; the key itself is never stored.';
comment on column gmsi.request_rate.in_bucket is 'Requests in the bucket at counted_at. It leaks at the rate; requests beyond the burst wait.';
comment on column gmsi.request_rate.counted_at is 'When requests were last added, by the clock of this database.';
