-- The brake on retractions, kept as long as an outage may last: it ended with each load, so an outage of several loads retracted
-- a few rows with each of them.

create table gmsi.unconfirmed (
  job text primary key,
  rows bigint not null check (rows >= 0),
  updated_at timestamptz not null default now()
);
comment on table gmsi.unconfirmed is 'For each job, how many more rows its loads have retracted than the service has confirmed since. If a window would make it more than 10, the window fails: the service probably answers with nothing.';
comment on column gmsi.unconfirmed.job is 'Name of the job file, without its ending.';
comment on column gmsi.unconfirmed.rows is 'Rows retracted less rows confirmed, never below 0. A confirmed row was loaded before, and the service has returned it again.';
comment on column gmsi.unconfirmed.updated_at is 'When it last changed.';
