-- What syncs know of each series, so that they poll quiet ones less often.

create table gmsi.cadence (
  feed text not null,
  country text not null,
  topic text not null,
  ticker text not null,
  match_type text not null,
  variant text not null,
  settle_from date,
  polled_at timestamptz,
  news_at timestamptz,
  quiet_polls integer not null default 0,
  polls bigint not null default 0,
  load_id bigint,
  left_out_since timestamptz,
  first_left_out_at timestamptz,
  left_out bigint not null default 0,
  requests_saved bigint not null default 0,
  late_rows bigint not null default 0,
  late_by interval,
  primary key (feed, country, topic, ticker, match_type, variant)
);
comment on table gmsi.cadence is 'How often each series has had news when it was polled. A job with cadence: { adaptive: true } polls quiet series less often, and this says what that saved and cost. When a series is due follows from it and from the job''s bounds.';
comment on column gmsi.cadence.feed is 'Feed.';
comment on column gmsi.cadence.country is 'Country of the series; empty if the feed is not by country.';
comment on column gmsi.cadence.topic is 'Topic of the series; empty if the feed is not by topic.';
comment on column gmsi.cadence.ticker is 'Ticker of the series; empty if the feed is not by ticker.';
comment on column gmsi.cadence.match_type is 'Match type of the series.';
comment on column gmsi.cadence.variant is 'Further parameters of the series; empty if there are none.';
comment on column gmsi.cadence.settle_from is 'First day that a sync has asked for and that may not be covered yet; until it is, syncs go back to it.';
comment on column gmsi.cadence.polled_at is 'Last time that a window reaching the day itself was drained to its end.';
comment on column gmsi.cadence.news_at is 'Last time that a poll or a live answer brought a new or changed row; the first poll if none has.';
comment on column gmsi.cadence.quiet_polls is 'Polls in a row that brought none.';
comment on column gmsi.cadence.polls is 'Polls in all.';
comment on column gmsi.cadence.load_id is 'Load that noted something last.';
comment on column gmsi.cadence.left_out_since is 'First sync that left the series out since its poll before; kept for the load that takes it up again.';
comment on column gmsi.cadence.first_left_out_at is 'First sync that ever left it out.';
comment on column gmsi.cadence.left_out is 'Syncs that left it out.';
comment on column gmsi.cadence.requests_saved is 'Requests that those would have spent on it at the least, less what polls after a pause spent more.';
comment on column gmsi.cadence.late_rows is 'Rows that came with polls after a pause: at the most so many were seen later than by polling at every sync.';
comment on column gmsi.cadence.late_by is 'The longest that any of those can have been late: from the first sync that left the series out to the poll.';

create table gmsi.change_ages (
  feed text primary key,
  measured_at timestamptz not null,
  changes bigint not null,
  days integer
);
comment on table gmsi.change_ages is 'How old rows of each feed are when they change or come late, measured once a day by syncs of jobs with cadence: { adaptive: true }.';
comment on column gmsi.change_ages.feed is 'Feed.';
comment on column gmsi.change_ages.measured_at is 'When it was measured.';
comment on column gmsi.change_ages.changes is 'Changed and late rows of the 90 days before.';
comment on column gmsi.change_ages.days is 'Calendar days (UTC) after the day of publication within which 99% of those were seen; null if there were none.';
