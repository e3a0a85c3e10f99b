-- The service: the origin of the data, the service's lists, facts learned about it, and requests to it.

create table gmsi.origin (
  only_row boolean primary key default true check (only_row),
  served_by text not null check (served_by in ('service', 'sandbox')),
  since timestamptz not null default now(),
  addresses text[] not null default '{}'
);

create table gmsi.countries (
  country text primary key,
  name text,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now()
);

create table gmsi.topics (
  topic text primary key,
  category text,
  classification_rule jsonb,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now()
);

create table gmsi.lookups (
  lookup text not null,
  code text not null,
  name text,
  extra jsonb,
  listed boolean not null default true,
  refreshed_at timestamptz not null default now(),
  primary key (lookup, code)
);

create table gmsi.learned_facts (
  feed text not null,
  fact text not null,
  value jsonb not null,
  evidence text not null,
  learned_at timestamptz not null default now(),
  primary key (feed, fact)
);

create table gmsi.service_descriptions (
  description_id bigint generated always as identity primary key,
  facts jsonb not null,
  first_seen_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now()
);

create table gmsi.wire_fields (
  feed text not null,
  field text not null,
  kept_in text not null check (kept_in in ('column', 'extra')),
  first_load_id bigint not null,
  last_load_id bigint not null,
  primary key (feed, field)
);

create table gmsi.api_usage (
  key_fingerprint text not null,
  month date not null check (extract(day from month) = 1),
  requests bigint not null default 0,
  updated_at timestamptz not null default now(),
  primary key (key_fingerprint, month)
);

create table gmsi.request_rate (
  key_fingerprint text primary key,
  in_bucket double precision not null,
  counted_at timestamptz not null
);
