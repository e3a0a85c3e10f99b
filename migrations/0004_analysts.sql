-- For analysts: the sums of the rollups, named moments, and the closes of markets.

create table gmsi.hourly_sums (
  country text not null,
  topic text not null,
  match_type text not null,
  sentiment_type text not null,
  hour timestamptz not null,
  all_count integer not null,
  headline_count integer not null,
  sentiment_sum double precision not null,
  sentiment_abs_sum double precision not null,
  sentiment_std double precision,
  probability_sum double precision not null,
  weighted_sum double precision not null,
  sentiment_mean double precision generated always as (sentiment_sum / nullif(headline_count, 0)) stored,
  weighted_mean double precision generated always as (weighted_sum / nullif(probability_sum, 0)) stored,
  primary key (country, topic, match_type, sentiment_type, hour)
);

create table gmsi.daily_sums (
  country text not null,
  topic text not null,
  match_type text not null,
  sentiment_type text not null,
  day date not null,
  all_count integer not null,
  headline_count integer not null,
  sentiment_sum double precision not null,
  sentiment_abs_sum double precision not null,
  sentiment_std double precision,
  probability_sum double precision not null,
  weighted_sum double precision not null,
  sentiment_mean double precision generated always as (sentiment_sum / nullif(headline_count, 0)) stored,
  weighted_mean double precision generated always as (weighted_sum / nullif(probability_sum, 0)) stored,
  primary key (country, topic, match_type, sentiment_type, day)
);

-- For queries about a topic in all countries, and about all series over a few days. The primary key serves queries about a country.
create index daily_sums_by_topic on gmsi.daily_sums (topic, match_type, sentiment_type, day);
create index daily_sums_by_day on gmsi.daily_sums (day);

create table gmsi.moments (
  name text primary key check (name ~ '^[A-Za-z][A-Za-z0-9_.-]{0,62}$'),
  at timestamptz not null,
  note text,
  taken_at timestamptz not null default now(),
  taken_by text not null
);

create table gmsi.closes (
  market text not null,
  day date not null,
  at timestamptz,
  primary key (market, day),
  unique (market, at)
);

create type gmsi.sentiment_day_as_known as (
  country text, topic text, match_type text, day date, known_at timestamptz, state text, all_count integer,
  witnessed_count integer, directional_count integer, directional_sum double precision, directional_mean double precision,
  directional_probability_sum double precision, directional_weighted_sum double precision, semantic_count integer,
  semantic_sum double precision, semantic_mean double precision, semantic_probability_sum double precision,
  semantic_weighted_sum double precision);

create type gmsi.signal as (
  country text, topic text, match_type text, moment timestamptz, state text, headline_count integer, witnessed_count integer,
  sentiment_sum double precision, sentiment_abs_sum double precision, sentiment_std double precision, sentiment_mean double precision,
  weighted_mean double precision);
