-- The rate that the processes of a key share.

create table gmsi.request_rate (
  key_fingerprint text primary key,
  in_bucket double precision not null,
  counted_at timestamptz not null,
  redis_seen_at timestamptz,
  redis_begins_at timestamptz
);
comment on table gmsi.request_rate is 'One row per API key: the leaky bucket that every request of the key goes through, whichever process sends it. Written a few times a second while something is loaded.';
comment on column gmsi.request_rate.key_fingerprint is 'Start of a SHA-256 over the key; the key itself is never stored.';
comment on column gmsi.request_rate.in_bucket is 'Requests in the bucket at counted_at. It leaks at the rate; requests over the burst wait for their turn.';
comment on column gmsi.request_rate.counted_at is 'When requests were last put in, by the clock of this database.';
comment on column gmsi.request_rate.redis_seen_at is 'When a process last said that it shares the rate by Redis. For some seconds after it, none takes requests from this row.';
comment on column gmsi.request_rate.redis_begins_at is 'From when on Redis hands out requests: once those that were taken from this row before have been made up for.';
